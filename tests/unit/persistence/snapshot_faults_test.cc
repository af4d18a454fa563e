// A snapshot is written while the disk fails or the power goes: at every call, in every way. There
// is always a whole snapshot, the old one or the new one, and only a durable one is reported.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/unit/persistence/snapshot_test_support.h"

namespace iris::persistence {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Lsn kOld = 3;
constexpr Lsn kNew = 12;

// Some appends long.
std::string write_new(MemoryFiles& files, size_t frames = 40) {
  std::string error;
  auto writer = SnapshotWriter::create(files, kDataDirectory, kNew - 2, 7, error);
  if (writer == nullptr) return error;
  writer->frame(FrameType::kKeys, "keys");
  for (uint64_t i = 0; i < frames; ++i) {
    writer->frame(FrameType::kCells, "head", noise(64 << 10, i));
  }
  writer->records(kNew - 1, 2, add_record("a") + add_record("b"));
  return writer->finish(kNew);
}

std::unique_ptr<MemoryFiles> disk_with_an_old_snapshot() {
  MemoryFiles files;
  std::string error;
  auto writer = SnapshotWriter::create(files, kDataDirectory, kOld, 7, error);
  writer->frame(FrameType::kKeys, "old keys");
  EXPECT_EQ(writer->finish(kOld), "");
  auto disk = files.after_power_cut({});  // a fresh disk that holds what was synced
  disk->set_bite(128 << 10);
  return disk;
}

uint64_t calls_of_a_good_run() {
  const auto files = disk_with_an_old_snapshot();
  EXPECT_EQ(write_new(*files), "");
  return files->calls();
}

// The newest final-named file is whole; which one it is.
Lsn newest_whole(MemoryFiles& files) {
  DataFiles found;
  EXPECT_EQ(list_data_files(files, kDataDirectory, found), 0);
  EXPECT_THAT(found.snapshots, testing::Not(IsEmpty()));
  if (found.snapshots.empty()) return 0;
  for (const Lsn lsn : found.snapshots) EXPECT_EQ(refusal(files, snapshot_path(lsn)), "");
  return found.snapshots.back();
}

TEST(SnapshotFaults, TheOrderOfCallsIsTheSafeOne) {
  const auto files = disk_with_an_old_snapshot();
  ASSERT_EQ(write_new(*files, 0), "");
  EXPECT_THAT(files->call_names(),
              ElementsAre("create", "append", "sync", "rename", "sync_directory", "remove"));
  EXPECT_THAT(files->names(), ElementsAre(snapshot_path(kNew)));
}

TEST(SnapshotFaults, WhicheverCallFailsThereIsAWholeSnapshot) {
  const uint64_t calls = calls_of_a_good_run();
  uint64_t runs = 0;
  for (const int error : {-EIO, -ENOSPC}) {
    for (const bool for_ever : {false, true}) {
      for (uint64_t call = 0; call < calls; ++call) {
        SCOPED_TRACE(std::to_string(error) + " at call " + std::to_string(call));
        const auto files = disk_with_an_old_snapshot();
        files->fail_call(call, error, for_ever);
        const std::string text = write_new(*files);
        const Lsn newest = newest_whole(*files);
        if (text.empty()) {
          EXPECT_EQ(newest, kNew);
          // Only the removal of the old one may fail without a word.
          EXPECT_EQ(files->call_names()[call], "remove");
        } else {
          EXPECT_TRUE(files->has(snapshot_path(kOld)));
        }
        DataFiles found;
        ASSERT_EQ(list_data_files(*files, kDataDirectory, found), 0);
        // What could not be removed has a name that the next start removes.
        EXPECT_TRUE(for_ever || found.temporaries.empty());
        EXPECT_EQ(files->names().size(), found.snapshots.size() + found.temporaries.size());
        ++runs;
      }
    }
  }
  std::printf("runs with a failing call: %llu\n", static_cast<unsigned long long>(runs));
}

TEST(SnapshotFaults, AfterAFailureTheNextSnapshotSucceeds) {
  const uint64_t calls = calls_of_a_good_run();
  for (uint64_t call = 0; call < calls; ++call) {
    const auto files = disk_with_an_old_snapshot();
    files->fail_call(call, -ENOSPC);
    static_cast<void>(write_new(*files));
    EXPECT_EQ(write_new(*files), "") << call;
    EXPECT_THAT(files->names(), ElementsAre(snapshot_path(kNew))) << call;
  }
}

TEST(SnapshotFaults, WheneverThePowerGoesTheOldOrTheNewSnapshotIsThereWhole) {
  const uint64_t calls = calls_of_a_good_run();
  uint64_t cuts = 0;
  uint64_t old_ones = 0;
  for (uint64_t call = 0; call <= calls; ++call) {
    const auto files = disk_with_an_old_snapshot();
    files->stop_at_call(call);
    const std::string text = write_new(*files);
    for (const bool keep_names : {false, true}) {
      for (const bool keep_bytes : {false, true}) {
        SCOPED_TRACE("call " + std::to_string(call));
        const auto left = files->after_power_cut({keep_names, keep_bytes});
        const Lsn newest = newest_whole(*left);
        EXPECT_TRUE(newest == kOld || newest == kNew);
        // What was reported as done stays done.
        EXPECT_TRUE(!text.empty() || newest == kNew);
        ++cuts;
        if (newest == kOld) ++old_ones;
      }
    }
  }
  std::printf("power cuts: %llu, the old snapshot was left by %llu\n",
              static_cast<unsigned long long>(cuts), static_cast<unsigned long long>(old_ones));
}

TEST(SnapshotFaults, ASnapshotOfTheSameLsnIsReplacedWithoutAGap) {
  const auto prepared = [] {
    MemoryFiles files;
    EXPECT_EQ(write_new(files, 1), "");
    return files.after_power_cut({});
  };
  const auto good = prepared();
  ASSERT_EQ(write_new(*good, 2), "");
  for (uint64_t call = 0; call <= good->calls(); ++call) {
    const auto files = prepared();
    files->fail_call(call, -EIO, true);
    static_cast<void>(write_new(*files, 2));
    EXPECT_EQ(newest_whole(*files), kNew);
    for (const bool keep_names : {false, true}) {
      EXPECT_EQ(newest_whole(*files->after_power_cut({keep_names, false})), kNew);
    }
  }
}

TEST(SnapshotFaults, ALongFileIsSyncedOnItsWayAndEachFailureEndsIt) {
  constexpr size_t kFrames = 1100;  // about 69 MB
  const auto good = disk_with_an_old_snapshot();
  ASSERT_EQ(write_new(*good, kFrames), "");
  std::vector<uint64_t> syncs;
  for (uint64_t call = 0; call < good->calls(); ++call) {
    if (good->call_names()[call] == "sync") syncs.push_back(call);
  }
  ASSERT_THAT(syncs, SizeIs(3));
  for (const uint64_t call : syncs) {
    const auto files = disk_with_an_old_snapshot();
    files->fail_call(call, -EIO);
    EXPECT_NE(write_new(*files, kFrames), "");
    EXPECT_THAT(files->names(), ElementsAre(snapshot_path(kOld)));
    // Never a second try on the same file, and no byte after it.
    EXPECT_EQ(files->calls(), call + 2);
    EXPECT_EQ(files->call_names().back(), "remove");
  }
}

}  // namespace
}  // namespace iris::persistence
