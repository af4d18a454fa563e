// MurmurHash64A, Austin Appleby's public-domain hash, as RedisBloom uses it.
//
// Only classic filters hash with it: their bits must be RedisBloom's, so that a filter can move
// there and back. Its seed is a constant that everybody knows, so a stranger can craft items that
// collide; every other filter of Iris uses hash_item() with a secret seed instead.
#pragma once

#include <cstdint>
#include <string_view>

#include "filters/item_hash.h"

namespace iris::filters {

uint64_t murmur_hash_64a(std::string_view bytes, uint64_t seed);

// RedisBloom's pair: the first half hashes the item, the second hashes it again with the first as
// the seed. Position i of the item is (low + i * high) mod bits.
ItemHash classic_item_hash(std::string_view item);

}  // namespace iris::filters
