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

// What must be the same after something was refused.
struct Unchanged {
  explicit Unchanged(const SpectralFilter& filter)
      : filter_(filter),
        digest_(filter.digest()),
        changes_(filter.change_count()),
        items_(filter.items()),
        bytes_(filter.memory_bytes()) {}

  void expect() const {
    EXPECT_EQ(filter_.digest(), digest_);
    EXPECT_EQ(filter_.change_count(), changes_);
    EXPECT_EQ(filter_.items(), items_);
    EXPECT_EQ(filter_.memory_bytes(), bytes_);
  }

 private:
  const SpectralFilter& filter_;
  const ContentDigest digest_;
  const uint64_t changes_;
  const uint64_t items_;
  const uint64_t bytes_;
};

// As the server asks: the filter may take so much in all.
inline auto limited_to(const SpectralFilter& filter, uint64_t bytes) {
  return [&filter, bytes](uint64_t) { return filter.memory_bytes() <= bytes; };
}

inline constexpr auto kNeverLogged = [](std::span<const SpectralChange>) {
  ADD_FAILURE() << "logged";
};

}  // namespace iris::filters::testing
