#include "filters/murmur_hash.h"

#include <cstring>

namespace iris::filters {
namespace {

constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995ULL;
constexpr int kShift = 47;
// RedisBloom seeds the first hash with the multiplier itself.
constexpr uint64_t kClassicSeed = 0xc6a4a7935bd1e995ULL;

}  // namespace

uint64_t murmur_hash_64a(std::string_view bytes, uint64_t seed) {
  uint64_t hash = seed ^ (bytes.size() * kMultiplier);
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    word *= kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash ^= word;
    hash *= kMultiplier;
  }
  if (left > 0) {
    uint64_t tail = 0;
    std::memcpy(&tail, at, left);
    hash ^= tail;
    hash *= kMultiplier;
  }
  hash ^= hash >> kShift;
  hash *= kMultiplier;
  hash ^= hash >> kShift;
  return hash;
}

ItemHash classic_item_hash(std::string_view item) {
  const uint64_t first = murmur_hash_64a(item, kClassicSeed);
  return {first, murmur_hash_64a(item, first)};
}

}  // namespace iris::filters
