// What the tests of spectral filters share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "filters/spectral_filter.h"

namespace iris::filters::testing {

inline StripeTable& stripes() {
  static StripeTable table;
  return table;
}

inline SpectralParams params_of(const SpectralRequest& request) {
  return std::get<SpectralParams>(SpectralParams::make(request));
}

inline std::unique_ptr<SpectralFilter> filter_of(const SpectralRequest& request,
                                                 uint64_t seed = 1) {
  return SpectralFilter::create(params_of(request), seed, seed);
}

inline std::unique_ptr<SpectralFilter> classic_of(
    int64_t counters, int64_t hashes, SpectralPolicy policy = SpectralPolicy::kMinimumSelection) {
  return SpectralFilter::create(
      std::get<SpectralParams>(SpectralParams::make_explicit(counters, hashes, policy)), 1, 1);
}

inline ItemHash item(const SpectralFilter& filter, uint64_t number) {
  return filter.hash("item:" + std::to_string(number));
}

// As the server does it: grows when the filter asks for it.
inline SpectralResult increment_growing(SpectralFilter& filter, const ItemHash& hash,
                                        uint64_t amount = 1) {
  SpectralResult result = filter.increment(hash, amount, stripes());
  while (result.status == SpectralStatus::kNeedsLayer) {
    EXPECT_EQ(filter.grow(result.count), GrowError::kNone);
    result = filter.increment(hash, amount, stripes());
  }
  return result;
}

}  // namespace iris::filters::testing
