// maxmemory with noeviction: a write that would pass it is refused before anything is allocated.
#include <chrono>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

constexpr std::string_view kOom = "OOM command not allowed when used memory > 'maxmemory'.";

class MemoryLimitTest : public ServerTest {};
IRIS_WITH_1_AND_4_THREADS(MemoryLimitTest);

TEST_P(MemoryLimitTest, WritesAreRefusedReadsAreNot) {
  start();
  ASSERT_EQ(make_key(client(), "a"), ok());
  EXPECT_EQ(client().command("CONFIG SET maxmemory 1"), ok());
  EXPECT_EQ(is_reference() ? client().command("APPEND a x") : client().command("BF.ADD a x"),
            error(kOom));
  EXPECT_EQ(client().command("EXISTS a"), integer(1));
  EXPECT_EQ(client().command("PING"), simple("PONG"));
  EXPECT_EQ(client().command("EXPIRE a 100"), integer(1))
      << "what frees or costs nothing is allowed";
  EXPECT_EQ(client().command("DEL a"), integer(1));
  EXPECT_EQ(client().command("CONFIG SET maxmemory 0"), ok());
  EXPECT_EQ(make_key(client(), "a"), ok());
}

TEST_P(MemoryLimitTest, ATransactionWithAWriteIsRefused) {
  start();
  EXPECT_EQ(client().command("CONFIG SET maxmemory 1"), ok());
  client().command("MULTI");
  EXPECT_EQ(make_key(client(), "a").is_error() || is_reference(), true);
  EXPECT_EQ(client().command("EXEC").is_error("EXECABORT"), true);
  EXPECT_EQ(client().command("EXISTS a"), integer(0));
}

TEST_P(MemoryLimitTest, AFilterThatDoesNotFitIsRefusedAtOnce) {
  IRIS_ONLY();
  start({"maxmemory 100mb"});
  const uint64_t rss_before = server().rss_bytes();
  const auto begin = std::chrono::steady_clock::now();
  const Reply reply = client().command("BF.RESERVE large 0.01 1000000000 NONSCALING");
  EXPECT_TRUE(reply.is_error()) << ::testing::PrintToString(reply);
  if (!kSanitized) {
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
    EXPECT_LT(server().rss_bytes(), rss_before + (5 << 20));
  }
  EXPECT_EQ(client().command("EXISTS large"), integer(0));
  EXPECT_EQ(client().command("BF.RESERVE small 0.01 1000"), ok());
}

TEST_P(MemoryLimitTest, FillingUpStopsNearTheLimit) {
  IRIS_ONLY();
  start({"maxmemory 64mb"});
  int made = 0;
  Reply reply;
  // 1.2 MB each.
  while (made < 200) {
    reply =
        client().call("BF.RESERVE", "k" + std::to_string(made), "0.01", "1000000", "NONSCALING");
    if (reply.is_error()) break;
    ++made;
  }
  EXPECT_TRUE(reply.is_error()) << "240 MB went into 64 MB";
  EXPECT_GT(made, 20) << ::testing::PrintToString(reply);
  if (!kSanitized) {
    // And what the log's buffer takes at first, which nobody announces.
    EXPECT_LE(info_integer(client(), "memory", "allocator_allocated"), 70 << 20);
  }
  EXPECT_EQ(client().command("DEL k0 k1 k2"), integer(3));
  EXPECT_TRUE(wait_until([&] {
    return client().command("BF.RESERVE again 0.01 1000000 NONSCALING") == ok();
  })) << "memory that was freed can be used again";
}

}  // namespace
}  // namespace iris::harness
