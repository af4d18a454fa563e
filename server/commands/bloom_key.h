// Finding and making the Bloom filter of a key: what all BF commands begin with.
#pragma once

#include <optional>
#include <string_view>

#include "filters/bloom_filter.h"
#include "server/commands/filter_key.h"

namespace iris::server {

using BloomState = FilterState;

struct BloomKey {
  BloomState state = BloomState::kMissing;
  filters::BloomFilter* filter = nullptr;
};

// Looks the key up, or takes what was planned for args[1].
BloomKey find_bloom(Call& call, std::string_view key);

// The filter, or null after an error reply: WRONGTYPE, still loading, or `missing`.
filters::BloomFilter* require_bloom(Call& call, std::string_view key, std::string_view missing);

// What is wrong with a request, as RESP error text.
std::string_view error_text(filters::BloomParamsError error);

// Makes the filter of a key that is missing, in the exclusive state. Null after an error reply.
filters::BloomFilter* create_bloom(Call& call, std::string_view key,
                                   const filters::BloomParams& params);

// Parameters of a filter that is made without BF.RESERVE, from the configuration.
filters::BloomRequest default_bloom_request(const Config& config);

// Makes room in a scaling filter whose newest layer is full. Nothing that was looked up before is
// valid afterwards. The text of the error if there can be no more room, empty if there is.
std::string_view grow_bloom(Call& call, std::string_view key);

constexpr std::string_view kStillLoading =
    "ERR not found: the filter is still being loaded, BF.LOADCHUNK has not brought all of it";

}  // namespace iris::server
