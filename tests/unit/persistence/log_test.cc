// The log as its owner sees it while all is well: what comes back, and what is written, synced and
// durable when.
#include "persistence/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <initializer_list>

#include "persistence/log_buffer.h"
#include "tests/unit/persistence/log_fixture.h"

namespace iris::persistence {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- round trips ---

TEST_F(LogTest, WhatWasStoppedInGoodOrderComesBackWhole) {
  SimulatedDisk disk;
  std::map<Lsn, std::string> model;
  Lsn last = 0;
  for (uint64_t run = 0; run < 3; ++run) {
    SteppedLog stepped(disk, last);
    ASSERT_EQ(stepped.log.start(SyncPolicy::kEverySecond), "");
    for (int i = 0; i < 500; ++i) {
      const std::string record = test_record(static_cast<uint64_t>(i), run);
      const Lsn lsn = stepped.log.append(record);
      EXPECT_EQ(lsn, ++last);
      model[lsn] = record;
      if (i % 100 == 50) {
        const Lsn cut = stepped.log.cut();
        EXPECT_EQ(cut, last);
        EXPECT_EQ(stepped.log.wait_for_cut(cut), "");
      }
    }
    ASSERT_EQ(stepped.log.stop(), "");
    EXPECT_EQ(stepped.log.durable(), last);
  }
  EXPECT_EQ(disk.names().size(), 18U);
  const Recovered recovered = recover(disk);
  EXPECT_EQ(recovered.outcome.damage, "");
  EXPECT_EQ(recovered.outcome.warning, "");
  EXPECT_EQ(recovered.records, model);
  EXPECT_EQ(recovered.outcome.last_lsn, last);
  EXPECT_EQ(recovered.outcome.largest_seen, last);
  EXPECT_TRUE(recovered.outcome.has_seed);
  EXPECT_EQ(recovered.outcome.hash_seed, kTestSeed);
}

TEST_F(LogTest, RecordsOfAllSizesComeBack) {
  start(SyncPolicy::kEverySecond);
  for (const size_t size : std::initializer_list<size_t>{0, 1, 1000, 65'000, 66'000, 500'000,
                                                         1'048'000, 1'048'576, 5'000'000}) {
    for (int i = 0; i < 3; ++i) {
      RecordBuilder builder;
      builder.begin(1);
      builder.word(std::string(size, 'x'));
      model_[log_.append(builder.view())] = builder.view();
      append();
    }
  }
  ASSERT_EQ(log_.stop(), "");
  expect_recovery_of(model_);
}

TEST_F(LogTest, AnEmptySegmentIsReplacedAtTheNextStart) {
  for (int i = 0; i < 3; ++i) {
    SteppedLog stepped(disk_, 10);
    ASSERT_EQ(stepped.log.start(SyncPolicy::kAlways), "");
    ASSERT_EQ(stepped.log.stop(), "");
  }
  EXPECT_THAT(disk_.names(), ElementsAre(log_name(11)));
}

TEST_F(LogTest, ASegmentWithRecordsIsNeverReplaced) {
  start(SyncPolicy::kAlways);
  commit();
  ASSERT_EQ(log_.stop(), "");
  const auto before = disk_.everything();
  SteppedLog wrong(disk_, 0);
  EXPECT_THAT(wrong.log.start(SyncPolicy::kAlways), HasSubstr(log_name(1)));
  EXPECT_EQ(disk_.everything(), before);
}

// --- when things are written and synced ---

TEST_F(LogTest, AlwaysWritesAndSyncsWhenSomebodyWaits) {
  start(SyncPolicy::kAlways);
  const uint64_t calls = disk_.calls();
  append();
  log_.step();
  EXPECT_EQ(disk_.calls(), calls);
  EXPECT_EQ(log_.durable(), 0U);
  log_.hurry();
  log_.step();
  EXPECT_EQ(disk_.calls(), calls + 3);  // room prepared, one write, one sync
  EXPECT_EQ(log_.durable(), 1U);
  EXPECT_EQ(listener_.calls.load(), 1U);
  append();
  log_.hurry();
  log_.step();
  EXPECT_EQ(disk_.calls(), calls + 5);  // one write, one sync
}

TEST_F(LogTest, AlwaysDoesNotForgetWhatNobodyWaitsFor) {
  start(SyncPolicy::kAlways);
  append();
  step_after_ms(10);
  EXPECT_EQ(log_.durable(), 1U);
}

TEST_F(LogTest, ManyRecordsAreOneWriteAndOneSync) {
  start(SyncPolicy::kAlways);
  const uint64_t calls = disk_.calls();
  for (int i = 0; i < 1000; ++i) append();
  log_.hurry();
  log_.step();
  EXPECT_EQ(disk_.calls(), calls + 2);
  EXPECT_EQ(log_.durable(), 1000U);
}

TEST_F(LogTest, EverySecondWritesAfterTenMillisecondsAndSyncsBeforeASecond) {
  start(SyncPolicy::kEverySecond);
  const uint64_t calls = disk_.calls();
  append();
  step_after_ms(9);
  EXPECT_EQ(disk_.calls(), calls);
  step_after_ms(1);
  EXPECT_EQ(disk_.calls(), calls + 1);
  expect_recovery_of(model_);  // a kill would lose nothing
  step_after_ms(889);
  EXPECT_EQ(log_.durable(), 0U);
  step_after_ms(1);
  EXPECT_EQ(log_.durable(), 1U);
  EXPECT_EQ(disk_.calls(), calls + 2);
}

TEST_F(LogTest, EverySecondSyncsAtOnceForWhomeverWaits) {
  start(SyncPolicy::kEverySecond);
  commit();
  EXPECT_EQ(log_.durable(), 1U);
  append();
  step_after_ms(10);
  EXPECT_EQ(log_.durable(), 1U);
  log_.hurry();
  log_.step();
  EXPECT_EQ(log_.durable(), 2U);
}

TEST_F(LogTest, ASyncIsLateWhenTheOldestRecordIsOlderThanASecond) {
  start(SyncPolicy::kEverySecond);
  clock_.advance_ms(5000);
  EXPECT_FALSE(log_.sync_is_late());
  append();
  clock_.advance_ms(1000);
  EXPECT_FALSE(log_.sync_is_late());
  clock_.advance_ms(1);
  EXPECT_TRUE(log_.sync_is_late());
  // The age of a record is not forgotten while it is being synced.
  bool late_within_sync = false;
  disk_.on_sync([&] { late_within_sync = log_.sync_is_late(); });
  log_.step();
  EXPECT_TRUE(late_within_sync);
  EXPECT_FALSE(log_.sync_is_late());
  log_.set_policy(SyncPolicy::kAlways);
  append();
  clock_.advance_ms(5000);
  EXPECT_FALSE(log_.sync_is_late());
}

TEST_F(LogTest, SlowSyncsAreCounted) {
  start(SyncPolicy::kAlways);
  disk_.on_sync([&] { clock_.advance_ms(300); });
  commit();
  EXPECT_EQ(log_.status().last_sync_us, 300'000);
  EXPECT_EQ(log_.status().delayed_syncs, 0U);
  disk_.on_sync([&] { clock_.advance_ms(1001); });
  commit();
  EXPECT_EQ(log_.status().delayed_syncs, 1U);
}

TEST_F(LogTest, NeverSyncsNothingAndWaitsForNothing) {
  start(SyncPolicy::kNever);
  const uint64_t syncs = disk_.syncs();
  for (int i = 0; i < 10; ++i) {
    append();
    step_after_ms(10);
    EXPECT_EQ(log_.durable(), log_.end());
  }
  step_after_ms(10'000);
  EXPECT_EQ(disk_.syncs(), syncs);
  // But no line claims what was not synced.
  const auto after = disk_.after_power_cut(3);
  EXPECT_EQ(recover(*after).outcome.damage, "");
}

TEST_F(LogTest, AMegabyteIsWrittenAtOnce) {
  start(SyncPolicy::kEverySecond);
  const std::string record = test_record(1, 1, 1000);
  size_t bytes = 0;
  while (bytes < LogBlock::kBytes) {
    log_.append(record);
    bytes += record.size();
  }
  const uint64_t calls = disk_.calls();
  log_.step();
  EXPECT_GT(disk_.calls(), calls);
  EXPECT_EQ(log_.status().buffered_bytes, 0U);
}

TEST_F(LogTest, AFullBufferIsReportedAndSoIsItsEnd) {
  start(SyncPolicy::kEverySecond);
  EXPECT_FALSE(log_.backlogged());
  const std::string big(100'000, 'x');
  while (!log_.backlogged()) log_.append(big);
  EXPECT_GT(log_.status().buffered_bytes, 1U << 20);
  fail_next(-ENOSPC, 0, true);
  log_.step();
  EXPECT_TRUE(log_.backlogged());
  const uint64_t told = listener_.calls.load();
  disk_.fail({});
  step_after_ms(1000);
  EXPECT_FALSE(log_.backlogged());
  EXPECT_EQ(listener_.calls.load(), told + 1);
}

TEST_F(LogTest, AnEndInGoodOrderMakesLaterDamageRecognisable) {
  start(SyncPolicy::kAlways);
  commit();
  const uint64_t size = log_.status().segment_bytes;
  ASSERT_EQ(log_.stop(), "");
  std::string content = disk_.content(log_name(1));
  content[size - 5] ^= 1;  // in the last record, which no later batch speaks of
  disk_.put(log_name(1), content);
  EXPECT_THAT(recover(disk_).outcome.damage, HasSubstr("record 1"));
}

// --- prepared room ---

TEST_F(LogTest, AlwaysPreparesRoomWhichTheEndGivesBack) {
  start(SyncPolicy::kAlways);
  commit();
  const std::string content = disk_.content(log_name(1));
  const uint64_t used = log_.status().segment_bytes;
  ASSERT_GT(content.size(), used);
  EXPECT_EQ(content.find_first_not_of('\0', used), std::string::npos);
  for (int i = 0; i < 100; ++i) commit();
  EXPECT_EQ(disk_.size(log_name(1)), content.size());
  ASSERT_EQ(log_.stop(), "");
  EXPECT_EQ(disk_.size(log_name(1)), log_.status().total_bytes);
  expect_recovery_of(model_);
}

TEST_F(LogTest, RoomIsPreparedAgainWhenItIsUsedUp) {
  start(SyncPolicy::kAlways);
  commit();
  const uint64_t first = disk_.size(log_name(1));
  while (log_.status().segment_bytes <= first) {
    commit();
    ASSERT_GE(disk_.size(log_name(1)), log_.status().segment_bytes);
  }
  EXPECT_GT(disk_.size(log_name(1)), first);
  expect_recovery_of(model_);
}

TEST_F(LogTest, ASegmentThatIsLeftKeepsNoZeros) {
  start(SyncPolicy::kAlways);
  commit();
  const uint64_t used = log_.status().segment_bytes;
  EXPECT_EQ(log_.wait_for_cut(log_.cut()), "");
  EXPECT_EQ(disk_.size(log_name(1)), used);
}

TEST_F(LogTest, WhatNobodyWaitsForGetsNoRoomPrepared) {
  start(SyncPolicy::kEverySecond);
  append();
  step_after_ms(1000);
  EXPECT_EQ(disk_.size(log_name(1)), log_.status().segment_bytes);
}

TEST_F(LogTest, ADiskThatRefusesToPrepareRoomIsNotAskedAgain) {
  start(SyncPolicy::kAlways);
  disk_.fail({.call = disk_.calls() + 1, .for_ever = false, .error = -ENOSPC, .partial = true});
  commit();
  EXPECT_FALSE(log_.failing());
  EXPECT_EQ(log_.durable(), 1U);
  const uint64_t calls = disk_.calls();
  commit();
  EXPECT_EQ(disk_.calls(), calls + 2);  // one write, one sync
  EXPECT_EQ(disk_.size(log_name(1)), log_.status().segment_bytes);
  expect_recovery_of(model_);
}

}  // namespace
}  // namespace iris::persistence
