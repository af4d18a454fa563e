// What the tests of Bloom filters share: numbered items, filling, and measuring a rate.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <variant>

#include "filters/bloom_filter.h"

namespace iris::filters::testing {

// Item number `n` of family `family`; families never share an item.
class Item {
 public:
  Item(uint64_t family, uint64_t n) {
    std::memcpy(bytes_, &family, 8);
    std::memcpy(bytes_ + 8, &n, 8);
  }
  std::string_view view() const { return {bytes_, sizeof bytes_}; }

 private:
  char bytes_[16];
};

inline BloomParams params_of(const BloomRequest& request) {
  auto made = BloomParams::make(request);
  EXPECT_TRUE(std::holds_alternative<BloomParams>(made));
  return std::get<BloomParams>(made);
}

inline BloomParams explicit_params(int64_t bits, int64_t hashes) {
  auto made = BloomParams::make_explicit(bits, hashes);
  EXPECT_TRUE(std::holds_alternative<BloomParams>(made));
  return std::get<BloomParams>(made);
}

inline std::unique_ptr<BloomFilter> filter_of(const BloomRequest& request, uint64_t seed = 1) {
  return BloomFilter::create(params_of(request), 1, seed);
}

// One table for all tests: 64 KB are too much for a stack frame that is made a thousand times.
inline StripeTable& stripes() {
  static StripeTable table;
  return table;
}

// Adds as BF.ADD does: grows when asked to. Returns whether the item was new.
inline bool add_growing(BloomFilter& filter, std::string_view item) {
  const ItemHash hash = filter.hash(item);
  AddOutcome outcome = filter.add(hash, stripes());
  if (outcome == AddOutcome::kNeedsLayer) {
    EXPECT_EQ(filter.grow(), GrowError::kNone);
    outcome = filter.add(hash, stripes());
  }
  return outcome == AddOutcome::kAdded;
}

// Adds items of `family` until the filter counts `items` of them; items that look known do not
// count, so that the filter is really full. Returns how many were offered.
inline uint64_t fill_to(BloomFilter& filter, uint64_t family, uint64_t items) {
  uint64_t offered = 0;
  while (filter.item_count() < items) add_growing(filter, Item(family, offered++).view());
  return offered;
}

inline uint64_t count_false_positives(const BloomFilter& filter, uint64_t family, uint64_t probes) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < probes; ++i) {
    found += filter.contains(filter.hash(Item(family, i).view())) ? 1 : 0;
  }
  return found;
}

}  // namespace iris::filters::testing
