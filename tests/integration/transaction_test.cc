// MULTI EXEC DISCARD WATCH UNWATCH. A client library's "pipeline" is one of these by default.
#include <atomic>
#include <thread>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

class TransactionTest : public ServerTest {
 public:
  void make(std::string_view key) { ASSERT_EQ(make_key(client(), key), ok()); }
};
IRIS_WITH_1_AND_4_THREADS(TransactionTest);

TEST_P(TransactionTest, ExecRunsWhatWasQueued) {
  start();
  EXPECT_EQ(client().command("MULTI"), ok());
  EXPECT_EQ(client().command("PING"), queued());
  EXPECT_EQ(client().command("ECHO a"), queued());
  EXPECT_EQ(client().command("EXISTS x"), queued());
  EXPECT_EQ(client().command("EXEC"), array({simple("PONG"), bulk("a"), integer(0)}));
  EXPECT_EQ(client().command("EXEC"), error("ERR EXEC without MULTI"));
}

TEST_P(TransactionTest, AnEmptyTransactionIsAnEmptyArray) {
  start();
  EXPECT_EQ(client().command("MULTI"), ok());
  EXPECT_EQ(client().command("EXEC"), array({}));
}

TEST_P(TransactionTest, DiscardRunsNothing) {
  start();
  make("a");
  EXPECT_EQ(client().command("DISCARD"), error("ERR DISCARD without MULTI"));
  client().command("MULTI");
  EXPECT_EQ(client().command("DEL a"), queued());
  EXPECT_EQ(client().command("DISCARD"), ok());
  EXPECT_EQ(client().command("EXISTS a"), integer(1));
}

TEST_P(TransactionTest, ACommandThatCannotBeQueuedAbortsTheWhole) {
  start();
  make("a");
  client().command("MULTI");
  EXPECT_EQ(client().command("DEL a"), queued());
  EXPECT_EQ(client().command("EXPIRE a"),
            error("ERR wrong number of arguments for 'expire' command"));
  EXPECT_EQ(client().command("EXEC"),
            error("EXECABORT Transaction discarded because of previous errors."));
  EXPECT_EQ(client().command("EXISTS a"), integer(1));
  client().command("MULTI");
  EXPECT_TRUE(client().command("nope").is_error("ERR"));
  EXPECT_EQ(client().command("EXEC"),
            error("EXECABORT Transaction discarded because of previous errors."));
}

TEST_P(TransactionTest, AnErrorWhileRunningIsAnElement) {
  start();
  make("a");
  client().command("MULTI");
  client().command("RENAME missing x");
  client().command("EXISTS a");
  EXPECT_EQ(client().command("EXEC"), array({error("ERR no such key"), integer(1)}));
}

TEST_P(TransactionTest, SomeCommandsHaveNoPlaceInside) {
  start();
  client().command("MULTI");
  EXPECT_EQ(client().command("MULTI"), error("ERR MULTI calls can not be nested"));
  EXPECT_EQ(client().command("WATCH a"), error("ERR WATCH inside MULTI is not allowed"));
  EXPECT_EQ(client().command("PING"), queued());
  EXPECT_EQ(client().command("EXEC"), array({simple("PONG")})) << "such an error does not abort";
}

TEST_P(TransactionTest, SelectInsideTakesEffectAndStays) {
  start();
  make("a");
  client().command("MULTI");
  client().command("SELECT 1");
  client().command("EXISTS a");
  EXPECT_EQ(client().command("EXEC"), array({ok(), integer(0)}));
  EXPECT_EQ(client().command("EXISTS a"), integer(0));
}

TEST_P(TransactionTest, AWatchedKeyThatChangedStopsIt) {
  start();
  RespClient other = connect();
  make("a");
  EXPECT_EQ(client().command("WATCH a"), ok());
  touch_content(other, "a", "item");
  client().command("MULTI");
  client().command("DEL a");
  EXPECT_EQ(client().command("EXEC"), nil_array());
  EXPECT_EQ(client().command("EXISTS a"), integer(1));
}

TEST_P(TransactionTest, EveryKindOfChangeCounts) {
  start();
  RespClient other = connect();
  for (const char* change : {"DEL a", "EXPIRE a 1000", "RENAME a b", "FLUSHDB", "FLUSHALL",
                             "MOVE a 1", "SWAPDB 0 1", "COPY src a REPLACE"}) {
    client().command("FLUSHALL");
    make("a");
    make("src");
    client().command("WATCH a");
    other.command(change);
    client().command("MULTI");
    client().command("PING");
    EXPECT_EQ(client().command("EXEC"), nil_array()) << change;
  }
}

TEST_P(TransactionTest, CreationOfAMissingKeyCounts) {
  start();
  RespClient other = connect();
  client().command("WATCH a");
  EXPECT_EQ(make_key(other, "a"), ok());
  client().command("MULTI");
  EXPECT_EQ(client().command("EXEC"), nil_array());
}

TEST_P(TransactionTest, OtherKeysAndReadsDoNotCount) {
  start();
  RespClient other = connect();
  make("a");
  make("b");
  client().command("WATCH a missing");
  touch_content(other, "b", "item");
  other.command("EXISTS a");
  other.command("TTL a");
  other.command("PERSIST a");
  other.command("SELECT 1");
  make_key(other, "a");
  client().command("MULTI");
  client().command("PING");
  EXPECT_EQ(client().command("EXEC"), array({simple("PONG")}));
}

TEST_P(TransactionTest, UnwatchExecAndDiscardForget) {
  start();
  RespClient other = connect();
  make("a");
  for (const char* forget : {"UNWATCH", "EXEC", "DISCARD", "RESET"}) {
    client().command("WATCH a");
    if (std::string_view(forget) != "UNWATCH") client().command("MULTI");
    client().command(forget);
    touch_content(other, "a", std::string("item of ") + forget);
    client().command("MULTI");
    client().command("PING");
    EXPECT_EQ(client().command("EXEC"), array({simple("PONG")})) << forget;
  }
}

TEST_P(TransactionTest, NullInResp3) {
  start();
  RespClient three = connect_resp3();
  make("a");
  three.command("WATCH a");
  client().command("DEL a");
  three.command("MULTI");
  EXPECT_EQ(three.command("EXEC"), null());
}

TEST_P(TransactionTest, NobodySeesTheMiddle) {
  start();
  make("here");
  std::atomic<bool> done{false};
  // The key is always under exactly one of two names, except inside of a transaction.
  std::jthread mover([&] {
    RespClient moving = connect();
    for (int i = 0; i < 300; ++i) {
      moving.send(encode({"MULTI"}) + encode({"RENAME", "here", "gone"}) +
                  encode({"RENAME", "gone", "here"}) + encode({"EXEC"}));
      moving.read_replies(4);
    }
    done = true;
  });
  RespClient reader = connect();
  while (!done) ASSERT_EQ(reader.command("EXISTS here gone gone"), integer(1));
  mover.join();
}

TEST_P(TransactionTest, ALongQueueRunsWhole) {
  start();
  constexpr int kCommands = 10'000;
  std::string requests = encode({"MULTI"});
  for (int i = 0; i < kCommands; ++i) requests += encode({"ECHO", std::to_string(i)});
  client().send(requests + encode({"EXEC"}));
  EXPECT_EQ(client().read(), ok());
  for (int i = 0; i < kCommands; ++i) ASSERT_EQ(client().read(), queued());
  const Reply result = client().read();
  ASSERT_EQ(result.size(), static_cast<size_t>(kCommands));
  EXPECT_EQ(result[kCommands - 1], bulk(std::to_string(kCommands - 1)));
}

}  // namespace
}  // namespace iris::harness
