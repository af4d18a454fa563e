// The segments of the log: where it is cut, which ones go with a snapshot, and how a time without
// recording shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/persistence/log_fixture.h"

namespace iris::persistence {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- cuts and snapshots ---

TEST_F(LogTest, ACutSyncsTheOldSegmentAndBeginsANewOne) {
  start(SyncPolicy::kNever);
  append();
  append();
  const Lsn cut = log_.cut();
  EXPECT_EQ(cut, 2U);
  append();
  EXPECT_EQ(log_.wait_for_cut(cut), "");
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(1), log_name(3)));
  EXPECT_EQ(log_.status().segment_first_lsn, 3U);
  const auto after = disk_.after_power_cut(1);
  EXPECT_GE(recover(*after).outcome.last_lsn, 2U);
  expect_recovery_of(model_);
}

TEST_F(LogTest, ACutWithoutRecordsSinceTheLastNeedsNoNewSegment) {
  start(SyncPolicy::kAlways);
  EXPECT_EQ(log_.wait_for_cut(log_.cut()), "");
  commit();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(log_.wait_for_cut(log_.cut()), "");
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(1), log_name(2)));
}

TEST_F(LogTest, ACutThatFailsLeavesTheLogAsItWas) {
  start(SyncPolicy::kAlways);
  commit();
  fail_next(-ENOSPC);
  const Lsn cut = log_.cut();
  EXPECT_THAT(log_.wait_for_cut(cut), HasSubstr("No space left on device"));
  EXPECT_FALSE(log_.failing());
  commit();
  EXPECT_EQ(log_.durable(), 2U);
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(1)));
  EXPECT_EQ(log_.wait_for_cut(log_.cut()), "");
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(1), log_name(3)));
  expect_recovery_of(model_);
}

// The write of the header, its sync or that of the directory fails, and so does the removal.
class LogAfterAFailedCutTest : public LogTest, public ::testing::WithParamInterface<uint64_t> {
 protected:
  void cut_and_fail() {
    commit();
    fail_next(-EIO, GetParam(), true);
    cut_ = log_.cut();
    EXPECT_THAT(log_.wait_for_cut(cut_), HasSubstr("Input/output error"));
    disk_.fail({});
    EXPECT_THAT(disk_.names(), ElementsAre(log_name(1), log_name(2)));
  }
  Lsn cut_ = 0;
};

TEST_P(LogAfterAFailedCutTest, WhatIsLeftBehindIsNoObstacle) {
  start(SyncPolicy::kAlways);
  cut_and_fail();
  for (int i = 0; i < 3; ++i) commit();
  expect_recovery_of(model_);
  // And a snapshot at that place does not take the first segment for covered.
  log_.covered_by_snapshot(cut_);
  model_.erase(1);
  expect_recovery_of(model_, cut_);
}

TEST_P(LogAfterAFailedCutTest, WhatAKillLeavesUnsyncedIsSyncedByRecovery) {
  start(SyncPolicy::kEverySecond);
  cut_and_fail();
  append();
  step_after_ms(10);
  const auto killed = disk_.copy();
  const Recovered recovered = recover(*killed);
  EXPECT_EQ(recovered.records.size(), 2U);
  SteppedLog next(*killed, recovered.outcome.largest_seen);
  ASSERT_EQ(next.log.start(SyncPolicy::kAlways), "");
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto after = killed->after_power_cut(seed);
    const Recovered again = recover(*after);
    EXPECT_EQ(again.outcome.damage, "") << seed;
    EXPECT_EQ(again.records.size(), 2U) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(AtEachStep, LogAfterAFailedCutTest, ::testing::Values(1, 2, 3));

TEST_F(LogTest, CoveredSegmentsAreRemovedButNeverTheCurrentOne) {
  start(SyncPolicy::kAlways);
  for (int i = 0; i < 4; ++i) {
    commit();
    commit();
    EXPECT_EQ(log_.wait_for_cut(log_.cut()), "");
  }
  log_.covered_by_snapshot(5);
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(5), log_name(7), log_name(9)));
  log_.covered_by_snapshot(6);
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(7), log_name(9)));
  commit();
  log_.covered_by_snapshot(9);
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(9)));
  EXPECT_EQ(log_.status().total_bytes, log_.status().segment_bytes);
}

