// The i-th call of the disk fails, once or for ever, for every i of a run with two snapshots: the
// server stays up, tells that it cannot write, loses nothing that was durable, and heals when the
// disk does. What lies about after a failure is gone after the next good start.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/server/storage_trace.h"

namespace iris::server {
namespace {

using persistence::Lsn;
using persistence::SimulatedDisk;

constexpr uint64_t kTraceSeed = 20;
constexpr size_t kOperations = 300;
constexpr size_t kFirstSnapshot = 80;
constexpr size_t kSecondSnapshot = 190;
constexpr size_t kOperationsAfter = 10;
// They mostly wait: a failed write is tried again after a second.
constexpr size_t kThreads = kSanitized ? 8 : 24;
constexpr uint64_t kEvery = kSanitized ? 9 : 1;

struct Counts {
  std::atomic<uint64_t> runs{0};
  std::atomic<uint64_t> refused_starts{0};
  std::atomic<uint64_t> failing{0};
  std::atomic<uint64_t> needed_snapshot{0};
  std::atomic<uint64_t> failed_snapshots{0};
  std::atomic<uint64_t> refused_writes{0};
};

std::string name_of(const SimulatedDisk::Fault& fault) {
  return "call " + std::to_string(fault.call) + (fault.for_ever ? " and all after it" : "") +
         (fault.error == -ENOSPC ? ", ENOSPC" : ", EIO") + (fault.partial ? ", in part" : "");
}

// One run with one fault.
class Run {
 public:
  Run(const SimulatedDisk::Fault& fault, Counts& counts) : fault_(fault), counts_(counts) {}

  void run() {
    SCOPED_TRACE(name_of(fault_));
    counts_.runs++;
    disk_.fail(fault_);
    {
      TestServer server(disk_, logging_config(AppendFsync::kAlways));
      if (server.start().empty()) {
        work(server);
        heal(server);
        EXPECT_TRUE(server.stop());
        return;
      }
      EXPECT_FALSE(server.stop());
    }
    counts_.refused_starts++;
    disk_.fail({});
    TestServer server(disk_, logging_config(AppendFsync::kAlways));
    ASSERT_EQ(server.start(), "");
    Trace trace(server, kTraceSeed);
    for (size_t i = 0; i < kOperations; i++) trace.step();
    ASSERT_TRUE(server.wait_until_durable());
    expect_good_start(server);
    EXPECT_TRUE(server.stop());
  }

 private:
  void work(TestServer& server) {
    Trace trace(server, kTraceSeed);
    TestClient client(server, 1);
    bool failed = false;
    bool needed_snapshot = false;
    for (size_t i = 0; i < kOperations; i++) {
      if (i == kFirstSnapshot || i == kSecondSnapshot) {
        server.storage.request_snapshot(SnapshotReason::kSave, [this](const std::string& error) {
          counts_.failed_snapshots += error.empty() ? 0 : 1;
        });
      }
      trace.step();
      digests_[server.log().end()] = server.digest();
      if (server.wait_until_durable()) continue;
      failed = true;
      needed_snapshot = needed_snapshot || server.log().needs_snapshot();
      const std::string reply = client.run({"BF.ADD", "refused", "item"});
      if (fault_.for_ever) {
        EXPECT_TRUE(reply.starts_with("-MISCONF")) << reply;
        EXPECT_FALSE(server.storage.status().log_failure.empty());
      }
      counts_.refused_writes += reply.starts_with("-MISCONF") ? 1 : 0;
      digests_[server.log().end()] = server.digest();
      // Reads are answered.
      EXPECT_EQ(client.run({"EXISTS", "never"}), ":0\r\n");
    }
    counts_.failing += failed ? 1 : 0;
    counts_.needed_snapshot += needed_snapshot ? 1 : 0;
    const Lsn durable = server.log().durable();
    expect_kept(*disk_.copy(), durable);
    for (uint64_t seed = 1; seed <= 3; seed++) expect_kept(*disk_.after_power_cut(seed), durable);
  }

