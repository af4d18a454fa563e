// The power is cut at every sync and at many other calls of a long run, and each time another part
// of what was not synced is lost. A server that starts then must hold the state as it was after
// some record, at or beyond the last one that was durable.
//
// The states are known from a run of the same commands without snapshots, whose log is replayed
// record by record; they are held against the live server at the end of each operation.

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "persistence/log_recovery.h"
#include "server/replay.h"
#include "tests/unit/server/storage_trace.h"

namespace iris::server {
namespace {

using persistence::Lsn;
using persistence::SimulatedDisk;

constexpr uint64_t kTraces[] = {20, 21, 22};
constexpr size_t kOperations = 300;
constexpr size_t kFirstSnapshot = 80;
constexpr size_t kSecondSnapshot = 190;
// About, of all tests and traces together.
constexpr uint64_t kCuts = kSanitized ? 600 : 12'000;

// By LSN; what was there before the first record is the first one.
using States = std::vector<std::string>;

States states_of(SimulatedDisk& disk) {
  SimulatedDisk unused;
  TestServer scratch(unused, snapshots_only_config());
  Replay replay(scratch.engine.keyspace);
  States states = {digest_of(scratch.engine)};
  persistence::LogReplay log;
  log.apply = [&](Lsn lsn, std::string_view record) {
    EXPECT_EQ(lsn, states.size());
    std::string error = replay.record(lsn, record);
    states.push_back(digest_of(scratch.engine));
    return error;
  };
  const persistence::LogRecovery recovered = persistence::recover_log(disk, kTestDirectory, 0, log);
  EXPECT_EQ(recovered.damage, "");
  EXPECT_EQ(recovered.warning, "");
  return states;
}

struct Reference {
  States states;
  std::vector<Lsn> ends;  // of the operations
  std::vector<std::string> digests;
};

Reference make_reference(uint64_t trace_seed) {
  Reference reference;
  SimulatedDisk disk;
  {
    TestServer server(disk, logging_config(AppendFsync::kAlways));
    EXPECT_EQ(server.start(), "");
    Trace trace(server, trace_seed);
    for (size_t i = 0; i < kOperations; i++) {
      const Lsn before = server.log().end();
      trace.step();
      reference.ends.push_back(server.log().end());
      reference.digests.push_back(server.digest());
      // Nothing changes that is not in the log.
      if (i > 0 && server.log().end() == before) {
        EXPECT_EQ(reference.digests[i], reference.digests[i - 1]) << "operation " << i;
      }
    }
    EXPECT_TRUE(server.stop());
    std::cout << "trace seed " << trace_seed << ", " << kOperations << " operations:";
    for (const auto& [name, count] : trace.done()) std::cout << " " << name << " " << count;
    std::cout << "\n";
  }
  reference.states = states_of(disk);
  return reference;
}

class StoragePowerCut : public testing::TestWithParam<uint64_t> {
 protected:
  static const Reference& reference() {
    static std::map<uint64_t, Reference> made;
    const auto [found, is_new] = made.try_emplace(GetParam());
    if (is_new) found->second = make_reference(GetParam());
    return found->second;
  }

  // What is left when the power goes now.
  void cut(const SimulatedDisk& disk, Lsn durable, uint64_t seed) {
    cuts_++;
    const auto left = disk.after_power_cut(seed);
    const RecoveredState state = recovered_state(*left);
    ASSERT_EQ(state.error, "") << "seed " << seed;
    ASSERT_GE(state.last_lsn, durable) << "seed " << seed;
    ASSERT_LT(state.last_lsn, reference_->states.size()) << "seed " << seed;
    ASSERT_EQ(state.digest, reference_->states[state.last_lsn])
        << "seed " << seed << ", state at " << state.last_lsn << ", durable " << durable;
    if (state.last_lsn > furthest_) furthest_ = state.last_lsn;
    beyond_ += state.last_lsn > durable ? 1 : 0;
    for (const std::string& name : left->names()) {
      ASSERT_EQ(name.find(".tmp"), std::string::npos) << name;
    }
    if (seed % 10 != 0) return;
    // What a recovery has repaired stays as it is.
    const RecoveredState again = recovered_state(*left);
    ASSERT_EQ(again.error, "") << "seed " << seed;
    ASSERT_EQ(again.last_lsn, state.last_lsn) << "seed " << seed;
    ASSERT_EQ(again.digest, state.digest) << "seed " << seed;
  }

