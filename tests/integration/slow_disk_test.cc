// A disk that hangs: writers are parked when the log's buffer is full, so memory stays bounded, and
// nobody else waits for them. When the disk goes on, so do they, and nothing is lost.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using testing::HasSubstr;

constexpr size_t kItemBytes = 500'000;
constexpr int kItems = 400;  // 200 MB, while the buffer holds 64
constexpr uint64_t kMostBytes = 130 << 20;

class SlowDiskTest : public ::testing::TestWithParam<int> {
 public:
  void start(const std::string& policy, const std::vector<std::string>& more = {}) {
    ServerOptions options;
    options.threads = GetParam();
    options.directives = {"appendonly yes", "appendfsync " + policy,
                          "auto-aof-rewrite-percentage 0"};
    options.directives.insert(options.directives.end(), more.begin(), more.end());
    options.environment = {{"LD_PRELOAD", IRIS_SLOW_DISK_SHIM}, {"IRIS_TEST_HOLD", hold_}};
    server_ = std::make_unique<ServerProcess>(options);
    ASSERT_TRUE(server_->start());
  }
  void TearDown() override { release(); }
  void hold() { std::ofstream(hold_) << "hold"; }
  void release() { std::filesystem::remove(hold_); }
  ServerProcess& server() { return *server_; }

  static std::string item(int number) {
    std::string bytes(kItemBytes, 'x');
    return bytes + std::to_string(number);
  }

 private:
  const std::string hold_ = ::testing::TempDir() + "/iris-hold-" + std::to_string(::getpid());
  std::unique_ptr<ServerProcess> server_;
};
INSTANTIATE_TEST_SUITE_P(Threads, SlowDiskTest, ::testing::Values(1, 4));

TEST_P(SlowDiskTest, WritersAreParkedOthersAreNotAndNothingIsLost) {
  start("everysec");
  RespClient other = server().connect();
  ASSERT_EQ(other.command("BF.RESERVE f 0.0001 10000"), ok());
  ASSERT_EQ(other.command("BF.ADD g seen"), integer(1));
  hold();
  std::vector<Reply> replies;
  std::thread writer([&] {
    RespClient client = server().connect();
    client.set_timeout_ms(60'000);
    std::thread sender([&] {
      for (int i = 0; i < kItems; ++i) client.send_command({"BF.ADD", "f", item(i)});
    });
    replies = client.read_replies(kItems);
    sender.join();
  });
  ASSERT_TRUE(wait_until([&] {
    return other.command("INFO persistence").text.find("iris_log_backlogged:1") !=
               std::string::npos &&
           other.command("CLIENT LIST").text.find("flags=b") != std::string::npos;
  }));
  EXPECT_LT(server().rss_bytes(), kMostBytes);
  EXPECT_EQ(other.command("BF.EXISTS g seen"), integer(1));
  EXPECT_EQ(other.command("PING"), simple("PONG"));

  release();
  writer.join();
  ASSERT_EQ(replies.size(), static_cast<size_t>(kItems));
  for (const Reply& reply : replies) ASSERT_EQ(reply, integer(1));
  EXPECT_EQ(other.command("BF.CARD f"), integer(kItems));
  EXPECT_THAT(other.command("INFO persistence").text, HasSubstr("iris_log_backlogged:0"));
  const std::string digest = other.command("DEBUG DIGEST").text;
  EXPECT_EQ(server().stop(), 0);
  ASSERT_TRUE(server().start());
  EXPECT_EQ(server().connect().command("DEBUG DIGEST").text, digest);
}

TEST_P(SlowDiskTest, WithAlwaysNoReplyLeavesBeforeTheDiskHasTheChange) {
  start("always");
  RespClient writer = server().connect();
  ASSERT_EQ(writer.command("BF.ADD f before"), integer(1));
  hold();
  ASSERT_TRUE(writer.send_command({"BF.ADD", "f", "x"}));
  EXPECT_FALSE(writer.readable_within(300)) << "acknowledged before it was durable";
  // Neither may anybody see it before: the answer would rest on what may be lost.
  RespClient reader = server().connect();
  ASSERT_TRUE(reader.send_command({"BF.EXISTS", "f", "x"}));
  EXPECT_FALSE(reader.readable_within(300)) << "a read rested on a change that was not durable";
  release();
  EXPECT_EQ(writer.read(), integer(1));
  EXPECT_EQ(reader.read(), integer(1));
}

TEST_P(SlowDiskTest, WhileTheDataIsLoadedTheProcessAnswersAndNothingElse) {
  start("always");
  RespClient client = server().connect();
  ASSERT_EQ(client.command("BF.ADD f x"), integer(1));
  ASSERT_EQ(server().stop(), 0);
  hold();
  ASSERT_TRUE(server().start_to_load());
  client = server().connect();
  EXPECT_EQ(client.command("PING"), simple("PONG"));
  const std::string info(client.command("INFO persistence").string());
  EXPECT_THAT(info, HasSubstr("\nloading:1\r\n"));
  EXPECT_THAT(info, HasSubstr("loading_total_bytes:"));
  for (const char* command : {"BF.EXISTS f x", "BF.ADD f y", "DBSIZE", "SAVE", "CF.COUNT c x"}) {
    EXPECT_EQ(client.command(command), error("LOADING Redis is loading the dataset in memory"))
        << command;
  }
  release();
  ASSERT_TRUE(wait_until([&] { return client.command("DBSIZE") == integer(1); }));
  EXPECT_EQ(client.command("BF.MEXISTS f x y"), array({integer(1), integer(0)}));
  EXPECT_THAT(client.command("INFO persistence").text, HasSubstr("\nloading:0\r\n"));
}

// The limits on idle clients and on requests that stall are for clients that do nothing.
TEST_P(SlowDiskTest, WhoWaitsForTheDiskIsNeitherIdleNorStalling) {
  start("always", {"timeout 1", "request-timeout 1"});
  RespClient writer = server().connect();
  RespClient saver = server().connect();
  hold();
  ASSERT_TRUE(writer.send_command({"BF.ADD", "f", "x"}));
  ASSERT_TRUE(saver.send("*1\r\n$4\r\nSAVE\r\n*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n"));
  // Longer than both limits and a round of the worker.
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  release();
  EXPECT_EQ(writer.read(), integer(1));
  EXPECT_EQ(saver.read(), ok());
  EXPECT_EQ(saver.read(), bulk("x"));
}

}  // namespace
}  // namespace iris::harness
