#include "filters/stripe_table.h"

#include <algorithm>

namespace iris::filters {

void StripeSet::add_filter(uint64_t filter_id, uint64_t chunks) {
  const uint64_t stripes = std::min<uint64_t>(chunks, StripeTable::kStripes);
  for (uint64_t chunk = 0; chunk < stripes; ++chunk) add(StripeTable::index_of(filter_id, chunk));
}

uint32_t StripeSet::size() const {
  uint32_t count = 0;
  for (const uint64_t word : words_) count += static_cast<uint32_t>(std::popcount(word));
  return count;
}

}  // namespace iris::filters
