// kill -9 at random moments under four writers with `appendfsync always`: nothing that was answered
// is lost, and of the rest only a first part is there: the digests of the filters are those of
// filters made anew from what each writer knows, a first part of what it sent. (The page cache
// survives a killed process: that every answer was synced before it went out is tested where the
// power can be cut, in tests/unit/server.)

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

constexpr int kKills = 200;
constexpr int kWriters = 4;
// Each of these is three more starts.
constexpr int kKillsADigest = 5;
constexpr int kLongestRunMs = 120;

std::string digest(ServerProcess& server) {
  return server.connect().call("DEBUG", "DIGEST").text;
}

bool kill_and_restart(ServerProcess& server) {
  server.kill(SIGKILL);
  EXPECT_EQ(server.wait_for_exit(), 128 + SIGKILL);
  return server.start();
}

// Waits for a snapshot that began after this was called.
void rewrite_the_log(ServerProcess& server) {
  RespClient client = server.connect();
  ASSERT_EQ(client.call("SAVE"), ok());
}

TEST(Kill, UnderFourWritersLosesNothingThatWasAnswered) {
  const uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  ServerProcess server({.directives = {"appendonly yes", "appendfsync always"}, .threads = 2});
  ASSERT_TRUE(server.start());
  std::vector<std::unique_ptr<Writer>> writers;
  for (int i = 0; i < kWriters; ++i) writers.push_back(std::make_unique<Writer>(i, random()));
  {
    RespClient client = server.connect();
    Writer::make_shared_filter(client);
    for (const auto& writer : writers) writer->make_own_filter(client);
  }
  int digests = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    std::vector<std::string> errors(kWriters);
    std::vector<std::thread> threads;
    for (int i = 0; i < kWriters; ++i) {
      threads.emplace_back([&, i, client = server.connect()]() mutable {
        errors[i] = writers[i]->write(std::move(client), [] { return false; });
      });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % (1000 * kLongestRunMs)));
    server.kill(SIGKILL);
    EXPECT_EQ(server.wait_for_exit(), 128 + SIGKILL);
    for (std::thread& thread : threads) thread.join();
    for (const std::string& error : errors) ASSERT_EQ(error, "") << "kill " << kill;

    ASSERT_TRUE(server.start()) << "kill " << kill;
    RespClient client = server.connect();
    for (const auto& writer : writers) ASSERT_EQ(writer->check(client), "") << "kill " << kill;
    if (kill % kKillsADigest != 0) continue;
    for (const auto& writer : writers) ASSERT_EQ(writer->check_digests(client), "") << kill;
    ASSERT_EQ(Writer::check_shared_digest(client, writers), "") << kill;
    const std::string first = digest(server);
    ASSERT_EQ(first.size(), 40U);
    ASSERT_TRUE(server.restart());
    ASSERT_EQ(digest(server), first) << "after a clean restart, kill " << kill;
    ASSERT_NO_FATAL_FAILURE(rewrite_the_log(server));
    ASSERT_TRUE(kill_and_restart(server));
    ASSERT_EQ(digest(server), first) << "from the snapshot, kill " << kill;
    ++digests;
  }
  uint64_t answered = 0, unanswered = 0, survived = 0;
  for (const auto& writer : writers) {
    answered += writer->answered();
    unanswered += writer->unanswered();
    survived += writer->survived();
  }
  std::cout
      << "kills " << kKills << ", commands answered " << answered
      << ", of which lost 0; sent but not answered " << unanswered << ", with changes that "
      << "were there after all " << survived << "; digests compared " << digests
      << " times: of each filter with its model, of all after a restart and after a rewrite\n";
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace iris::harness
