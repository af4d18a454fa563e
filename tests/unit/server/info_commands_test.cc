#include "server/info_commands.h"

#include <gtest/gtest.h>

namespace iris::server {
namespace {

std::vector<uint64_t> buckets_of(const LatencyHistogram& histogram) {
  std::vector<uint64_t> buckets;
  histogram.add_to(buckets);
  return buckets;
}

TEST(Percentile, OfNothingIsZero) {
  EXPECT_EQ(percentile_ns({}, 50), 0u);
  EXPECT_EQ(percentile_ns(buckets_of(LatencyHistogram()), 99.9), 0u);
}

TEST(Percentile, OfOneDurationIsItsBucketsEnd) {
  LatencyHistogram histogram;
  histogram.add(1'000, 1);
  for (const double percent : {0.0, 50.0, 99.9, 100.0}) {
    EXPECT_EQ(percentile_ns(buckets_of(histogram), percent),
              LatencyHistogram::upper_bound_ns(LatencyHistogram::bucket_of(1'000)));
  }
}

TEST(Percentile, SlowCallsShowOnlyAboveTheirShare) {
  LatencyHistogram histogram;
  histogram.add(1'000, 99);
  histogram.add(1'000'000, 1);
  const std::vector<uint64_t> buckets = buckets_of(histogram);
  EXPECT_LT(percentile_ns(buckets, 50), 1'200u);
  EXPECT_LT(percentile_ns(buckets, 99), 1'200u);
  EXPECT_GE(percentile_ns(buckets, 99.1), 1'000'000u);
}

TEST(Percentile, IsRightWithinTheStepOfTheHistogram) {
  LatencyHistogram histogram;
  for (uint64_t ns = 1; ns <= 100'000; ns++) histogram.add(ns, 1);
  const std::vector<uint64_t> buckets = buckets_of(histogram);
  for (const double percent : {1.0, 10.0, 50.0, 90.0, 99.0, 99.9}) {
    const double exact = percent * 1'000;
    const auto told = static_cast<double>(percentile_ns(buckets, percent));
    EXPECT_GE(told, exact) << percent;
    EXPECT_LE(told, exact * 1.125) << percent;
  }
}

TEST(Percentile, IsNamedWithoutTrailingZeros) {
  EXPECT_EQ(percentile_name(50), "p50");
  EXPECT_EQ(percentile_name(99.9), "p99.9");
  EXPECT_EQ(percentile_name(99.999), "p99.999");
}

TEST(CommandFigures, AddUpOverThreads) {
  Stats stats(2, 3);
  stats.member(0).commands[1].add_time(1'500, 2, false);
  stats.member(1).commands[1].add_time(3'000, 1, false);
  stats.member(1).commands[1].rejected.add();
  stats.member(0).commands[1].failed.add();
  EXPECT_EQ(command_figures_text(command_figures(stats, 1)),
            "calls=3,usec=6,usec_per_call=2.00,rejected_calls=1,failed_calls=1");
  EXPECT_TRUE(command_figures(stats, 2).empty());
  EXPECT_TRUE(latency_buckets(stats, 1).empty());
}

TEST(CommandFigures, OfOnlyRejectedCallsHaveNoTime) {
  EXPECT_EQ(command_figures_text({0, 0, 2, 0}),
            "calls=0,usec=0,usec_per_call=0.00,rejected_calls=2,failed_calls=0");
}

}  // namespace
}  // namespace iris::server
