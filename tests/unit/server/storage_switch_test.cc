// Switching `appendonly` on and off while the power may go at any call. The promise of the log
// holds from the end of the snapshot that switching on begins, until it is switched off again;
// whatever happens, a start finds a state that the server was in, not before the last one promised.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <iostream>
#include <mutex>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/unit/server/storage_support.h"

namespace iris::server {
namespace {

using persistence::Lsn;
using persistence::SimulatedDisk;

constexpr uint64_t kSeeds = kSanitized ? 1 : 3;
constexpr int kSwitches = 12;
constexpr int kOperations = 15;  // between two switches

void set_appendonly(TestServer& server, bool on) {
  server.engine.world.lock_exclusive();
  server.engine.config.appendonly = on;
  server.storage.config_changed(server.engine.config);
  server.engine.world.unlock_exclusive();
}

class StorageSwitch : public testing::Test {
 protected:
  // One change, which is one record if it is one at all.
  void step(TestServer& server, TestClient& client, std::mt19937_64& random) {
    const std::string key = "key" + std::to_string(random() % 4);
    const std::string item = std::to_string(random() % 50);
    switch (random() % 8) {
      case 0:
        client.run({"DEL", key});
        break;
      case 1:
        client.run({"COPY", key, "key" + std::to_string(random() % 4), "REPLACE"});
        break;
      case 2:
        client.run({"CF.RESERVE", key, "100"});
        break;
      default:
        client.run({"CF.INCR", "counts", item});
        break;
    }
    const std::lock_guard guard(mutex_);
    states_[server.digest()] = ++operations_;
  }

  // What was promised up to now is kept from here on.
  void promise() { promised_ = operations_.load(); }

  void cut(const SimulatedDisk& disk, uint64_t seed) {
    const uint64_t promised = promised_;
    const auto left = disk.after_power_cut(seed);
    const RecoveredState state = recovered_state(*left);
    ASSERT_EQ(state.error, "") << "seed " << seed;
    cuts_++;
    // The operation may not have told of itself yet: then it is the last one.
    const std::lock_guard guard(found_mutex_);
    found_.push_back({promised, state.digest, seed});
  }

  void check_cuts() {
    for (const auto& [promised, digest, seed] : found_) {
      const auto known = states_.find(digest);
      ASSERT_NE(known, states_.end()) << "a state that never was, seed " << seed;
      ASSERT_GE(known->second, promised) << "seed " << seed;
    }
  }

  struct Found {
    uint64_t promised;
    std::string digest;
    uint64_t seed;
  };

