#include "bench/loadgen/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/loadgen/random.h"

namespace iris::loadgen {
namespace {

TEST(LoadgenHistogram, AnEmptyOneHasNoLatency) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile_ns(0.99), 0u);
}

TEST(LoadgenHistogram, SmallLatenciesAreExact) {
  LatencyHistogram histogram;
  for (uint64_t ns = 1; ns <= 100; ++ns) histogram.add(ns, 1);
  EXPECT_EQ(histogram.percentile_ns(0.5), 50u);
  EXPECT_EQ(histogram.percentile_ns(0.99), 99u);
  EXPECT_EQ(histogram.percentile_ns(0.999), 100u);
  EXPECT_EQ(histogram.percentile_ns(1), 100u);
}

TEST(LoadgenHistogram, OneSlowOfAThousandIsAboveP999) {
  LatencyHistogram histogram;
  histogram.add(10, 999);
  histogram.add(5'000'000, 1);
  EXPECT_EQ(histogram.percentile_ns(0.999), 10u);
  histogram.add(5'000'000, 1);
  EXPECT_EQ(histogram.percentile_ns(0.999), 5'000'000u);
  EXPECT_EQ(histogram.max_ns(), 5'000'000u);
}

// Against a sorted list of the same values: never below, above by less than a step.
TEST(LoadgenHistogram, PercentilesAreWithinAStepOfTheSortedValues) {
  Random random(11);
  LatencyHistogram first, second;
  std::vector<uint64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<uint64_t>(std::exp(random.unit() * 27));  // up to 9 minutes
    values.push_back(value);
    (i % 2 == 0 ? first : second).add(value, 1);
  }
  first.add_all(second);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(first.count(), values.size());
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
    const auto nth = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
    const uint64_t exact = values[nth - 1];
    EXPECT_GE(first.percentile_ns(share), exact) << share;
    EXPECT_LE(static_cast<double>(first.percentile_ns(share)), static_cast<double>(exact) * 1.008)
        << share;
  }
}

TEST(LoadgenHistogram, BeyondItsRangeTheMaximumStaysTrue) {
  LatencyHistogram histogram;
  histogram.add(UINT64_MAX / 2, 1);
  EXPECT_EQ(histogram.max_ns(), UINT64_MAX / 2);
  EXPECT_LE(histogram.percentile_ns(1), histogram.max_ns());
}

}  // namespace
}  // namespace iris::loadgen
