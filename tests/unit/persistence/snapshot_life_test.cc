// The log and the snapshots together, on a disk that dies at any call: what recovery finds is a
// prefix of what was done, it holds everything that was durable, and nothing in it twice.
//
// The "state" is the list of all records so far; a snapshot's frame holds that list as it was at
// its begin. A record applied twice, or never, shows at once.

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/unit/persistence/log_test_support.h"
#include "tests/unit/persistence/snapshot_test_support.h"

namespace iris::persistence {
namespace {

constexpr uint64_t kSeeds = 40;

class Life {
 public:
  explicit Life(SimulatedDisk& disk) : disk_(disk), stepped_(disk) {}

  // Two snapshots while records are written. Every step may fail.
  void run() {
    if (!stepped_.log.start(SyncPolicy::kAlways).empty()) return;
    write(5);
    take_snapshot();
    write(4);
    take_snapshot();
    write(3);
    static_cast<void>(stepped_.log.stop());
    note_durable();
  }

  Lsn durable() const { return durable_; }
  uint64_t snapshots() const { return snapshots_; }

 private:
  void write(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      state_ += test_record(stepped_.log.end() + 1);
      stepped_.log.append(test_record(stepped_.log.end() + 1));
      stepped_.log.hurry();
      stepped_.log.step();
      note_durable();
    }
  }

  void take_snapshot() {
    const Lsn begin = stepped_.log.cut();
    std::string error = stepped_.log.wait_for_cut(begin);
    if (!error.empty()) return;
    auto writer = SnapshotWriter::create(disk_, kDataDirectory, begin, kTestSeed, error);
    if (writer == nullptr) return;
    writer->frame(FrameType::kCells, state_);
    write(3);
    const Lsn end = stepped_.log.cut();
    if (!stepped_.log.wait_for_cut(end).empty()) return;
    writer->append_tail(end);
    if (!writer->finish(end).empty()) return;
    ++snapshots_;
    stepped_.log.covered_by_snapshot(end);
    stepped_.log.step();
    note_durable();
  }

  void note_durable() { durable_ = std::max(durable_, stepped_.log.durable()); }

  SimulatedDisk& disk_;
  SteppedLog stepped_;
  std::string state_;
  Lsn durable_ = 0;
  uint64_t snapshots_ = 0;
};

struct Found {
  std::string problem;
  std::string state;
  Lsn last = 0;
};

Found recover_all(SimulatedDisk& disk) {
  Found found;
  DataFiles names;
  if (list_data_files(disk, kDataDirectory, names) != 0) return {"no list", {}, 0};
  if (!names.snapshots.empty()) {
    found.last = names.snapshots.back();
    const ReadSnapshot snapshot = read_snapshot(disk, snapshot_path(found.last));
    if (!snapshot.error.empty()) return {snapshot.error, {}, 0};
    for (const auto& [type, payload] : snapshot.frames) {
      SnapshotRecords tail;
      if (type == FrameType::kRecords && parse_records(payload, tail)) found.state += tail.records;
      if (type == FrameType::kCells) found.state += payload;
    }
  }
  const Recovered log = recover(disk, found.last);
  found.problem = log.outcome.damage;
  for (const auto& [lsn, record] : log.records) found.state += record;
  found.last = std::max(found.last, log.outcome.last_lsn);
  return found;
}

void expect_a_prefix_with(const Found& found, Lsn durable) {
  EXPECT_EQ(found.problem, "");
  EXPECT_GE(found.last, durable);
  std::string expected;
  for (Lsn lsn = 1; lsn <= found.last; ++lsn) expected += test_record(lsn);
  EXPECT_EQ(found.state, expected);
}

uint64_t calls_of_a_good_life() {
  SimulatedDisk disk;
  Life life(disk);
  life.run();
  EXPECT_EQ(life.snapshots(), 2u);
  EXPECT_EQ(life.durable(), 18u);
  expect_a_prefix_with(recover_all(disk), 18);
  return disk.calls();
}

TEST(SnapshotLife, WhereverItEndsNothingDurableIsLostAndNothingCountsTwice) {
  const uint64_t calls = calls_of_a_good_life();
  uint64_t ends = 0;
  for (uint64_t call = 1; call <= calls; ++call) {
    SCOPED_TRACE("the disk is gone from call " + std::to_string(call) + " on");
    SimulatedDisk disk;
    disk.fail({.call = call, .for_ever = true});
    Life life(disk);
    life.run();
    const auto killed = disk.copy();
    killed->fail({});
    expect_a_prefix_with(recover_all(*killed), life.durable());
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto left = disk.after_power_cut(seed);
      left->fail({});
      expect_a_prefix_with(recover_all(*left), life.durable());
      ++ends;
    }
    if (HasFailure()) return;
  }
  std::printf("%llu calls, %llu power cuts\n", static_cast<unsigned long long>(calls),
              static_cast<unsigned long long>(ends));
}

TEST(SnapshotLife, WhicheverCallFailsOnceNothingDurableIsLost) {
  const uint64_t calls = calls_of_a_good_life();
  for (const int error : {-EIO, -ENOSPC}) {
    for (uint64_t call = 1; call <= calls; ++call) {
      SCOPED_TRACE("call " + std::to_string(call) + " fails with " + std::to_string(error));
      SimulatedDisk disk;
      disk.fail({.call = call, .for_ever = false, .error = error, .partial = true});
      Life life(disk);
      life.run();
      for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        const auto left = disk.after_power_cut(seed);
        left->fail({});
        expect_a_prefix_with(recover_all(*left), life.durable());
      }
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace iris::persistence