  std::mutex mutex_;
  // The last operation that ended in this state.
  std::unordered_map<std::string, uint64_t> states_;
  std::atomic<uint64_t> operations_{0};
  std::atomic<uint64_t> promised_{0};
  std::atomic<uint64_t> cuts_{0};
  std::mutex found_mutex_;
  std::vector<Found> found_;
};

TEST_F(StorageSwitch, KeepsWhatThePromiseCovers) {
  for (uint64_t seed = 1; seed <= kSeeds; seed++) {
    std::mt19937_64 random(seed);
    states_.clear();
    found_.clear();
    operations_ = promised_ = 0;
    SimulatedDisk disk;
    Config config = snapshots_only_config();
    config.appendfsync = AppendFsync::kAlways;
    TestServer server(disk, config);
    ASSERT_EQ(server.start(), "");
    TestClient client(server, 0);
    states_[server.digest()] = 0;
    std::atomic<uint64_t> cut_seed{seed * 100'000};
    disk.on_call([&] {
      for (int i = 0; i < 3 && !HasFatalFailure(); i++) cut(disk, cut_seed++);
    });
    client.run({"CF.RESERVE", "counts", "1000"});
    states_[server.digest()] = ++operations_;
    for (int i = 0; i < kSwitches; i++) {
      const bool on = i % 2 == 0;
      const uint64_t snapshots = server.storage.status().snapshots;
      set_appendonly(server, on);
      // What comes between the switch and its effect is promised nothing.
      for (int j = 0; j < kOperations; j++) step(server, client, random);
      ASSERT_TRUE(server.control.wait_until([&] {
        const StorageStatus status = server.storage.status();
        return status.log_on == on && (!on || status.snapshots > snapshots);
      }));
      for (int j = 0; on && j < kOperations; j++) {
        step(server, client, random);
        ASSERT_TRUE(server.wait_until_durable());
        promise();
      }
      if (!on && i % 4 == 1) {
        ASSERT_EQ(server.snapshot(), "");
        promise();
      }
    }
    EXPECT_TRUE(server.stop());
    disk.on_call(nullptr);
    ASSERT_NO_FATAL_FAILURE(check_cuts());
  }
  std::cout << "seeds 1 to " << kSeeds << ", switches " << kSeeds * kSwitches << ", power cuts "
            << cuts_ << ", promises broken 0\n";
}

// The configuration says that there is a log: so there must be one, and the snapshot that it rests
// on, as soon as the disk allows it. Until then what is in the log would be dropped at a start.
TEST_F(StorageSwitch, ALogThatCannotBeSwitchedOnIsTriedAgain) {
  uint64_t runs = 0;
  for (uint64_t call = 1;; call++) {
    SimulatedDisk disk;
    TestServer server(disk, snapshots_only_config());
    ASSERT_EQ(server.start(), "");
    TestClient client(server, 0);
    client.run({"CF.INCR", "counts", "item"});
    const uint64_t calls = disk.calls();
    disk.fail({.call = calls + call, .error = -ENOSPC});
    set_appendonly(server, true);
    ASSERT_TRUE(server.control.wait_until([&] {
      server.clock.advance_ms(1001);
      const StorageStatus status = server.storage.status();
      return status.log_on && status.snapshots > 0 && status.log_failure.empty();
    })) << "call "
        << call;
    const bool reached = disk.calls() >= calls + call;
    disk.fail({});
    if (!reached) break;
    runs++;
    client.run({"CF.INCR", "counts", "item"});
    ASSERT_TRUE(server.wait_until_durable()) << "call " << call;
    ASSERT_EQ(recovered_state(*disk.after_power_cut(1)).digest, server.digest()) << "call " << call;
  }
  std::cout << "calls that failed " << runs << "\n";
}

// Without the log: a snapshot that fails at any call leaves the one before, or has come through.
TEST_F(StorageSwitch, ASnapshotThatFailsLeavesTheOneBefore) {
  uint64_t failed = 0;
  uint64_t runs = 0;
  for (const bool for_ever : {false, true}) {
    for (uint64_t call = 1;; call++) {
      SimulatedDisk disk;
      TestServer server(disk, snapshots_only_config());
      ASSERT_EQ(server.start(), "");
      TestClient client(server, 0);
      client.run({"CF.INCR", "counts", "item"});
      ASSERT_EQ(server.snapshot(), "");
      const std::string old_state = server.digest();
      client.run({"CF.INCR", "counts", "item", "5"});
      const std::string new_state = server.digest();
      const uint64_t calls = disk.calls();
      disk.fail({.call = calls + call, .for_ever = for_ever, .error = -ENOSPC, .partial = true});
      const std::string error = server.snapshot();
      const bool reached = disk.calls() >= calls + call;
      disk.fail({});
      runs++;
      failed += error.empty() ? 0 : 1;
      for (uint64_t seed = 1; seed <= 5; seed++) {
        const auto left = seed == 1 ? disk.copy() : disk.after_power_cut(seed);
        const RecoveredState state = recovered_state(*left);
        ASSERT_EQ(state.error, "") << "call " << call;
        // One that failed at its very end may be there all the same.
        ASSERT_TRUE(state.digest == new_state || (!error.empty() && state.digest == old_state))
            << "call " << call << ": " << error;
        for (const std::string& name : left->names()) {
          ASSERT_EQ(name.find(".tmp"), std::string::npos) << name;
        }
      }
      ASSERT_EQ(server.snapshot(), "") << "call " << call;
      ASSERT_EQ(recovered_state(*disk.after_power_cut(call)).digest, new_state);
      ASSERT_TRUE(server.stop());
      if (!reached) break;
    }
  }
  std::cout << "runs " << runs << ", snapshots that failed " << failed << "\n";
}

}  // namespace
}  // namespace iris::server
