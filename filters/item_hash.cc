#include "filters/item_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace iris::filters {

ItemHash hash_item(std::string_view item, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(item.data(), item.size(), seed);
  return {hash.low64, hash.high64};
}

}  // namespace iris::filters
