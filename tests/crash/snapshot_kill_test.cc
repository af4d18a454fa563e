// kill -9 while snapshots run one after the other under four writers. With the log nothing that was
// answered is lost. Without it the server holds what it held at the end of a snapshot, to the last
// count: of each writer's commands a first part, with all that were answered before the last
// finished snapshot was asked for.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/crash/writer.h"
#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

constexpr int kKills = 60;
constexpr int kWriters = 4;
constexpr int kLongestRunMs = 150;

class SnapshotKill : public ::testing::Test {
 public:
  void start(std::vector<std::string> directives) {
    std::cout << "seed " << seed_ << "\n";
    server_ = std::make_unique<ServerProcess>(
        ServerOptions{.directives = std::move(directives), .threads = 2});
    ASSERT_TRUE(server_->start());
    RespClient client = server_->connect();
    Writer::make_shared_filter(client);
    for (int i = 0; i < kWriters; ++i) {
      writers_.push_back(std::make_unique<Writer>(i, random_()));
      writers_.back()->make_own_filter(client);
    }
  }

  // Starts the writers; they end when the server does.
  void begin_writing() {
    errors_.assign(kWriters, "");
    for (int i = 0; i < kWriters; ++i) {
      threads_.emplace_back([this, i, client = server_->connect()]() mutable {
        errors_[i] = writers_[i]->write(std::move(client), [] { return false; });
      });
    }
  }

  void kill_and_restart() {
    server_->kill(SIGKILL);
    EXPECT_EQ(server_->wait_for_exit(), 128 + SIGKILL);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    for (const std::string& error : errors_) ASSERT_EQ(error, "");
    ASSERT_TRUE(server_->start());
  }

  // Asks for snapshots without pause until a random moment; how many were finished. `before` is
  // what each writer had got answers for when the last of them was asked for.
  uint64_t snapshots_for_a_while(std::vector<uint64_t>& before) {
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::microseconds(random_() % (1000 * kLongestRunMs));
    RespClient client = server_->connect();
    uint64_t finished = 0;
    before.assign(kWriters, 0);
    while (std::chrono::steady_clock::now() < deadline) {
      std::vector<uint64_t> answered;
      for (const auto& writer : writers_) answered.push_back(writer->answered_since_check());
      EXPECT_EQ(client.call("SAVE"), ok());
      before = answered;
      ++finished;
    }
    // One more, to be killed in.
    client.send_command({"SAVE"});
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 30'000));
    return finished;
  }

  void print(uint64_t snapshots) {
    uint64_t answered = 0, unanswered = 0;
    for (const auto& writer : writers_) {
      answered += writer->answered();
      unanswered += writer->unanswered();
    }
    std::cout << "kills " << kKills << ", snapshots finished under load " << snapshots
              << ", commands answered " << answered << ", sent but not answered " << unanswered
              << "\n";
  }

 protected:
  const uint64_t seed_ = std::random_device()();
  std::mt19937_64 random_{seed_};
  std::unique_ptr<ServerProcess> server_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::vector<std::string> errors_;
  std::vector<std::thread> threads_;
};

TEST_F(SnapshotKill, WithTheLogLosesNothingThatWasAnswered) {
  ASSERT_NO_FATAL_FAILURE(start({"appendonly yes", "appendfsync always"}));
  for (const auto& writer : writers_) writer->set_snapshots_in_1000(0);
  uint64_t snapshots = 0;
  std::vector<uint64_t> before;
  for (int kill = 0; kill < kKills; ++kill) {
    begin_writing();
    snapshots += snapshots_for_a_while(before);
    ASSERT_NO_FATAL_FAILURE(kill_and_restart()) << "kill " << kill;
    RespClient client = server_->connect();
    for (const auto& writer : writers_) ASSERT_EQ(writer->check(client), "") << "kill " << kill;
  }
  print(snapshots);
}

TEST_F(SnapshotKill, WithoutTheLogHoldsWhatTheLastSnapshotDid) {
  ASSERT_NO_FATAL_FAILURE(start({"appendonly no"}));
  {
    // What the writers know to be there before they start.
    RespClient client = server_->connect();
    ASSERT_EQ(client.call("SAVE"), ok());
  }
  for (const auto& writer : writers_) writer->set_snapshots_in_1000(0);
  uint64_t snapshots = 0;
  int without_snapshot = 0;
  std::vector<uint64_t> before;
  for (int kill = 0; kill < kKills; ++kill) {
    begin_writing();
    if (kill % 4 == 0) {
      // No snapshot: everything is lost, and nothing but that.
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % (1000 * kLongestRunMs)));
      ASSERT_NO_FATAL_FAILURE(kill_and_restart()) << "kill " << kill;
      RespClient client = server_->connect();
      for (const auto& writer : writers_) {
        ASSERT_EQ(writer->check_unchanged(client), "") << "kill " << kill;
      }
      ++without_snapshot;
      continue;
    }
    snapshots += snapshots_for_a_while(before);
    ASSERT_NO_FATAL_FAILURE(kill_and_restart()) << "kill " << kill;
    RespClient client = server_->connect();
    for (int i = 0; i < kWriters; ++i) {
      ASSERT_EQ(writers_[i]->check_snapshot(client, before[i]), "") << "kill " << kill;
    }
  }
  std::cout << "kills without a snapshot since the start " << without_snapshot << ", ";
  print(snapshots);
}

// Writers end and get all their answers; what is there then is what a snapshot that follows has.
TEST_F(SnapshotKill, WithoutTheLogASnapshotInAQuietMomentHoldsAll) {
  constexpr int kRounds = 10;
  ASSERT_NO_FATAL_FAILURE(start({"appendonly no"}));
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& writer : writers_) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
      ASSERT_EQ(writer->write(server_->connect(),
                              [end] { return std::chrono::steady_clock::now() > end; }),
                "");
    }
    RespClient client = server_->connect();
    // One of the writers' may still run.
    ASSERT_TRUE(wait_until([&] { return client.call("SAVE") == ok(); }));
    const std::string live = client.call("DEBUG", "DIGEST").text;
    const int64_t saved_at = client.call("LASTSAVE").integer;
    EXPECT_GE(saved_at, 1'700'000'000);
    EXPECT_EQ(info_integer(client, "persistence", "rdb_changes_since_last_save"), 0);
    ASSERT_NO_FATAL_FAILURE(kill_and_restart());
    client = server_->connect();
    ASSERT_EQ(client.call("DEBUG", "DIGEST").text, live);
    for (const auto& writer : writers_) ASSERT_EQ(writer->check(client), "");
  }
  std::cout << "rounds " << kRounds << "\n";
}

}  // namespace
}  // namespace iris::harness
