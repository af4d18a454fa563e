#include "server/commands/latency_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/latency_histogram.h"

namespace iris::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::vector<uint64_t> buckets_of(std::initializer_list<uint64_t> durations_ns) {
  LatencyHistogram histogram;
  for (const uint64_t duration_ns : durations_ns) histogram.add(duration_ns, 1);
  std::vector<uint64_t> buckets;
  histogram.add_to(buckets);
  return buckets;
}

TEST(LatencySteps, NothingMeasuredGivesNoSteps) {
  EXPECT_TRUE(cumulative_steps({}).empty());
  EXPECT_TRUE(cumulative_steps(buckets_of({})).empty());
}

TEST(LatencySteps, CountsAreCumulativeAndOnlyGrowingStepsAreShown) {
  const auto steps = cumulative_steps(buckets_of({0, 500, 1023, 1024, 40'000, 1'000'000}));
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].up_to_us, 1u);
  EXPECT_EQ(steps[0].calls, 3u);
  EXPECT_EQ(steps[1].up_to_us, 2u);
  EXPECT_EQ(steps[1].calls, 4u);
  EXPECT_EQ(steps[2].up_to_us, 65u);
  EXPECT_EQ(steps[2].calls, 5u);
  EXPECT_EQ(steps[3].up_to_us, 1048u);
  EXPECT_EQ(steps[3].calls, 6u);
}

TEST(LatencySteps, TheSlowestCallsAreInTheLastStep) {
  const auto steps = cumulative_steps(buckets_of({1, UINT64_MAX}));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].up_to_us, ((1ull << 40) - 1) / 1000);
  EXPECT_EQ(steps[1].calls, 2u);
}

TEST(LatencyGraph, DrawsOneColumnASampleWithItsAgeBelow) {
  LatencyEvent event;
  event.history = {{100, 100}, {150, 300}, {159, 200}};
  event.worst_ms = 500;
  EXPECT_EQ(latency_graph("command", event, 160),
            "command - high 300 ms, low 100 ms (all time high 500 ms)\n" + std::string(80, '-') +
                "\n"
                " `\n"
                " |\n"
                " |`\n"
                "_||\n"
                "\n"
                "111\n"
                "m0s\n"
                " s\n");
}

TEST(LatencyGraph, EqualSamplesLieOnTheGround) {
  LatencyEvent event;
  event.history = {{1, 7}, {2, 7}};
  event.worst_ms = 7;
  EXPECT_THAT(latency_graph("command", event, 2), HasSubstr("\n\n\n\n__\n\n10\nss\n"));
}

TEST(LatencyGraph, ShowsTheNewestSamplesOfALongHistory) {
  LatencyEvent event;
  for (int i = 0; i < 160; i++) event.history.push_back({i, i == 0 ? 9999 : 10});
  event.worst_ms = 9999;
  EXPECT_THAT(latency_graph("command", event, 160),
              StartsWith("command - high 10 ms, low 10 ms (all time high 9999 ms)\n"));
}

TEST(LatencyDiagnosis, SaysHowToTurnTheMonitorOn) {
  EXPECT_THAT(latency_diagnosis({}, 0), HasSubstr("latency-monitor-threshold"));
  EXPECT_THAT(latency_diagnosis({}, 100), HasSubstr("Nothing took 100 ms"));
}

TEST(LatencyDiagnosis, DescribesEveryEvent) {
  LatencyEvents events;
  events["command"].history = {{100, 100}, {110, 300}};
  events["command"].worst_ms = 400;
  const std::string text = latency_diagnosis(events, 100);
  EXPECT_THAT(text, HasSubstr("1. command: 2 latency spikes (average 200ms, mean deviation 100ms, "
                              "period 10.00 sec). Worst all time event 400ms."));
  EXPECT_THAT(text, HasSubstr("SLOWLOG GET"));
}

}  // namespace
}  // namespace iris::server