  void expect_kept(SimulatedDisk& left, Lsn durable) {
    left.fail({});
    const RecoveredState state = recovered_state(left);
    EXPECT_EQ(state.error, "");
    EXPECT_GE(state.last_lsn, durable);
    const auto known = digests_.find(state.last_lsn);
    if (known != digests_.end()) {
      EXPECT_EQ(state.digest, known->second) << "at " << state.last_lsn;
    }
  }

  void heal(TestServer& server) {
    disk_.fail({});
    // A snapshot that failed is tried again after a second of the server's clock.
    ASSERT_TRUE(server.control.wait_until([&] {
      server.clock.advance_ms(1001);
      return !server.log().failing();
    })) << server.log().failure();
    Trace trace(server, kTraceSeed + 1);
    for (size_t i = 0; i < kOperationsAfter; i++) {
      EXPECT_FALSE(trace.step().starts_with("-MISCONF"));
      EXPECT_TRUE(server.wait_until_durable());
    }
    expect_good_start(server);
    EXPECT_EQ(server.snapshot(), "");
    expect_good_start(server);
  }

  // A server that starts after the power was cut now holds the same and leaves nothing about.
  void expect_good_start(TestServer& server) {
    const std::string live = server.digest();
    const auto left = disk_.after_power_cut(server.log().end());
    TestServer next(*left, logging_config(AppendFsync::kAlways));
    ASSERT_EQ(next.start(), "");
    EXPECT_EQ(next.digest(), live);
    EXPECT_TRUE(next.stop());
    for (const std::string& name : left->names()) {
      EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
    }
  }

  const SimulatedDisk::Fault fault_;
  Counts& counts_;
  SimulatedDisk disk_;
  std::map<Lsn, std::string> digests_;
};

// How many calls a run without a fault makes.
uint64_t calls_of_a_run() {
  SimulatedDisk disk;
  TestServer server(disk, logging_config(AppendFsync::kAlways));
  EXPECT_EQ(server.start(), "");
  Trace trace(server, kTraceSeed);
  for (size_t i = 0; i < kOperations; i++) {
    if (i == kFirstSnapshot || i == kSecondSnapshot) {
      EXPECT_TRUE(server.wait_for_snapshots(i == kFirstSnapshot ? 0 : 1));
      server.storage.request_snapshot(SnapshotReason::kSave);
    }
    trace.step();
    EXPECT_TRUE(server.wait_until_durable());
  }
  EXPECT_TRUE(server.wait_for_snapshots(2));
  return disk.calls();
}

void fail_every_call(SimulatedDisk::Fault fault) {
  const uint64_t calls = calls_of_a_run();
  Counts counts;
  std::atomic<uint64_t> next{1};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; i++) {
    threads.emplace_back([&] {
      for (;;) {
        SimulatedDisk::Fault this_one = fault;
        this_one.call = next.fetch_add(kEvery);
        if (this_one.call > calls || testing::Test::HasFailure()) return;
        Run(this_one, counts).run();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::cout << "trace seed " << kTraceSeed << ": calls of a run " << calls << ", runs "
            << counts.runs << ", of which: the start was refused " << counts.refused_starts
            << ", the log failed " << counts.failing << ", only a snapshot could heal it "
            << counts.needed_snapshot << ", a snapshot failed " << counts.failed_snapshots
            << "; writes refused " << counts.refused_writes << ", durable ones lost 0\n";
  EXPECT_GT(counts.failing, 0U);
}

TEST(StorageFaults, AnyCallMayFailOnce) {
  fail_every_call({.error = -EIO});
}

TEST(StorageFaults, AnyCallMayFailForEver) {
  fail_every_call({.for_ever = true, .error = -EIO});
}

TEST(StorageFaults, TheDiskMayFillUpForAMoment) {
  fail_every_call({.error = -ENOSPC, .partial = true});
}

TEST(StorageFaults, TheDiskMayFillUp) {
  fail_every_call({.for_ever = true, .error = -ENOSPC, .partial = true});
}

}  // namespace
}  // namespace iris::server
