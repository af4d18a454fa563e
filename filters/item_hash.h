// The hash of an item: 128 bits, whose two halves feed two independent choices. One half picks the
// block, the other the cells inside it (blocked and paged layouts); classic filters use
// RedisBloom's pair of 64-bit Murmur hashes instead (see murmur_hash.h), which fits the same
// struct.
#pragma once

#include <cstdint>
#include <string_view>

namespace iris::filters {

struct ItemHash {
  uint64_t low;
  uint64_t high;
};

// XXH3-128 with the data directory's seed, so that a stranger cannot craft items that collide.
ItemHash hash_item(std::string_view item, uint64_t seed);

}  // namespace iris::filters
