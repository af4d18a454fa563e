// Bloom filters as keys among others: WATCH sees their changes, EXEC runs their commands, expiry
// takes them away and the next addition makes new ones.
#include <chrono>
#include <thread>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

class BloomKeyspaceTest : public ServerTest {
 public:
  // What EXEC answers to a transaction that watched f while `line` came from another client.
  Reply exec_after(std::string_view line) {
    client().command("WATCH f");
    RespClient other = connect();
    EXPECT_FALSE(other.command(line).is_error()) << line;
    client().command("MULTI");
    client().command("PING");
    return client().command("EXEC");
  }
  void expire_now(std::string_view key) {
    EXPECT_EQ(client().call("PEXPIRE", key, "1"), integer(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
};
IRIS_WITH_1_AND_4_THREADS(BloomKeyspaceTest);

TEST_P(BloomKeyspaceTest, WatchSeesEveryChangeOfAFilter) {
  start();
  client().command("BF.RESERVE f 0.000001 3");
  client().command("BF.RESERVE source 0.000001 3");
  client().command("BF.ADD source z");
  const std::vector<std::string> changes = {
      "BF.ADD f a",        "BF.MADD f a b", "BF.INSERT f ITEMS c",
      "BF.MERGE f source", "EXPIRE f 100",  "BF.MADD f d e g",
      "RENAME f f2",       "BF.ADD f anew", "DEL f"};
  for (const std::string& change : changes) EXPECT_EQ(exec_after(change), nil_array()) << change;
}

TEST_P(BloomKeyspaceTest, WatchIgnoresWhatChangesNothing) {
  start();
  client().command("BF.RESERVE f 0.000001 100");
  client().command("BF.MADD f a b");
  const std::vector<std::string> readings = {
      "BF.ADD f a",   "BF.MADD f b a",   "BF.EXISTS f c", "BF.INFO f",
      "BF.MERGE g f", "BF.SCANDUMP f 0", "DUMP f",        "BF.INSERT f NOCREATE ITEMS a"};
  for (const std::string& reading : readings) {
    EXPECT_EQ(exec_after(reading), array({simple("PONG")})) << reading;
  }
}

TEST_P(BloomKeyspaceTest, WatchSeesAKeyThatComes) {
  start();
  EXPECT_EQ(exec_after("BF.ADD f a"), nil_array());
  client().command("DEL f");
  EXPECT_EQ(exec_after("BF.EXISTS f a"), array({simple("PONG")}));
  EXPECT_EQ(exec_after("BF.INITBYDIM f 100 3"), nil_array());
}

// Deleted and made again with as many items: the same count, but not the same filter.
TEST_P(BloomKeyspaceTest, WatchSeesThroughARecreatedFilter) {
  start();
  client().command("BF.ADD f a");
  client().command("WATCH f");
  RespClient other = connect();
  other.command("DEL f");
  other.command("BF.ADD f b");
  client().command("MULTI");
  client().command("PING");
  EXPECT_EQ(client().command("EXEC"), nil_array());
}

TEST_P(BloomKeyspaceTest, ExecRunsFilterCommandsAsOne) {
  start();
  client().command("MULTI");
  for (const std::string line :
       {"BF.RESERVE f 0.000001 2 NONSCALING", "BF.MADD f a b c d", "BF.MEXISTS f a b c",
        "BF.ADD f c", "BF.RESERVE f 0.01 100", "BF.ADD new x", "BF.CARD f", "BF.INFO f ITEMS"}) {
    EXPECT_EQ(client().command(line), queued()) << line;
  }
  const Reply full = error("ERR non scaling filter is full");
  EXPECT_EQ(client().command("EXEC"),
            array({ok(), array({integer(1), integer(1), full}),
                   array({integer(1), integer(1), integer(0)}), full, error("ERR item exists"),
                   integer(1), integer(2), array({integer(2)})}));
}

// Long replies have a way of their own outside of EXEC; inside they must stay in their place.
TEST_P(BloomKeyspaceTest, ALongReplyInsideExecIsWhereItBelongs) {
  start();
  RespClient resp3 = connect_resp3();
  std::vector<std::string> items;
  for (int i = 0; i < 10'000; ++i) items.push_back(std::to_string(i));
  std::vector<std::string_view> request = {"BF.MADD", "f"};
  request.insert(request.end(), items.begin(), items.end());
  resp3.command("MULTI");
  resp3.command("BF.RESERVE f 0.000000001 100");
  EXPECT_EQ(resp3.call_args(request), queued());
  resp3.command("BF.CARD f");
  const Reply replies = resp3.command("EXEC");
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(replies[0], ok());
  EXPECT_EQ(replies[1], array(std::vector<Reply>(items.size(), boolean(true))));
  EXPECT_EQ(replies[2], integer(10'000)) << "it grew within the transaction";
}

TEST_P(BloomKeyspaceTest, AnExpiredFilterIsGoneAndMadeAnew) {
  start();
  client().command("BF.RESERVE f 0.01 5000");
  client().command("BF.MADD f a b c");
  expire_now("f");
  EXPECT_EQ(client().command("BF.EXISTS f a"), integer(0));
  EXPECT_EQ(client().command("BF.MEXISTS f a b"), array({integer(0), integer(0)}));
  EXPECT_EQ(client().command("BF.CARD f"), integer(0));
  EXPECT_EQ(client().command("BF.INFO f"), error("ERR not found"));
  EXPECT_EQ(client().command("BF.INSERT f NOCREATE ITEMS a"), error("ERR not found"));
  EXPECT_EQ(client().command("BF.ADD f a"), integer(1));
  EXPECT_EQ(client().command("TTL f"), integer(-1)) << "the old expiry went with the old filter";
  EXPECT_EQ(client().command("BF.INFO f CAPACITY"), array({integer(100)}));
}

TEST_P(BloomKeyspaceTest, EveryCommandThatMakesAFilterTakesAnExpiredName) {
  start();
  client().command("BF.ADD source x");
  const Reply header = client().command("BF.SCANDUMP source 0");
  const Reply cells = client().command("BF.SCANDUMP source 1");
  const std::string text = client().command("DUMP source").text;
  const std::vector<std::vector<std::string>> makers = {{"BF.RESERVE", "f", "0.01", "100"},
                                                        {"BF.INITBYDIM", "f", "100", "3"},
                                                        {"BF.MADD", "f", "a"},
                                                        {"BF.INSERT", "f", "ITEMS", "a"},
                                                        {"BF.MERGE", "f", "source"},
                                                        {"BF.LOADCHUNK", "f", "1", header[1].text},
                                                        {"RESTORE", "f", "0", text},
                                                        {"COPY", "source", "f"}};
  for (const std::vector<std::string>& maker : makers) {
    client().command("DEL f");
    client().command("BF.MADD f old older oldest");
    expire_now("f");
    EXPECT_FALSE(client().call_args({maker.begin(), maker.end()}).is_error()) << maker[0];
    EXPECT_EQ(client().command("TTL f"), integer(-1)) << maker[0];
  }
  client().command("DEL f");
  client().call("BF.LOADCHUNK", "f", "1", header[1].text);
  EXPECT_EQ(client().command("EXPIRE f 1000"), integer(1));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", std::to_string(cells[0].integer), cells[1].text),
            ok());
  EXPECT_GT(client().command("TTL f").integer, 900) << "a load keeps what was set meanwhile";
  EXPECT_EQ(client().command("BF.EXISTS f x"), integer(1));
}

TEST_P(BloomKeyspaceTest, AdditionsKeepTheExpiry) {
  start();
  client().command("BF.RESERVE f 0.01 10");
  client().command("EXPIRE f 1000");
  for (int i = 0; i < 100; ++i) client().call("BF.ADD", "f", std::to_string(i));
  EXPECT_GT(client().command("BF.INFO f FILTERS")[0].integer, 1);
  EXPECT_GT(client().command("TTL f").integer, 900);
}

}  // namespace
}  // namespace iris::harness