TEST_F(LogTest, ASegmentThatCannotBeRemovedGoesWithALaterSnapshot) {
  start(SyncPolicy::kAlways);
  commit();
  EXPECT_EQ(log_.wait_for_cut(log_.cut()), "");
  fail_next(-EIO);
  log_.covered_by_snapshot(1);
  EXPECT_FALSE(log_.failing());
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(1), log_name(2)));
  commit();
  log_.covered_by_snapshot(2);
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(2)));
}

TEST_F(LogTest, SegmentsOfEarlierRunsAreRemovedToo) {
  start(SyncPolicy::kAlways);
  commit();
  ASSERT_EQ(log_.stop(), "");
  SteppedLog next(disk_, 1);
  ASSERT_EQ(next.log.start(SyncPolicy::kAlways), "");
  next.log.covered_by_snapshot(1);
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(2)));
}

TEST_F(LogTest, AStoppedLogKeepsNoSegmentThatIsCovered) {
  start(SyncPolicy::kAlways);
  commit();
  ASSERT_EQ(log_.stop(), "");
  log_.covered_by_snapshot(1);
  EXPECT_THAT(disk_.names(), ElementsAre());
  EXPECT_EQ(log_.status().total_bytes, 0U);
}

// --- times without recording ---

TEST_F(LogTest, RecordsAfterATimeWithoutRecordingNeedTheirSnapshot) {
  start(SyncPolicy::kAlways);
  commit();
  commit();
  ASSERT_EQ(log_.stop(), "");
  EXPECT_FALSE(log_.recording());
  ASSERT_EQ(log_.start(SyncPolicy::kAlways), "");
  EXPECT_EQ(log_.end(), 3U);      // stands for what was not recorded
  EXPECT_EQ(log_.durable(), 3U);  // nobody waits for it
  EXPECT_EQ(append(), 4U);
  log_.hurry();
  log_.step();
  EXPECT_EQ(log_.durable(), 4U);
  EXPECT_FALSE(log_.failing());
  // Without the snapshot they rest on nothing, and are dropped without fuss.
  const std::map<Lsn, std::string> before(model_.begin(), model_.find(4));
  expect_recovery_of(before);
  const Lsn cut = log_.cut();
  ASSERT_EQ(log_.wait_for_cut(cut), "");
  append();
  log_.covered_by_snapshot(cut);
  commit();
  const std::map<Lsn, std::string> behind(model_.upper_bound(cut), model_.end());
  expect_recovery_of(behind, cut);
  // And from then on it is missed if it is gone.
  const auto copy = disk_.copy();
  EXPECT_THAT(recover(*copy, 2).outcome.damage, HasSubstr("record 3"));
}

TEST_F(LogTest, ARecordingThatBeginsLateSaysSo) {
  SteppedLog late(disk_, 50);
  ASSERT_EQ(late.log.start(SyncPolicy::kAlways, LogBase::kUnrecordedChanges), "");
  EXPECT_EQ(late.log.append(test_record(1)), 52U);
  ASSERT_EQ(late.log.stop(), "");
  const auto copy = disk_.copy();
  const Recovered without = recover(*copy, 50);
  EXPECT_EQ(without.outcome.damage, "");
  EXPECT_TRUE(without.records.empty());
  EXPECT_EQ(without.outcome.largest_seen, 52U);
  const Recovered with = recover(disk_, 51);
  EXPECT_EQ(with.records.size(), 1U);
}

}  // namespace
}  // namespace iris::persistence
