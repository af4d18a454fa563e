// Writes and syncs of the log that fail: what is said of them, what is still promised, and what
// heals them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/persistence/log_fixture.h"

namespace iris::persistence {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- failed writes ---

TEST_F(LogTest, AFullDiskIsReportedInASentence) {
  start(SyncPolicy::kAlways);
  commit();
  fail_next(-ENOSPC, 0, true);
  commit();
  EXPECT_TRUE(log_.failing());
  EXPECT_EQ(log_.failure(), "Error writing the log: No space left on device (" + log_name(1) + ")");
  EXPECT_EQ(log_.durable(), 1U);
}

TEST_F(LogTest, AFailedWriteIsTriedAgainEverySecond) {
  start(SyncPolicy::kAlways);
  commit();
  fail_next(-ENOSPC);
  commit();
  EXPECT_TRUE(log_.failing());
  EXPECT_FALSE(log_.needs_snapshot());
  const uint64_t told = listener_.calls.load();
  const uint64_t calls = disk_.calls();
  log_.hurry();
  step_after_ms(999);
  EXPECT_EQ(disk_.calls(), calls);
  step_after_ms(1);
  EXPECT_FALSE(log_.failing());
  EXPECT_EQ(log_.failure(), "");
  EXPECT_EQ(log_.durable(), 2U);
  EXPECT_GT(listener_.calls.load(), told);
  expect_recovery_of(model_);
}

TEST_F(LogTest, APartOfABatchIsCutOffAgain) {
  start(SyncPolicy::kAlways);
  commit();
  const std::string before = disk_.content(log_name(1)).substr(0, log_.status().segment_bytes);
  disk_.fail({.call = disk_.calls() + 1, .for_ever = false, .error = -EIO, .partial = true});
  commit();
  EXPECT_TRUE(log_.failing());
  EXPECT_EQ(disk_.content(log_name(1)), before);
  step_after_ms(1000);
  EXPECT_FALSE(log_.failing());
  EXPECT_FALSE(log_.needs_snapshot());
  expect_recovery_of(model_);
}

TEST_F(LogTest, AShortWriteIsContinued) {
  start(SyncPolicy::kAlways);
  commit();
  disk_.fail({.call = disk_.calls() + 1, .for_ever = false, .error = -ENOSPC, .partial = true});
  const uint64_t calls = disk_.calls();
  commit();
  EXPECT_EQ(disk_.calls(), calls + 3);  // two writes, one sync
  EXPECT_FALSE(log_.failing());
  EXPECT_EQ(log_.durable(), 2U);
  expect_recovery_of(model_);
}

TEST_F(LogTest, ABatchThatCannotBeCutOffNeedsANewFile) {
  start(SyncPolicy::kAlways);
  commit();
  disk_.fail({.call = disk_.calls() + 1, .for_ever = true, .error = -EIO, .partial = true});
  commit();
  disk_.fail({});
  EXPECT_TRUE(log_.needs_snapshot());
  EXPECT_EQ(log_.durable(), 1U);
  step_after_ms(1000);
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(1), log_name(2)));
  expect_recovery_of(model_);
  EXPECT_TRUE(log_.needs_snapshot());
  const Lsn cut = log_.cut();
  ASSERT_EQ(log_.wait_for_cut(cut), "");
  log_.covered_by_snapshot(cut);
  EXPECT_FALSE(log_.failing());
  EXPECT_EQ(log_.durable(), 2U);
}

// --- failed syncs ---

TEST_F(LogTest, AFailedSyncIsNeverTriedAgainAndASnapshotHealsIt) {
  start(SyncPolicy::kAlways);
  commit();
  fail_next(-EIO, 1);
  commit();
  EXPECT_TRUE(log_.failing());
  EXPECT_TRUE(log_.needs_snapshot());
  EXPECT_EQ(log_.failure(), "Error syncing the log: Input/output error (" + log_name(1) + ")");
  const uint64_t syncs = disk_.syncs();
  for (int i = 0; i < 5; ++i) {
    commit();
    step_after_ms(1000);
  }
  EXPECT_EQ(disk_.syncs(), syncs);
  EXPECT_EQ(log_.durable(), 1U);
  EXPECT_TRUE(log_.needs_snapshot());

  // Of the new file everything is synced, but what lies before is still in doubt.
  const Lsn cut = log_.cut();
  EXPECT_EQ(log_.wait_for_cut(cut), "");
  commit();
  EXPECT_GT(disk_.syncs(), syncs);
  EXPECT_EQ(log_.durable(), 1U);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto after = disk_.after_power_cut(seed);
    const Recovered recovered = recover(*after);
    EXPECT_EQ(recovered.outcome.damage, "");
    EXPECT_GE(recovered.outcome.last_lsn, 1U);
  }

  log_.covered_by_snapshot(cut - 1);  // not enough
  EXPECT_TRUE(log_.needs_snapshot());
  EXPECT_EQ(log_.durable(), 1U);
  log_.covered_by_snapshot(cut);
  EXPECT_FALSE(log_.failing());
  EXPECT_FALSE(log_.needs_snapshot());
  EXPECT_EQ(log_.durable(), log_.end());
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(cut + 1)));
  commit();
  EXPECT_EQ(log_.durable(), log_.end());
}

TEST_F(LogTest, ASnapshotBeyondADoomedSegmentHealsWithoutACut) {
  start(SyncPolicy::kAlways);
  fail_next(-EIO, 2);
  commit();
  EXPECT_TRUE(log_.needs_snapshot());
  log_.covered_by_snapshot(log_.end());
  EXPECT_FALSE(log_.needs_snapshot());
  EXPECT_EQ(log_.durable(), 1U);
  commit();
  EXPECT_EQ(log_.durable(), 2U);
  model_.erase(1);
  expect_recovery_of(model_, 1);
}

TEST_F(LogTest, StoppingWithAFailedSyncSaysSo) {
  start(SyncPolicy::kEverySecond);
  append();
  fail_next(-EIO, 1);
  EXPECT_THAT(log_.stop(), HasSubstr("Input/output error"));
  EXPECT_EQ(log_.durable(), 0U);
}

TEST_F(LogTest, StoppingOnAFullDiskSaysSo) {
  start(SyncPolicy::kEverySecond);
  append();
  fail_next(-ENOSPC, 0, true);
  EXPECT_THAT(log_.stop(), HasSubstr("No space left on device"));
  EXPECT_EQ(log_.durable(), 0U);
  disk_.fail({});
  // Whoever waits for the lost record is not told that it is durable before a snapshot has it.
  ASSERT_EQ(log_.start(SyncPolicy::kAlways), "");
  commit();
  EXPECT_EQ(log_.durable(), 0U);
  log_.covered_by_snapshot(log_.end());
  EXPECT_EQ(log_.durable(), log_.end());
}

}  // namespace
}  // namespace iris::persistence
