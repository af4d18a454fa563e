#include "bench/loadgen/server_cpu.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace iris::loadgen {
namespace {

TEST(ServerCpu, ReadsUserAndSystemTimeBehindAnyName) {
  const auto ticks =
      parse_stat("4 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 1234 567 0 0 20 0 4 0 99 0 0\n");
  ASSERT_TRUE(ticks.has_value());
  EXPECT_EQ(ticks->user, 1234u);
  EXPECT_EQ(ticks->system, 567u);
}

TEST(ServerCpu, RefusesWhatIsNoStat) {
  EXPECT_FALSE(parse_stat("").has_value());
  EXPECT_FALSE(parse_stat("4 (a) S 1 2 3").has_value());
}

TEST(ServerCpu, DividesTheSchedulersTimeAsTheTicksSay) {
  const CpuUse use = cpu_between({{100, 50}, 1'000'000'000}, {{130, 60}, 1'400'000'000});
  EXPECT_DOUBLE_EQ(use.user_s, 0.3);
  EXPECT_DOUBLE_EQ(use.system_s, 0.1);
}

TEST(ServerCpu, WithoutASchedstatTicksMustDo) {
  const auto ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  const CpuUse use = cpu_between({{100, 50}, 0}, {{130, 60}, 0});
  EXPECT_DOUBLE_EQ(use.user_s, 30 / ticks_a_second);
  EXPECT_DOUBLE_EQ(use.system_s, 10 / ticks_a_second);
}

TEST(ServerCpu, SeesThisProcessAndNoMissingOne) {
  EXPECT_TRUE(sample_cpu(getpid()).has_value());
  EXPECT_FALSE(sample_cpu((1 << 30) + 1).has_value());
}

}  // namespace
}  // namespace iris::loadgen
