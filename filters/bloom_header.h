// The header of a dumped Bloom filter: all but its cells. Two formats, both little-endian.
//
// RedisBloom's, for classic filters, so that they can move there and back. No checksum.
//
//     u64 items  u32 layers  u32 options  u32 growth                            20 bytes
//     a layer:  u64 bytes  u64 bits  u64 items  f64 error  f64 bits per entry
//               u32 hashes  u64 capacity  u8 n2                                 53 bytes each
//     options: 1 no rounding, 4 64-bit hashes, 8 not scaling
//
// Iris's own, for every layout. Also what a snapshot or a DUMP starts with.
//
//     "IRISBLM1"                                                                 8 bytes
//     f64 rate  u64 first capacity  u32 expansion                               20
//     u8 scaling  u8 layout choice  u8 explicit  u8 0                            4
//     u64 seed  u32 layers  u32 0                                               16
//     a layer:  u64 bits  u64 capacity  f64 rate  u32 hashes  u8 layout  3 x 0
//               u64 items                                                       40 bytes each
//     u64 xxh3 of all before                                                     8
//
// Decoding trusts nothing, a right checksum least of all: anybody can compute one. The parameters
// go through BloomParams::make like those of RESERVE, and every layer must be one that such a
// filter could have. What decode_header() returns is as good as what a filter was created with.
//
// Invariants
//   1. Who decodes allocates nothing that depends on a size in the header, but for the list of at
//      most kMaxLayers layers, and that many must really be there.
//   2. A filter that exists here can be encoded and decoded again. So a layer may count more items
//      than its capacity (a merge does that), and classic layers may have any geometry that
//      RedisBloom accepts, not only the one that its present version would choose. The geometry of
//      other layers may differ a little from what this build computes: it rests on the machine's
//      exp and log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filters/bloom_filter.h"

namespace iris::filters {

enum class HeaderFormat : uint8_t { kRedisBloom, kIris };

struct BloomHeader {
  struct Layer {
    LayerGeometry geometry;
    uint64_t item_count;
  };

  HeaderFormat format;
  BloomParams params;
  uint64_t seed;
  std::vector<Layer> layers;  // at least one

  // What a filter with this header takes, saturated at UINT64_MAX.
  uint64_t memory_bytes() const;
};

// The format in which SCANDUMP writes a filter.
HeaderFormat dump_format(const BloomFilter& filter);

std::string encode_header(const BloomFilter& filter, HeaderFormat format);

// Nothing if the bytes are not exactly one valid header of either format.
[[nodiscard]] std::optional<BloomHeader> decode_header(std::string_view bytes);

// The length that an Iris header says it has, to cut it off a longer text; 0 if it is none.
uint64_t iris_header_bytes(std::string_view start);

}  // namespace iris::filters
