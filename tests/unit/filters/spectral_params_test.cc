#include "filters/spectral_params.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "filters/spectral_block.h"
#include "tests/unit/filters/spectral_test_support.h"

namespace iris::filters {
namespace {

using testing::params_of;

SpectralParamsError error_of(const SpectralRequest& request) {
  const auto made = SpectralParams::make(request);
  EXPECT_TRUE(std::holds_alternative<SpectralParamsError>(made));
  return std::holds_alternative<SpectralParamsError>(made) ? std::get<SpectralParamsError>(made)
                                                           : SpectralParamsError::kTooLarge;
}

TEST(SpectralParams, NumbersOutOfRangeAreRefusedInTheOrderOfTheirTexts) {
  const SpectralRequest all_wrong{.capacity = 0,
                                  .rate = 0,
                                  .expansion = -1,
                                  .bucket_size = 0,
                                  .max_iterations = 0,
                                  .max_expansions = 0};
  SpectralRequest request = all_wrong;
  EXPECT_EQ(error_of(request), SpectralParamsError::kMaxIterationsOutOfRange);
  request.max_iterations = 65536;
  EXPECT_EQ(error_of(request), SpectralParamsError::kMaxIterationsOutOfRange);
  request.max_iterations = 1;
  EXPECT_EQ(error_of(request), SpectralParamsError::kBucketSizeOutOfRange);
  request.bucket_size = 256;
  EXPECT_EQ(error_of(request), SpectralParamsError::kBucketSizeOutOfRange);
  request.bucket_size = 255;
  EXPECT_EQ(error_of(request), SpectralParamsError::kExpansionOutOfRange);
  request.expansion = 32769;
  EXPECT_EQ(error_of(request), SpectralParamsError::kExpansionOutOfRange);
  request.expansion = 0;
  EXPECT_EQ(error_of(request), SpectralParamsError::kCapacityOutOfRange);
  request.capacity = 509;  // below twice the bucket size
  EXPECT_EQ(error_of(request), SpectralParamsError::kCapacityOutOfRange);
  request.capacity = (int64_t{1} << 40) + 1;
  EXPECT_EQ(error_of(request), SpectralParamsError::kCapacityOutOfRange);
  request.capacity = 510;
  for (const double rate : {0.0, -0.1, 1.0, 2.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    request.rate = rate;
    EXPECT_EQ(error_of(request), SpectralParamsError::kRateOutOfRange) << rate;
  }
  for (const double rate : {9.9e-7, std::numeric_limits<double>::denorm_min()}) {
    request.rate = rate;
    EXPECT_EQ(error_of(request), SpectralParamsError::kRateTooSmall) << rate;
  }
  request.rate = 1e-6;
  EXPECT_EQ(error_of(request), SpectralParamsError::kMaxExpansionsOutOfRange);
  request.max_expansions = 65535;
  EXPECT_TRUE(std::holds_alternative<SpectralParams>(SpectralParams::make(request)));
}

TEST(SpectralParams, ExplicitDimensionsOutOfRangeAreRefused) {
  for (const auto& [counters, hashes] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 1}, {-1, 1}, {(int64_t{1} << 46) + 1, 1}, {INT64_MAX, 1}}) {
    EXPECT_EQ(std::get<SpectralParamsError>(SpectralParams::make_explicit(counters, hashes)),
              SpectralParamsError::kCountersOutOfRange);
  }
  for (const int64_t hashes : {int64_t{0}, int64_t{-1}, int64_t{257}, INT64_MAX}) {
    EXPECT_EQ(std::get<SpectralParamsError>(SpectralParams::make_explicit(10, hashes)),
              SpectralParamsError::kHashesOutOfRange);
  }
  EXPECT_TRUE(std::holds_alternative<SpectralParams>(SpectralParams::make_explicit(1, 256)));
}

TEST(SpectralParams, TheMemoryOfTheLargestFilterIsComputedWithoutOverflow) {
  const auto params = params_of({.capacity = int64_t{1} << 40, .rate = 1e-6});
  EXPECT_GT(params.memory_bytes(), uint64_t{1} << 44);
  const auto classic = std::get<SpectralParams>(SpectralParams::make_explicit(int64_t{1} << 46, 1));
  EXPECT_GT(classic.memory_bytes(), uint64_t{1} << 44);
}

TEST(SpectralParams, MemoryIsKnownBeforeItIsTaken) {
  for (const int64_t capacity : {4, 100, 10000, 300000}) {
    const auto params = params_of({.capacity = capacity});
    const auto filter = SpectralFilter::create(params, 1, 1);
    ASSERT_NE(filter, nullptr);
    const auto expected = static_cast<double>(params.memory_bytes());
    EXPECT_NEAR(static_cast<double>(filter->memory_bytes()), expected, 64) << capacity;
  }
  // A filter of 100 items costs a few hundred bytes.
  EXPECT_LT(params_of({.capacity = 100}).memory_bytes(), 1100u);
}

TEST(SpectralParams, RatesOfAllLayersStayBelowTheRequest) {
  for (const int64_t expansion : {1, 2}) {
    const auto params =
        params_of({.capacity = 100, .rate = 0.01, .expansion = expansion, .max_expansions = 1000});
    double sum = params.first_layer().rate;
    SpectralGeometry last = params.first_layer();
    uint32_t layers = 1;
    while (const auto next = params.next_layer(layers, last, 1)) {
      sum += next->rate;
      last = *next;
      ++layers;
      if (last.capacity > kMaxSpectralCapacity / 4) break;
    }
    EXPECT_LE(sum, 0.81 * 0.01);
    EXPECT_GT(sum, 0.78 * 0.01);
    EXPECT_LE(layers, kMaxSpectralLayers);
  }
}

TEST(SpectralParams, AFixedSizeHasTheWholeRateAndOneLayer) {
  const auto params = params_of({.capacity = 1000, .rate = 0.01, .expansion = 0});
  EXPECT_EQ(params.first_layer().rate, 0.01);
  EXPECT_EQ(params.max_layers(), 1u);
  EXPECT_FALSE(params.next_layer(1, params.first_layer(), 1).has_value());
  EXPECT_EQ(params_of({.capacity = 1000, .rate = 0.9}).rate(), kMaxSpectralRate);
}

TEST(SpectralSizing, WhatIsChosenKeepsTheRateAndLittleLessWouldNot) {
  for (const uint64_t capacity : {uint64_t{1}, uint64_t{10}, uint64_t{1000}, uint64_t{1000000}}) {
    for (const double rate : {0.25, 0.1, 0.01, 0.001, 1e-4, 1e-6}) {
      const auto size =
          size_spectral_layer(capacity, rate, SpectralPolicy::kMinimumSelection).value();
      const double items = items_when_full(capacity, size);
      EXPECT_GE(items, static_cast<double>(capacity));
      EXPECT_LE(spectral_rate(items, size.blocks, size.hashes), rate);
      if (size.blocks > 100) {
        EXPECT_GT(spectral_rate(items, size.blocks * 99 / 100, size.hashes), rate);
      }
    }
  }
}

// Items thrown into blocks, the formula's own experiment.
TEST(SpectralSizing, TheFormulaIsTheProbability) {
  const auto params = params_of({.capacity = 4000, .rate = 0.1, .expansion = 0});
  const SpectralGeometry& geometry = params.first_layer();
  constexpr uint64_t kFilters = 50, kProbes = 20000;
  double sum = 0, squares = 0;
  for (uint64_t seed = 1; seed <= kFilters; ++seed) {
    const auto filter = SpectralFilter::create(params, 1, seed);
    for (uint64_t i = 0; i < 4000; ++i) {
      (void)filter->increment(testing::item(*filter, i), 1, testing::stripes());
    }
    uint64_t hits = 0;
    for (uint64_t i = 0; i < kProbes; ++i) {
      hits += filter->count(testing::item(*filter, 1000000 + i), testing::stripes()) > 0 ? 1 : 0;
    }
    const double rate = static_cast<double>(hits) / kProbes;
    sum += rate;
    squares += rate * rate;
  }
  const double mean = sum / kFilters;
  const double sigma = std::sqrt((squares / kFilters - mean * mean) / (kFilters - 1));
  EXPECT_NEAR(mean, spectral_rate(4000, geometry.blocks(), geometry.hashes), 5 * sigma);
}

}  // namespace
}  // namespace iris::filters
