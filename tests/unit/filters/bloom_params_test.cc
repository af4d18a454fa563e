#include "filters/bloom_params.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <variant>
#include <vector>

#include "tests/unit/filters/bloom_test_support.h"

namespace iris::filters {
namespace {

using testing::explicit_params;
using testing::params_of;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

void expect_error(const BloomRequest& request, BloomParamsError error) {
  const auto made = BloomParams::make(request);
  ASSERT_TRUE(std::holds_alternative<BloomParamsError>(made));
  EXPECT_EQ(std::get<BloomParamsError>(made), error);
}

TEST(BloomParams, RefuseRatesOutsideOfTheOpenUnitInterval) {
  for (const double rate : {0.0, -0.0, -1.0, 1.0, 1.5, kNan, -kNan, kInf, -kInf}) {
    expect_error({.rate = rate}, BloomParamsError::kRateOutOfRange);
  }
  for (const double rate : {1e-320, 1e-13, 9.99e-13}) {
    expect_error({.rate = rate}, BloomParamsError::kRateTooSmall);
  }
  EXPECT_EQ(params_of({.rate = 1e-12}).rate(), 1e-12);
}

TEST(BloomParams, CapRatesAboveAQuarter) {
  EXPECT_EQ(params_of({.rate = 0.9999999999999999}).rate(), 0.25);
  EXPECT_EQ(params_of({.rate = 0.25}).rate(), 0.25);
  EXPECT_EQ(params_of({.rate = 0.2}).rate(), 0.2);
}

TEST(BloomParams, RefuseCapacitiesOutOfRange) {
  for (const int64_t capacity : {int64_t{0}, int64_t{-1}, kMin, (int64_t{1} << 40) + 1, kMax}) {
    expect_error({.capacity = capacity}, BloomParamsError::kCapacityOutOfRange);
  }
  EXPECT_EQ(params_of({.capacity = int64_t{1} << 40}).first_layer().capacity, uint64_t{1} << 40);
}

TEST(BloomParams, RefuseExpansionsOutOfRange) {
  for (const int64_t expansion : {int64_t{-1}, int64_t{32769}, int64_t{1} << 32, kMax, kMin}) {
    expect_error({.expansion = expansion}, BloomParamsError::kExpansionOutOfRange);
  }
}

TEST(BloomParams, NonscalingWithAnExpansionIsAContradiction) {
  expect_error({.expansion = 2, .nonscaling = true}, BloomParamsError::kNonscalingCannotExpand);
  EXPECT_FALSE(params_of({.expansion = 0, .nonscaling = true}).scaling());
  EXPECT_FALSE(params_of({.nonscaling = true}).scaling());
  EXPECT_FALSE(params_of({.expansion = 0}).scaling());
  EXPECT_FALSE(params_of({.default_expansion = 0}).scaling());
  EXPECT_TRUE(params_of({}).scaling());
}

TEST(BloomParams, AreCheckedInTheOrderThatClientsKnow) {
  expect_error({.rate = 2, .capacity = 0, .expansion = -1}, BloomParamsError::kRateOutOfRange);
  expect_error({.rate = 1e-20, .capacity = 0, .expansion = -1}, BloomParamsError::kRateTooSmall);
  expect_error({.rate = 0.1, .capacity = 0, .expansion = -1},
               BloomParamsError::kCapacityOutOfRange);
  expect_error({.expansion = 40'000, .nonscaling = true}, BloomParamsError::kExpansionOutOfRange);
}

TEST(BloomParams, PairsOfAbsurdValuesNeverPassUnchecked) {
  const std::vector<double> rates = {0, -1, kNan, kInf, 1e-320, 1e-12, 1e-5, 0.5, 1e18};
  const std::vector<int64_t> numbers = {0, -1, 1, kMax, kMin, 1'000'000'000'000'000'000, 1 << 30};
  for (const double rate : rates) {
    for (const int64_t capacity : numbers) {
      for (const int64_t expansion : numbers) {
        for (const auto layout : {LayoutChoice::kAuto, LayoutChoice::kBlocked, LayoutChoice::kPaged,
                                  LayoutChoice::kClassic}) {
          const auto made = BloomParams::make(
              {.rate = rate, .capacity = capacity, .expansion = expansion, .layout = layout});
          const auto* params = std::get_if<BloomParams>(&made);
          if (params == nullptr) continue;
          EXPECT_GT(params->first_layer().bits, 0u);
          EXPECT_GE(params->first_layer().hashes, 1u);
          EXPECT_GE(params->memory_bytes(), params->first_layer().bits / 8);
        }
      }
    }
  }
}

TEST(BloomParams, ExplicitDimensionsHaveLimits) {
  const auto error_of = [](int64_t bits, int64_t hashes) {
    const auto made = BloomParams::make_explicit(bits, hashes);
    EXPECT_TRUE(std::holds_alternative<BloomParamsError>(made)) << bits << " " << hashes;
    return std::get<BloomParamsError>(made);
  };
  for (const int64_t bits : {int64_t{0}, int64_t{-1}, kMin, kMax, (int64_t{1} << 46) + 1}) {
    EXPECT_EQ(error_of(bits, 3), BloomParamsError::kBitsOutOfRange);
  }
  for (const int64_t hashes : {int64_t{0}, int64_t{-1}, kMin, kMax, int64_t{257}}) {
    EXPECT_EQ(error_of(18, hashes), BloomParamsError::kHashesOutOfRange);
  }
  const BloomParams params = explicit_params(18, 3);
  EXPECT_TRUE(params.explicit_dimensions());
  EXPECT_FALSE(params.scaling());
  EXPECT_EQ(params.first_layer().bits, 18u);
  EXPECT_EQ(params.first_layer().hashes, 3u);
}

TEST(BloomParams, RatesOfAllLayersSumUpToTheRequest) {
  for (const auto layout : {LayoutChoice::kAuto, LayoutChoice::kClassic}) {
    const BloomParams params = params_of({.rate = 0.01, .capacity = 10, .layout = layout});
    double sum = 0;
    std::optional<LayerGeometry> layer = params.first_layer();
    uint64_t capacity = 10;
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(layer.has_value());
      EXPECT_EQ(layer->capacity, capacity);
      sum += layer->rate;
      capacity *= 2;
      layer = params.next_layer(*layer);
    }
    EXPECT_LE(sum, 0.01 * (1 + 1e-9));
    EXPECT_GE(sum, 0.0099);
  }
}

TEST(BloomParams, AutoGoesOverToPagesBelowATenthOfAPercent) {
  const auto layout_of = [](double rate, int64_t capacity) {
    return params_of({.rate = rate, .capacity = capacity, .nonscaling = true}).first_layer().layout;
  };
  EXPECT_EQ(layout_of(0.01, 1'000'000), BloomLayout::kBlocked);
  EXPECT_EQ(layout_of(0.001, 1'000'000), BloomLayout::kBlocked);
  EXPECT_EQ(layout_of(0.0009, 1'000'000), BloomLayout::kPaged);
  EXPECT_EQ(layout_of(0.0009, 10), BloomLayout::kBlocked);  // one line, where a page is eight
}

TEST(BloomParams, AChainEndsWhereItsNumbersWould) {
  const BloomParams params = params_of({.capacity = int64_t{1} << 39, .expansion = 32768});
  EXPECT_FALSE(params.next_layer(params.first_layer()).has_value());
  // However long the chain, a rate never falls below the least one.
  const BloomParams slow = params_of({.rate = 1e-12, .capacity = 1, .expansion = 1});
  std::optional<LayerGeometry> layer = slow.first_layer();
  for (int i = 0; i < 100 && layer; ++i) layer = slow.next_layer(*layer);
  ASSERT_TRUE(layer.has_value());
  EXPECT_EQ(layer->rate, kMinLayerRate);
}

TEST(BloomParams, TellTheMemoryBeforeItIsTaken) {
  const BloomParams big =
      params_of({.rate = 1e-6, .capacity = 300'000'000, .layout = LayoutChoice::kClassic});
  EXPECT_EQ(big.first_layer().cell_bytes() + 96, 1132420232u);
  EXPECT_GE(big.memory_bytes(), 1132420136u);
  EXPECT_LE(big.memory_bytes(), 1132420136u + 8192);
  const BloomParams small = params_of({});
  auto filter = BloomFilter::create(small, 1, 1);
  ASSERT_NE(filter, nullptr);
  EXPECT_EQ(filter->memory_bytes(), small.memory_bytes());
}

}  // namespace
}  // namespace iris::filters
