#include "filters/bloom_sizing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

namespace iris::filters {
namespace {

constexpr uint64_t kMany = 100'000'000;

double bits_per_item(BloomLayout layout, double rate, uint64_t capacity = kMany) {
  const auto geometry = size_layer(layout, capacity, rate);
  EXPECT_TRUE(geometry.has_value());
  return static_cast<double>(geometry->bits) / static_cast<double>(capacity);
}

TEST(BloomSizing, TakesFewBitsAtOnePercent) {
  for (const uint64_t capacity : {uint64_t{1'000'000}, kMany}) {
    EXPECT_LE(bits_per_item(BloomLayout::kBlocked, 0.01, capacity), 9.95);
    EXPECT_LE(bits_per_item(BloomLayout::kPaged, 0.01, capacity), 9.65);
    EXPECT_LE(bits_per_item(BloomLayout::kClassic, 0.01, capacity), 9.59);
  }
}

TEST(BloomSizing, TakesFewBitsAtATenthOfAPercent) {
  for (const uint64_t capacity : {uint64_t{1'000'000}, kMany}) {
    EXPECT_LE(bits_per_item(BloomLayout::kBlocked, 0.001, capacity), 15.6);
    EXPECT_LE(bits_per_item(BloomLayout::kPaged, 0.001, capacity), 14.6);
    EXPECT_LE(bits_per_item(BloomLayout::kClassic, 0.001, capacity), 14.4);
  }
}

TEST(BloomSizing, FirstScalingLayerIsNoLargerThanRedisBlooms) {
  EXPECT_LE(bits_per_item(BloomLayout::kBlocked, 0.0064), 11.03);
  EXPECT_NEAR(bits_per_item(BloomLayout::kClassic, 0.005), 11.03, 0.01);
}

TEST(BloomSizing, NeverPromisesMoreThanTheModelSays) {
  for (const BloomLayout layout : {BloomLayout::kBlocked, BloomLayout::kPaged}) {
    for (double rate = 0.25; rate >= kMinLayerRate; rate *= 0.31) {
      for (const uint64_t capacity : {1ull, 7ull, 100ull, 12'345ull, 1ull << 38}) {
        const auto geometry = size_layer(layout, capacity, rate);
        ASSERT_TRUE(geometry.has_value()) << rate << " " << capacity;
        EXPECT_EQ(geometry->bits % block_bits(layout), 0u);
        const double load = static_cast<double>(capacity) /
                            static_cast<double>(geometry->bits / block_bits(layout));
        EXPECT_LE(blocked_rate(block_bits(layout), geometry->hashes, load), rate * 1.0001) << rate;
      }
    }
  }
}

TEST(BloomSizing, LowerRatesNeverTakeFewerBits) {
  for (const BloomLayout layout :
       {BloomLayout::kBlocked, BloomLayout::kPaged, BloomLayout::kClassic}) {
    double last = 0;
    for (double rate = 0.25; rate >= kMinLayerRate; rate *= 0.93) {
      const double bits = bits_per_item(layout, rate);
      EXPECT_GE(bits, last) << rate;
      last = bits;
    }
  }
}

// For every additional 4.8 bits an item the rate falls tenfold.
TEST(BloomSizing, ClassicFollowsTheTextbooksRuleOfThumb) {
  for (double rate = 0.1; rate > 1e-10; rate /= 10) {
    EXPECT_NEAR(bits_per_item(BloomLayout::kClassic, rate / 10) -
                    bits_per_item(BloomLayout::kClassic, rate),
                4.79, 0.01);
  }
}

TEST(BloomSizing, ClassicGeometryIsRedisBlooms) {
  struct Vector {
    uint64_t capacity;
    double rate;
    uint64_t bytes;
    uint32_t hashes;
  };
  // Sizes of BF.INFO less 32 + 64, and the layers of the DEBUG example.
  for (const Vector& v :
       {Vector{100, 0.0005, 296 - 96, 11}, Vector{100, 0.005, 240 - 96, 8},
        Vector{3, 0.01, 104 - 96, 7}, Vector{300'000'000, 5e-7, 1132420136, 21},
        Vector{2000, 0.0005, 4056 - 96, 11}, Vector{10, 0.005, 16, 8}, Vector{20, 0.0025, 32, 9},
        Vector{40, 0.00125, 72, 10}, Vector{80, 0.000625, 160, 11}}) {
    const auto geometry = size_layer(BloomLayout::kClassic, v.capacity, v.rate);
    ASSERT_TRUE(geometry.has_value());
    EXPECT_EQ(geometry->cell_bytes(), v.bytes) << v.capacity << " " << v.rate;
    EXPECT_EQ(geometry->bits, v.bytes * 8) << v.capacity << " " << v.rate;
    EXPECT_EQ(geometry->hashes, v.hashes) << v.capacity << " " << v.rate;
  }
}

TEST(BloomSizing, RefusesWhatIsOutOfRange) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const BloomLayout layout : {BloomLayout::kBlocked, BloomLayout::kPaged,
                                   BloomLayout::kClassic, BloomLayout::kExplicit}) {
    for (const double rate : {0.0, -0.0, -1.0, 1.0, 2.0, kNan, kInf, -kInf, 1e-320, 1e-16}) {
      EXPECT_FALSE(size_layer(layout, 100, rate).has_value()) << rate;
    }
    for (const uint64_t capacity : {uint64_t{0}, kMaxCapacity + 1, uint64_t{1} << 63, UINT64_MAX}) {
      EXPECT_FALSE(size_layer(layout, capacity, 0.01).has_value()) << capacity;
    }
  }
  EXPECT_FALSE(size_layer(BloomLayout::kExplicit, 100, 0.01).has_value());
  // 2^40 items at the lowest rate in single lines: 2^48.3 bits, beyond the limit.
  EXPECT_FALSE(size_layer(BloomLayout::kBlocked, kMaxCapacity, 1e-15).has_value());
  EXPECT_TRUE(size_layer(BloomLayout::kClassic, kMaxCapacity, 1e-15).has_value());
}

// The limit is 10 ms an answer; a new rate takes about 0.1 ms, so 1,000 of them within 10 s hold
// on any machine, and a sizing gone quadratic does not.
TEST(BloomSizing, AThousandNewRatesAreSizedInNoTime) {
  const auto start = std::chrono::steady_clock::now();
  double rate = 0.2;
  for (int i = 0; i < 500; ++i, rate *= 0.95) {
    if (rate < kMinLayerRate) rate = 0.2001;
    EXPECT_TRUE(size_layer(BloomLayout::kBlocked, 1000, rate).has_value());
    EXPECT_TRUE(size_layer(BloomLayout::kPaged, 1000, rate).has_value());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace iris::filters