  void run(AppendFsync fsync, uint64_t cuts_a_sync, uint64_t cuts_a_call) {
    reference_ = &reference();
    SimulatedDisk disk;
    TestServer server(disk, logging_config(fsync));
    ASSERT_EQ(server.start(), "");
    // With `no` the log calls durable what is written.
    const auto durable = [&] { return fsync == AppendFsync::kNo ? 0 : server.log().durable(); };
    // The log's thread and the snapshot's may both be here; no lock, since one of them may have the
    // disk's.
    std::atomic<uint64_t> seed = 1;
    const auto cuts = [&](uint64_t count) {
      for (uint64_t i = 0; i < count && !HasFatalFailure(); i++) cut(disk, durable(), seed++);
    };
    disk.on_sync([&] {
      syncs_++;
      cuts(cuts_a_sync);
    });
    disk.on_call([&] { cuts(cuts_a_call); });
    Trace trace(server, GetParam());
    for (size_t i = 0; i < kOperations && !HasFatalFailure(); i++) {
      if (i == kFirstSnapshot || i == kSecondSnapshot) {
        ASSERT_TRUE(server.wait_for_snapshots(i == kFirstSnapshot ? 0 : 1));
        server.storage.request_snapshot(SnapshotReason::kSave);
      }
      trace.step();
      ASSERT_EQ(server.log().end(), reference_->ends[i]) << "operation " << i;
      ASSERT_EQ(server.digest(), reference_->digests[i]) << "operation " << i;
      if (fsync == AppendFsync::kAlways) {
        ASSERT_TRUE(server.wait_until_durable());
      }
    }
    EXPECT_TRUE(server.wait_for_snapshots(2));
    EXPECT_TRUE(server.stop());
    disk.on_sync(nullptr);
    disk.on_call(nullptr);
    if (HasFatalFailure()) return;
    cut(disk, server.log().durable(), seed);
    EXPECT_EQ(furthest_, reference_->ends.back());
    std::cout << "trace seed " << GetParam() << ": records " << reference_->ends.back()
              << ", syncs " << syncs_ << ", file calls " << disk.calls() << ", power cuts " << cuts_
              << " with seeds 1 to " << seed << ", of which kept more than was durable " << beyond_
              << ", lost or wrong 0\n";
  }

 private:
  const Reference* reference_ = nullptr;
  std::atomic<uint64_t> cuts_ = 0;
  std::atomic<uint64_t> syncs_ = 0;
  std::atomic<uint64_t> beyond_ = 0;
  std::atomic<Lsn> furthest_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Traces, StoragePowerCut, testing::ValuesIn(kTraces),
                         [](const auto& seed) { return std::to_string(seed.param); });

TEST_P(StoragePowerCut, TheLogReplaysToTheLiveStateOfEachOperation) {
  for (size_t i = 0; i < kOperations; i++) {
    ASSERT_LT(reference().ends[i], reference().states.size());
    ASSERT_EQ(reference().states[reference().ends[i]], reference().digests[i]) << "operation " << i;
  }
}

TEST_P(StoragePowerCut, WithAlwaysEverythingDurableSurvives) {
  run(AppendFsync::kAlways, kCuts / 1200, 1);
}

TEST_P(StoragePowerCut, WithEverySecondEverythingDurableSurvives) {
  run(AppendFsync::kEverySecond, kCuts / 100, kCuts / 1200);
}

TEST_P(StoragePowerCut, WithNoSyncsTheStateIsThatOfSomeRecord) {
  run(AppendFsync::kNo, kCuts / 200, kCuts / 1200);
}

// What is one record is there as a whole or not at all, whatever is lost.
TEST(StorageRecords, AStepIsOneRecord) {
  SimulatedDisk disk;
  TestServer server(disk, logging_config(AppendFsync::kAlways));
  ASSERT_EQ(server.start(), "");
  TestClient client(server, 0);
  const auto records_of = [&](const std::vector<std::vector<std::string>>& commands) {
    const Lsn before = server.log().end();
    std::string reply;
    for (const auto& words : commands) reply = client.run(words);
    EXPECT_FALSE(reply.starts_with('-')) << commands.back()[0] << " " << reply;
    return server.log().end() - before;
  };
  EXPECT_EQ(records_of({{"CF.RESERVE", "a", "1000"}}), 1U);
  EXPECT_EQ(records_of({{"CF.RESERVE", "b", "1000"}}), 1U);
  EXPECT_EQ(records_of({{"MULTI"},
                        {"CF.INCR", "a", "1"},
                        {"CF.INCR", "a", "2"},
                        {"CF.INCR", "new", "3"},
                        {"RENAME", "new", "newer"},
                        {"PEXPIRE", "newer", "1000"},
                        {"EXEC"}}),
            1U);
  EXPECT_EQ(records_of({{"MULTI"}, {"CF.COUNT", "a", "1"}, {"EXEC"}}), 0U);
  EXPECT_EQ(records_of({{"CF.INCRBY", "a", "1", "5", "2", "6", "3", "7"}}), 1U);
  EXPECT_EQ(records_of({{"COPY", "a", "c"}}), 1U);
  EXPECT_EQ(records_of({{"CF.MERGE", "b", "a", "c"}}), 1U);
  EXPECT_EQ(records_of({{"RENAME", "a", "b"}}), 1U);
  EXPECT_EQ(records_of({{"DEL", "b", "c"}}), 1U);
  client.run({"BF.ADD", "d", "1"});
  client.run({"COPY", "d", "d", "DB", "1"});
  EXPECT_EQ(records_of({{"FLUSHALL"}}), 1U);
  EXPECT_TRUE(server.stop());
}

}  // namespace
}  // namespace iris::server
