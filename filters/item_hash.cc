#include "filters/item_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace iris::filters {

ItemHash hash_item(std::string_view item, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(item.data(), item.size(), seed);
  uint64_t low = hash.low64;
  uint64_t high = hash.high64;
  // Keeps them in registers, whoever takes them. The compiler would store them in two words to load
  // both as one pair, and a core cannot forward that: it waits for its cache, 5 ns an item.
  asm("" : "+r"(low), "+r"(high));
  return {low, high};
}

}  // namespace iris::filters
