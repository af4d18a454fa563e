// Watching a server: SLOWLOG LATENCY MEMORY OBJECT DEBUG MONITOR MODULE TIME LOLWUT.
#include <chrono>
#include <thread>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Type = Reply::Type;

class ObservationTest : public ServerTest {};
IRIS_WITH_1_AND_4_THREADS(ObservationTest);

TEST_P(ObservationTest, SlowlogKeepsTheSlowOnes) {
  start({"slowlog-log-slower-than 20000"});
  client().command("CLIENT SETNAME bee");
  client().command("PING");
  EXPECT_EQ(client().command("SLOWLOG LEN"), integer(0));
  EXPECT_EQ(client().command("DEBUG SLEEP 0.05"), ok());
  const Reply entries = client().command("SLOWLOG GET");
  ASSERT_EQ(entries.size(), 1U);
  const Reply& entry = entries[0];
  ASSERT_EQ(entry.size(), 6U);
  EXPECT_EQ(entry[0], integer(0));
  EXPECT_NEAR(static_cast<double>(entry[1].integer), static_cast<double>(std::time(nullptr)), 10);
  EXPECT_GE(entry[2].integer, 50'000);
  EXPECT_EQ(entry[3], bulks({"DEBUG", "SLEEP", "0.05"}));
  EXPECT_THAT(entry[4].text, HasSubstr("127.0.0.1:"));
  EXPECT_EQ(entry[5], bulk("bee"));
}

TEST_P(ObservationTest, SlowlogIsBoundedAndCut) {
  start({"slowlog-log-slower-than 0", "slowlog-max-len 5"});
  for (int i = 0; i < 10; ++i) client().call("ECHO", std::to_string(i));
  EXPECT_EQ(client().command("SLOWLOG LEN"), integer(5));
  EXPECT_EQ(client().command("SLOWLOG GET 2").size(), 2U);
  EXPECT_EQ(client().command("SLOWLOG GET -1").size(), 5U);
  EXPECT_TRUE(client().command("SLOWLOG GET -2").is_error("ERR"));
  client().call("ECHO", std::string(500, 'x'));
  EXPECT_THAT(client().command("SLOWLOG GET 1")[0][3][1].text,
              MatchesRegex("x{128}\\.\\.\\. \\(372 more bytes\\)"));
  EXPECT_EQ(client().command("CONFIG SET slowlog-log-slower-than -1"), ok());
  EXPECT_EQ(client().command("SLOWLOG RESET"), ok());
  EXPECT_EQ(client().command("SLOWLOG LEN"), integer(0));
}

TEST_P(ObservationTest, LatencyRemembersEvents) {
  start({"latency-monitor-threshold 20"});
  EXPECT_EQ(client().command("LATENCY LATEST"), array({}));
  client().command("DEBUG SLEEP 0.05");
  const Reply latest = client().command("LATENCY LATEST");
  ASSERT_EQ(latest.size(), 1U);
  EXPECT_EQ(latest[0][0], bulk("command"));
  EXPECT_GE(latest[0][2].integer, 50);
  EXPECT_GE(latest[0][3].integer, 50);
  const Reply history = client().command("LATENCY HISTORY command");
  ASSERT_EQ(history.size(), 1U);
  EXPECT_GE(history[0][1].integer, 50);
  EXPECT_EQ(client().command("LATENCY HISTORY nothing"), array({}));
  EXPECT_EQ(client().command("LATENCY RESET"), integer(1));
  EXPECT_EQ(client().command("LATENCY LATEST"), array({}));
  EXPECT_FALSE(client().command("LATENCY DOCTOR").string().empty());
}

TEST_P(ObservationTest, LatencyHistogramCountsCalls) {
  start();
  client().command("CONFIG RESETSTAT");
  for (int i = 0; i < 7; ++i) client().command("ECHO x");
  RespClient three = connect_resp3();
  const Reply reply = three.command("LATENCY HISTOGRAM echo no-such");
  ASSERT_EQ(reply.type, Type::kMap);
  ASSERT_EQ(reply.size(), 2U);
  EXPECT_EQ(reply.at("echo").at("calls"), integer(7));
  EXPECT_EQ(reply.at("echo").at("histogram_usec").type, Type::kMap);
}

TEST_P(ObservationTest, MemoryUsageAndStats) {
  start();
  ASSERT_EQ(make_key(client(), "a"), ok());
  EXPECT_GT(client().command("MEMORY USAGE a").integer, 50);
  EXPECT_GT(client().command("MEMORY USAGE a SAMPLES 5").integer, 50);
  EXPECT_EQ(client().command("MEMORY USAGE missing"), nil());
  EXPECT_EQ(client().command("MEMORY USAGE a NOPE 5"), error("ERR syntax error"));
  const Reply stats = client().command("MEMORY STATS");
  for (const char* name : {"peak.allocated", "total.allocated", "startup.allocated",
                           "overhead.total", "keys.count", "dataset.bytes"}) {
    EXPECT_EQ(stats.at(name).type, Type::kInteger) << name;
  }
  EXPECT_EQ(stats.at("keys.count"), integer(1));
  EXPECT_FALSE(client().command("MEMORY DOCTOR").string().empty());
  EXPECT_EQ(client().command("MEMORY PURGE"), ok());
}

TEST_P(ObservationTest, ObjectDescribesAKey) {
  start();
  ASSERT_EQ(make_key(client(), "a"), ok());
  EXPECT_EQ(client().command("OBJECT ENCODING a").type, Type::kBulk);
  EXPECT_EQ(client().command("OBJECT REFCOUNT a"), integer(1));
  EXPECT_LE(client().command("OBJECT IDLETIME a").integer, 5);  // a busy machine may take a while
  EXPECT_EQ(client().command("OBJECT ENCODING missing"), nil());
  EXPECT_THAT(client().command("OBJECT FREQ a").text, HasSubstr("An LFU maxmemory policy"));
  EXPECT_EQ(client().command("OBJECT DANCE a"),
            error("ERR unknown subcommand 'DANCE'. Try OBJECT HELP."));
}

// Absolute seconds are compared, so that a slow machine changes nothing.
TEST_P(ObservationTest, UseIsNotedUnlessTheClientAskedForNone) {
  IRIS_ONLY();
  start();
  const auto accessed_s = [this] {
    const std::string text = client().command("DEBUG OBJECT f").text;
    return std::stoll(text.substr(text.find(" lru:") + 5));
  };
  const auto pass_a_second = [this, &accessed_s] {
    const long long before = accessed_s();
    EXPECT_TRUE(wait_until([&] { return client().command("OBJECT IDLETIME f").integer >= 1; }));
    EXPECT_EQ(accessed_s(), before) << "to look is no use";
    return before;
  };
  ASSERT_EQ(client().command("BF.ADD f x"), integer(1));
  for (const char* use : {"BF.EXISTS f x", "BF.CARD f"}) {
    SCOPED_TRACE(use);
    ASSERT_EQ(client().command("CLIENT NO-TOUCH on"), ok());
    const long long before = pass_a_second();
    client().command(use);
    EXPECT_EQ(accessed_s(), before);
    ASSERT_EQ(client().command("CLIENT NO-TOUCH off"), ok());
    client().command(use);
    EXPECT_GT(accessed_s(), before);
  }
  const long long before = pass_a_second();
  client().command("EXISTS f");
  client().command("TYPE f");
  EXPECT_EQ(accessed_s(), before) << "to ask whether it is there is no use";
  ASSERT_EQ(client().command("CLIENT NO-TOUCH on"), ok());
  EXPECT_EQ(client().command("TOUCH f missing"), integer(1));
  EXPECT_GT(accessed_s(), before) << "TOUCH means it";
}

TEST_P(ObservationTest, MonitorShowsWhatOthersDo) {
  start();
  RespClient watcher = connect(), other = connect();
  EXPECT_EQ(watcher.command("MONITOR"), ok());
  other.command("SELECT 3");
  other.call("ECHO", "a \"b\"\r\n");
  EXPECT_THAT(watcher.read().text,
              MatchesRegex("[0-9]+\\.[0-9]{6} \\[[03] 127\\.0\\.0\\.1:[0-9]+\\] \"SELECT\" \"3\""));
  EXPECT_THAT(watcher.read().text, HasSubstr(" [3 127.0.0.1:"));
  other.call("ECHO", "two");
  EXPECT_THAT(watcher.read().text, HasSubstr("\"ECHO\" \"two\""));
  EXPECT_EQ(watcher.command("RESET"), simple("RESET"));
  other.call("ECHO", "three");
  EXPECT_FALSE(watcher.readable_within(100)) << "RESET ends it";
}

TEST_P(ObservationTest, MonitorEscapesBytes) {
  start();
  RespClient watcher = connect();
  watcher.command("MONITOR");
  client().call("ECHO", std::string_view("a \"b\"\r\n\0\xff", 9));
  EXPECT_THAT(watcher.read().text, HasSubstr("\"ECHO\" \"a \\\"b\\\"\\r\\n\\x00\\xff\""));
}

TEST_P(ObservationTest, EveryMonitorSeesEveryWorkersCommands) {
  start();
  RespClient first = connect(), second = connect();
  first.command("MONITOR");
  second.command("MONITOR");
  constexpr int kClients = 8, kEach = 50;
  std::vector<RespClient> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(connect());
  for (RespClient& talking : clients) {
    for (int i = 0; i < kEach; ++i) talking.command("PING");
  }
  for (RespClient* watcher : {&first, &second}) {
    for (int i = 0; i < kClients * kEach; ++i) {
      ASSERT_THAT(watcher->read().text, HasSubstr("\"PING\"")) << i;
    }
    EXPECT_FALSE(watcher->readable_within(50));
  }
}

TEST_P(ObservationTest, DebugSleepStopsOnlyForThatLong) {
  start();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(client().command("DEBUG SLEEP 0.1"), ok());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
  EXPECT_TRUE(client().command("DEBUG DANCE").is_error("ERR"));
}

TEST_P(ObservationTest, DebugDescribesAndDigestsKeys) {
  start();
  ASSERT_EQ(make_key(client(), "a"), ok());
  EXPECT_THAT(client().command("DEBUG OBJECT a").text, HasSubstr("encoding:"));
  EXPECT_EQ(client().command("DEBUG OBJECT missing"), error("ERR no such key"));
  const Reply empty = client().command("DEBUG DIGEST-VALUE a");
  ASSERT_EQ(empty.size(), 1U);
  touch_content(client(), "a", "item");
  const Reply filled = client().command("DEBUG DIGEST-VALUE a");
  EXPECT_NE(empty[0].text, filled[0].text);
  const Reply all = client().command("DEBUG DIGEST");
  EXPECT_EQ(all.type, Type::kSimple);
  client().command("COPY a b");
  EXPECT_NE(client().command("DEBUG DIGEST"), all);
  EXPECT_EQ(client().command("DEBUG DIGEST-VALUE b")[0].text, filled[0].text);
  client().command("DEL b");
  EXPECT_EQ(client().command("DEBUG DIGEST"), all);
}

TEST_P(ObservationTest, ModuleListNamesTheFilters) {
  start();
  const Reply list = client().command("MODULE LIST");
  ASSERT_EQ(list.type, Type::kArray);
  if (is_reference()) return;
  ASSERT_GE(list.size(), 1U);
  EXPECT_EQ(list[0].at("name"), bulk("bf"));
  EXPECT_EQ(list[0].at("ver").type, Type::kInteger);
}

TEST_P(ObservationTest, TimeAndLolwut) {
  start();
  const Reply time = client().command("TIME");
  ASSERT_EQ(time.size(), 2U);
  EXPECT_NEAR(std::stod(time[0].text), static_cast<double>(std::time(nullptr)), 10);
  EXPECT_LT(std::stol(time[1].text), 1'000'000);
  EXPECT_FALSE(client().command("LOLWUT").string().empty());
}

}  // namespace
}  // namespace iris::harness
