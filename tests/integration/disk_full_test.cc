// A disk that takes no more: reads go on, writes are refused with the reason, what was told to be
// done is kept, and all goes on by itself when there is room again. The limit of a process on the
// size of its files stands for the disk: it can be changed while the server runs.
#include <sys/resource.h>

#include <csignal>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using testing::HasSubstr;

class DiskFullTest : public ServerTest {
 public:
  void limit_files(rlim_t bytes) {
    const rlimit limit{.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
    ASSERT_EQ(::prlimit(server().pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  }
  int64_t count(RespClient& from, const std::string& item) {
    return from.call("CF.COUNT", "counts", item).integer;
  }
};
IRIS_WITH_1_AND_4_THREADS(DiskFullTest);

TEST_P(DiskFullTest, WritesAreRefusedReadsGoOnAndNothingAcknowledgedIsLost) {
  IRIS_ONLY();
  start({"appendonly yes", "appendfsync always", "auto-aof-rewrite-percentage 0"});
  ASSERT_EQ(client().call("CF.INCR", "counts", "before"), integer(1));
  limit_files(2000);

  // It may be told "done" only while there is room; then its replies stay out.
  RespClient writer = connect();
  writer.set_timeout_ms(200);
  int64_t acknowledged = 0;
  Reply reply;
  for (int i = 0; i < 1000; ++i) {
    reply = writer.call("CF.INCR", "counts", "item");
    if (reply.type != Reply::Type::kInteger) break;
    acknowledged = reply.integer;
  }
  ASSERT_EQ(reply.type, Reply::Type::kNone) << "all was acknowledged, or an error came";
  ASSERT_GT(acknowledged, 0);

  RespClient other = connect();
  ASSERT_TRUE(wait_until([&] { return other.call("CF.INCR", "counts", "x").is_error("MISCONF"); }));
  EXPECT_THAT(other.call("CF.INCR", "counts", "x").text, HasSubstr("File too large"));
  EXPECT_EQ(count(other, "before"), 1);
  EXPECT_EQ(count(other, "x"), 0);
  EXPECT_EQ(other.call("PING"), simple("PONG"));
  EXPECT_THAT(other.call("INFO", "persistence").text, HasSubstr("aof_last_write_status:err"));
  EXPECT_EQ(other.command("MULTI"), ok());
  EXPECT_TRUE(other.call("CF.INCR", "counts", "x").is_error("MISCONF"));
  EXPECT_TRUE(other.command("EXEC").is_error("EXECABORT"));

  limit_files(RLIM_INFINITY);
  writer.set_timeout_ms(10'000);
  EXPECT_EQ(writer.read(), integer(acknowledged + 1)) << "the reply that waited";
  ASSERT_TRUE(wait_until([&] { return other.call("CF.INCR", "counts", "x") == integer(1); }));
  EXPECT_THAT(other.call("INFO", "persistence").text, HasSubstr("aof_last_write_status:ok"));

  server().expect_bad_exit();
  server().kill(SIGKILL);
  server().wait_for_exit();
  ASSERT_TRUE(server().start());
  RespClient after = connect();
  EXPECT_EQ(count(after, "item"), acknowledged + 1);
  EXPECT_EQ(count(after, "x"), 1);
}

TEST_P(DiskFullTest, WithSaveRulesAFailedSnapshotStopsWritesUntilOneSucceeds) {
  IRIS_ONLY();
  start({"appendonly no", "save 3600 1000000"});
  ASSERT_EQ(client().call("BF.ADD", "f", "before"), integer(1));
  limit_files(10);
  EXPECT_TRUE(client().command("SAVE").is_error("ERR"));
  EXPECT_TRUE(client().call("BF.ADD", "f", "x").is_error("MISCONF"));
  EXPECT_THAT(client().call("BF.ADD", "f", "x").text, HasSubstr("stop-writes-on-bgsave-error"));
  EXPECT_EQ(client().call("BF.EXISTS", "f", "before"), integer(1));
  EXPECT_EQ(client().call("BF.EXISTS", "f", "x"), integer(0));
  EXPECT_EQ(client().command("MULTI"), ok());
  EXPECT_TRUE(client().call("BF.ADD", "f", "x").is_error("MISCONF"));
  EXPECT_TRUE(client().command("EXEC").is_error("EXECABORT"));

  EXPECT_EQ(client().call("CONFIG", "SET", "stop-writes-on-bgsave-error", "no"), ok());
  EXPECT_EQ(client().call("BF.ADD", "f", "y"), integer(1));
  EXPECT_EQ(client().call("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"), ok());
  EXPECT_TRUE(client().call("BF.ADD", "f", "x").is_error("MISCONF"));

  limit_files(RLIM_INFINITY);
  EXPECT_TRUE(wait_until([&] { return client().call("BF.ADD", "f", "x") == integer(1); }));
  EXPECT_THAT(client().call("INFO", "persistence").text, HasSubstr("rdb_last_bgsave_status:ok"));
}

TEST_P(DiskFullTest, ASnapshotThatFailsLeavesTheOldOneAndNoRest) {
  IRIS_ONLY();
  start({"appendonly no"});
  ASSERT_EQ(client().call("BF.RESERVE", "f", "0.01", "100000"), ok());
  ASSERT_EQ(client().call("BF.ADD", "f", "one"), integer(1));
  ASSERT_EQ(client().command("SAVE"), ok());
  for (int i = 0; i < 5000; ++i) client().call("BF.ADD", "f", std::to_string(i));
  limit_files(4000);
  EXPECT_TRUE(client().command("SAVE").is_error("ERR"));
  EXPECT_THAT(client().call("INFO", "persistence").text, HasSubstr("rdb_last_bgsave_status:err"));
  EXPECT_EQ(client().call("BF.ADD", "f", "two"), integer(1));
  limit_files(RLIM_INFINITY);
  EXPECT_EQ(client().command("SAVE"), ok());
  const std::string digest = client().command("DEBUG DIGEST").text;
  server().expect_bad_exit();
  server().kill(SIGKILL);
  server().wait_for_exit();
  ASSERT_TRUE(server().start());
  EXPECT_EQ(connect().command("DEBUG DIGEST").text, digest);
}

}  // namespace
}  // namespace iris::harness
