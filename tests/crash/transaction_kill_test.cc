// EXEC is all or nothing, also for kill -9: transactions add one to each of five items, so whatever
// was killed, the five counts are equal.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>
#include <vector>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

constexpr int kKills = 60;
constexpr int kClients = 3;
constexpr int kAhead = 16;

TEST(TransactionKill, ATransactionIsThereOrNot) {
  const uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  ServerProcess server({.directives = {"appendonly yes", "appendfsync always"}, .threads = 2});
  ASSERT_TRUE(server.start());
  ASSERT_EQ(server.connect().call("CF.RESERVE", "counts", "1000", "ERROR", "0.000001"), ok());
  std::string transaction = encode({"MULTI"});
  for (const char* item : {"a", "b", "c", "d", "e"}) {
    transaction += encode({"CF.INCR", "counts", item});
  }
  transaction += encode({"EXEC"});
  constexpr int kReplies = 7;

  std::atomic<int64_t> answered{0};
  std::atomic<int64_t> sent{0};
  int64_t held = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kClients; ++i) {
      threads.emplace_back([&, client = server.connect()]() mutable {
        int ahead = 0;
        for (;;) {
          for (; ahead < kAhead; ++ahead) {
            ++sent;
            if (!client.send(transaction)) return;
          }
          const std::vector<Reply> replies = client.read_replies(kReplies);
          if (replies.size() < kReplies || replies.back().type != Reply::Type::kArray) return;
          EXPECT_EQ(replies.back().size(), 5U);
          ++answered;
          --ahead;
        }
      });
    }
    if (kill % 3 == 0) {
      EXPECT_FALSE(server.connect().call("BGSAVE").is_error());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 80'000));
    server.kill(SIGKILL);
    EXPECT_EQ(server.wait_for_exit(), 128 + SIGKILL);
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(server.start());
    const Reply counts = server.connect().call("CF.MCOUNT", "counts", "a", "b", "c", "d", "e");
    ASSERT_EQ(counts.size(), 5U);
    for (size_t i = 1; i < 5; ++i) ASSERT_EQ(counts[i], counts[0]) << "kill " << kill;
    // What was sent and not answered may have counted: from here on it is known.
    held = counts[0].integer;
    ASSERT_GE(held, answered) << "kill " << kill;
    ASSERT_LE(held, sent) << "kill " << kill;
    answered = held;
    sent = held;
  }
  std::cout << "kills " << kKills << ", transactions " << held << ", half ones 0, lost 0\n";
}

}  // namespace
}  // namespace iris::harness
