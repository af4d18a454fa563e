// Snapshots while other threads change everything: what is recovered must be the live state, to the
// last count. A change that is applied twice, or not at all, shows in a spectral filter's digest.
//
//   appendonly on    the threads write on beyond the snapshot's end; the log has the rest
//   appendonly off   they end while the snapshot runs; it is exact at its end
//
// Rounds differ by their seed; how threads meet is up to the machine, so a round is not repeatable,
// and the counts that are printed say how much there was to get wrong.

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "persistence/data_directory.h"
#include "persistence/snapshot_file.h"
#include "tests/unit/server/storage_support.h"

namespace iris::server {
namespace {

using persistence::SimulatedDisk;

constexpr uint64_t kRounds = kSanitized ? 4 : 60;

struct Found {
  uint64_t tail_records = 0;
  uint64_t hollow = 0;
  uint64_t loads = 0;
  uint64_t cells = 0;
};

// What lies in the newest snapshot.
void count_frames(SimulatedDisk& disk, Found& found) {
  persistence::DataFiles files;
  ASSERT_EQ(persistence::list_data_files(disk, kTestDirectory, files), 0);
  ASSERT_FALSE(files.snapshots.empty());
  std::string error;
  const auto reader = persistence::SnapshotReader::open(
      disk,
      persistence::path_in(kTestDirectory, persistence::snapshot_name(files.snapshots.back())),
      error);
  ASSERT_NE(reader, nullptr) << error;
  persistence::SnapshotFrame frame{};
  while (reader->next(frame)) {
    persistence::SnapshotRecords records;
    switch (frame.type) {
      case persistence::FrameType::kRecords:
        ASSERT_TRUE(persistence::parse_records(frame.payload, records));
        found.tail_records += records.count;
        break;
      case persistence::FrameType::kHollow:
        found.hollow++;
        break;
      case persistence::FrameType::kLoading:
        found.loads++;
        break;
      case persistence::FrameType::kCells:
        found.cells++;
        break;
      default:
        break;
    }
  }
  ASSERT_EQ(reader->error(), "");
}

// A thread that changes things until it is told to end.
class Changer {
 public:
  Changer(TestServer& server, size_t member, uint64_t seed)
      : client_(server, member), random_(seed) {}
  virtual ~Changer() = default;

  void run(const std::atomic<bool>& stop) {
    while (!stop.load()) {
      step();
      steps_++;
    }
  }
  uint64_t steps() const { return steps_.load(); }

 protected:
  virtual void step() = 0;
  uint64_t below(uint64_t limit) { return random_() % limit; }
  std::string number(uint64_t limit) { return std::to_string(below(limit)); }
  std::string item() { return "item" + number(20'000); }

  TestClient client_;

 private:
  std::mt19937_64 random_;
  std::atomic<uint64_t> steps_{0};
};

// Items of filters that others copy, rename and delete.
class Writer : public Changer {
 public:
  using Changer::Changer;

 private:
  void step() override {
    const std::string spectral = "s" + number(3);
    switch (below(12)) {
      case 0:
        client_.run({"CF.INCRBY", spectral, item(), "2", item(), "9", item(), "1"});
        break;
      case 1:
        client_.run({"CF.DECR", spectral, item()});
        break;
      case 2:
        client_.run({"CF.DEL", "m" + number(3), item()});
        break;
      case 3:
        client_.run({"CF.INCR", "m" + number(3), item(), "100"});
        break;
      case 4:
        client_.run({"BF.MADD", "b" + number(2), item(), item(), item(), item()});
        break;
      case 5:
        client_.run({"BF.ADD", "n" + number(2), item()});
        break;
      case 6:
        client_.run({"CF.INCR", "growing", item(), number(40)});
        break;
      case 7:
        client_.run({"BF.ADD", "swelling", item()});
        break;
      case 8:
        client_.run({"CF.INCR", "copy" + number(4), item(), "3"});
        break;
      case 9:
        client_.run({"CF.INCR", "raised", item(), number(20)});
        break;
      case 10:
        client_.run({"CF.INCR", "small" + number(300), item()});
        break;
      default:
        client_.run({"CF.INCR", spectral, item(), number(30)});
        break;
    }
  }
};

// Keys.
class Mover : public Changer {
 public:
  Mover(TestServer& server, size_t member, uint64_t seed) : Changer(server, member, seed) {
    gather("BF", "swelling", bloom_pieces_);
    gather("CF", "growing", spectral_pieces_);
  }

 private:
  using Pieces = std::vector<std::pair<int64_t, std::string>>;

  void gather(const std::string& family, const std::string& key, Pieces& pieces) {
    for (int64_t iterator = 0;;) {
      const std::string reply = client_.run({family + ".SCANDUMP", key, std::to_string(iterator)});
      if (!reply.starts_with("*2\r\n:")) break;
      iterator = std::stoll(reply.substr(5));
      if (iterator == 0) break;
      pieces.emplace_back(iterator, last_bulk(reply));
    }
    ASSERT_GE(pieces.size(), 3U) << "it has not grown";
  }

  // The next piece of a load, which may be the first.
  void load(const std::string& family, const Pieces& pieces, size_t& next) {
    const std::string key = "load" + family;
    if (next == pieces.size() || below(20) == 0) {
      client_.run({"DEL", key});
      next = 0;
    }
    const auto& [iterator, data] = pieces[next++];
    client_.run({family + ".LOADCHUNK", key, std::to_string(iterator), data});
  }

  void step() override {
    const std::string copy = "copy" + number(4);
    switch (below(19)) {
      case 0:
      case 1:
        client_.run({"COPY", "s" + number(3), copy, "REPLACE"});
        break;
      case 2:
        client_.run({"DEL", copy});
        break;
      case 3:
        client_.run({"RENAME", copy, "copy" + number(4)});
        break;
      case 4:
        client_.run({"CF.MERGE", "m" + number(3), "m" + number(3), "m" + number(3)});
        break;
      case 5:
        client_.run({"BF.MERGE", "n" + number(2), "n" + number(2)});
        break;
      case 6:
        client_.run({"RENAME", "s0", "away"});
        client_.run({"RENAME", "away", "s0"});
        break;
      case 7:
        client_.run({"MOVE", copy, "1"});
        break;
      case 8:
        client_.run({"SWAPDB", "1", "2"});
        break;
      case 9:
        client_.select(1);
        client_.run({"FLUSHDB"});
        client_.select(0);
        break;
      case 10:
        client_.run({"COPY", "b" + number(2), "bcopy", "REPLACE"});
        break;
      case 11:
        client_.run({"PEXPIRE", copy, "100000"});
        break;
      case 12:
        client_.run({"MULTI"});
        client_.run({"COPY", "growing", "grown", "REPLACE"});
        client_.run({"CF.INCR", "s1", item(), "5"});
        client_.run({"DEL", "bcopy"});
        client_.run({"EXEC"});
        break;
      case 13:
        client_.run({"DEL", "small" + number(300)});
        break;
      case 14:
        client_.run({"RENAME", "small" + number(300), "small" + number(300)});
        break;
      case 15:
      case 16:
        load("BF", bloom_pieces_, bloom_next_);
        break;
      case 17:
        client_.run(
            {"RESTORE", "restored", "0", last_bulk(client_.run({"DUMP", "grown"})), "REPLACE"});
        break;
      default:
        load("CF", spectral_pieces_, spectral_next_);
        break;
    }
  }

  Pieces bloom_pieces_;
  Pieces spectral_pieces_;
  size_t bloom_next_ = 0;
  size_t spectral_next_ = 0;
};

// Many chunks, few chunks, filters that grow, and keys enough that listing them takes a while.
void fill(TestServer& server) {
  TestClient client(server, 0);
  for (int i = 0; i < 3; i++) {
    const std::string digit = std::to_string(i);
    ASSERT_EQ(client.run({"CF.RESERVE", "s" + digit, "40000"}), "+OK\r\n");
    ASSERT_EQ(client.run({"CF.RESERVE", "m" + digit, "20000"}), "+OK\r\n");
  }
  ASSERT_EQ(client.run({"CF.RESERVE", "raised", "20000", "POLICY", "MI"}), "+OK\r\n");
  ASSERT_EQ(client.run({"CF.RESERVE", "growing", "50"}), "+OK\r\n");
  ASSERT_EQ(client.run({"BF.RESERVE", "swelling", "0.01", "50"}), "+OK\r\n");
  ASSERT_EQ(client.run({"BF.RESERVE", "b0", "0.01", "100000"}), "+OK\r\n");
  ASSERT_EQ(client.run({"BF.RESERVE", "b1", "0.01", "100000", "LAYOUT", "CLASSIC"}), "+OK\r\n");
  // They are merged again and again, which adds up their item counts: growing ones would double.
  for (const char* key : {"n0", "n1"}) {
    ASSERT_EQ(client.run({"BF.RESERVE", key, "0.01", "50000", "NONSCALING"}), "+OK\r\n");
  }
  for (int i = 0; i < 300; i++) client.run({"CF.RESERVE", "small" + std::to_string(i), "100"});
  for (int i = 0; i < 400; i++) {
    client.run({"CF.INCR", "growing", "item" + std::to_string(i)});
    client.run({"BF.ADD", "swelling", "item" + std::to_string(i)});
  }
}

class FuzzySnapshot : public testing::Test {
 protected:
  void round(const Config& config, uint64_t seed, Found& found) {
    SimulatedDisk disk;
    TestServer server(disk, config, alone_ ? 1 : TestServer::kClients);
    ASSERT_EQ(server.start(), "");
    ASSERT_NO_FATAL_FAILURE(fill(server));
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<Changer>> changers;
    changers.push_back(std::make_unique<Writer>(server, 0, random()));
    if (!alone_) {
      changers.push_back(std::make_unique<Writer>(server, 1, random()));
      changers.push_back(std::make_unique<Mover>(server, 2, random()));
    }
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (auto& changer : changers) {
      threads.emplace_back([&stop, target = changer.get()] { target->run(stop); });
    }
    const auto all_have_done = [&](uint64_t steps) {
      for (const auto& changer : changers) {
        if (changer->steps() < steps) return false;
      }
      return true;
    };
    EXPECT_TRUE(server.control.wait_until([&] { return all_have_done(10); }));
    bool exact = true;
    if (config.appendonly) {
      for (int i = 0; i < 2; i++) {
        const std::string error = server.snapshot();
        EXPECT_EQ(error, "");
      }
      const uint64_t after = changers[0]->steps();
      EXPECT_TRUE(server.control.wait_until([&] { return changers[0]->steps() > after + 10; }));
    } else {
      exact = take_snapshot_around(server, disk, random());
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    for (const auto& changer : changers) steps_ += changer->steps();
    if (config.appendonly) {
      ASSERT_TRUE(server.wait_until_durable());
    } else {
      // Nobody changes anything now: was that so before the snapshot's end?
      server.engine.world.lock_exclusive();
      exact = exact && server.engine.journal.recording();
      server.engine.world.unlock_exclusive();
      hold_ = false;
      EXPECT_TRUE(server.wait_for_snapshots(1));
    }
    const std::string live = server.digest();
    ASSERT_NO_FATAL_FAILURE(count_frames(disk, found));
    const auto left = disk.after_power_cut(seed);
    const RecoveredState state = recovered_state(*left);
    ASSERT_EQ(state.error, "") << "seed " << seed;
    if (exact) {
      exact_++;
      ASSERT_EQ(state.digest, live) << "seed " << seed;
    }
    EXPECT_TRUE(server.stop());
  }

  // Lets the changers go on for a random part of the snapshot, and then keeps it from ending until
  // `hold_` is false. False: it has ended before.
  bool take_snapshot_around(TestServer& server, SimulatedDisk& disk, uint64_t seed) {
    hold_ = true;
    server.engine.world.lock_exclusive();
    const uint64_t keys = server.engine.keyspace.database(0).size();
    server.engine.world.unlock_exclusive();
    const uint64_t threshold = seed % keys;
    disk.on_call([this, &server, threshold] {
      while (hold_ && server.storage.snapshot_progress().keys_done > threshold) {
        std::this_thread::yield();
      }
    });
    server.storage.request_snapshot(SnapshotReason::kSave);
    EXPECT_TRUE(server.control.wait_until([&] {
      return server.storage.snapshot_progress().keys_done > threshold ||
             server.storage.status().snapshots == 1;
    }));
    return server.storage.status().snapshots == 0;
  }

  void rounds(const Config& config, uint64_t first_seed) {
    Found found;
    for (uint64_t i = 0; i < kRounds; i++) {
      ASSERT_NO_FATAL_FAILURE(round(config, first_seed + i, found)) << "seed " << first_seed + i;
    }
    std::cout << "rounds " << kRounds << " with seeds from " << first_seed << ", of which compared "
              << exact_ << ", changes " << steps_ << ", in the snapshots: pieces of cells "
              << found.cells << ", records in tails " << found.tail_records
              << ", deleted while they were captured " << found.hollow << ", pieces of loads "
              << found.loads << "\n";
  }

  bool alone_ = false;  // only one thread changes anything
  std::atomic<bool> hold_{false};
  uint64_t exact_ = 0;
  uint64_t steps_ = 0;
};

TEST_F(FuzzySnapshot, WithTheLogRecoversTheLiveState) {
  rounds(logging_config(AppendFsync::kEverySecond), 1000);
  EXPECT_EQ(exact_, kRounds);
}

// A single worker takes stripes only while a snapshot reads what it changes.
TEST_F(FuzzySnapshot, BesideASingleWorkerRecoversTheLiveState) {
  alone_ = true;
  rounds(logging_config(AppendFsync::kEverySecond), 3000);
  EXPECT_EQ(exact_, kRounds);
}

TEST_F(FuzzySnapshot, WithoutTheLogRecoversTheStateAtItsEnd) {
  rounds(snapshots_only_config(), 2000);
  EXPECT_GE(exact_, kRounds / 4);
}

}  // namespace
}  // namespace iris::server
