// The administration commands on an engine of their own, without sockets or threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "server/dispatcher.h"
#include "server/idle_control.h"

namespace iris::server {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class FakeControl : public IdleControl {
 public:
  void send_to_client(const ClientRecord&, std::string bytes) override { shown += bytes; }
  void shut_down(ShutdownSave save) override {
    shut_downs++;
    shutdown_save = save;
  }
  void config_changed(const Config& before, const Config& after) override {
    changes++;
    hz_before = before.hz;
    hz_after = after.hz;
  }

  std::string shown;
  int shut_downs = 0;
  ShutdownSave shutdown_save = ShutdownSave::kByRules;
  int changes = 0;
  uint32_t hz_before = 0;
  uint32_t hz_after = 0;
};

class FakeClock : public Clock {
 public:
  int64_t wall_us() const override { return now_us; }
  int64_t now_us = 1'700'000'000'000'123;
};

class FakeValue : public Value {
 public:
  explicit FakeValue(uint8_t content) : Value(ValueKind::kBloom, 0), content_(content) {}
  std::string_view type_name() const override { return "bloom"; }
  std::string_view encoding() const override { return "blocked"; }
  uint64_t memory_bytes() const override { return 1000; }
  uint64_t change_count() const override { return 0; }
  Digest digest() const override { return {content_}; }
  std::string serialize() const override { return "seven b"; }
  std::unique_ptr<Value> copy(uint64_t) const override { return nullptr; }

 private:
  uint8_t content_;
};

Config config_for_tests() {
  Config config;
  config.slowlog_log_slower_than_us = 0;  // everything is slow
  return config;
}

class AdminCommands : public testing::Test {
 protected:
  explicit AdminCommands(Config config = config_for_tests())
      : engine_(std::move(config), {}, clock_, control_), dispatcher_(engine_, 0) {
    session_.record = engine_.clients.add(1, 0, "127.0.0.1:5", "127.0.0.1:6379", 0);
    session_.record->set_flag(kClientLocal, true);
    session_.authenticated = true;
  }

  std::string run(const std::string& line) {
    std::istringstream words_of_line(line);
    std::vector<std::string> words;
    for (std::string word; words_of_line >> word;) words.push_back(word);
    const std::vector<std::string_view> args(words.begin(), words.end());
    protocol::ReplyBuffer out;
    InsideWorld inside(engine_.world, 0);
    dispatcher_.begin_batch(clock_.wall_ms());
    dispatcher_.execute(session_, args, engine_.commands.find(args[0]), {}, out);
    dispatcher_.end_batch();
    return std::string(out.view());
  }

  void put(size_t db, std::string_view key, uint8_t content, int64_t expire_at_ms = -1) {
    engine_.keyspace.put(db, Database::hashed(key), std::make_unique<FakeValue>(content),
                         expire_at_ms, clock_.wall_ms());
  }

  FakeControl control_;
  FakeClock clock_;
  Engine engine_;
  Dispatcher dispatcher_;
  Session session_;
};

TEST_F(AdminCommands, ConfigSetIsAllOrNothing) {
  EXPECT_THAT(run("config set hz 50 maxmemory nonsense"), StartsWith("-ERR CONFIG SET failed"));
  EXPECT_EQ(run("config get hz"), "*2\r\n$2\r\nhz\r\n$2\r\n10\r\n");
  EXPECT_EQ(control_.changes, 0);
  EXPECT_EQ(run("config set hz 50 maxmemory 1gb"), "+OK\r\n");
  EXPECT_EQ(control_.changes, 1);
  EXPECT_EQ(control_.hz_before, 10u);
  EXPECT_EQ(control_.hz_after, 50u);
  EXPECT_EQ(run("config set hz"), "-ERR wrong number of arguments for 'config|set' command\r\n");
  EXPECT_EQ(run("config set hz 1 maxmemory"), "-ERR syntax error\r\n");
}

TEST_F(AdminCommands, ConfigGetIsAMapInResp3) {
  session_.version = protocol::Version::kResp3;
  EXPECT_EQ(run("config get hz nothing*"), "%1\r\n$2\r\nhz\r\n$2\r\n10\r\n");
}

TEST_F(AdminCommands, ANewPasswordLeavesConnectionsIn) {
  EXPECT_EQ(run("config set requirepass secret"), "+OK\r\n");
  EXPECT_EQ(run("ping"), "+PONG\r\n");
}

TEST_F(AdminCommands, PasswordsAreNeitherLoggedNorShown) {
  EXPECT_EQ(run("monitor"), "+OK\r\n");
  EXPECT_EQ(run("config set requirepass secret"), "+OK\r\n");
  run("ping");
  EXPECT_THAT(run("slowlog get -1"), Not(HasSubstr("secret")));
  EXPECT_THAT(control_.shown, Not(HasSubstr("secret")));
  EXPECT_THAT(control_.shown, HasSubstr("\"ping\""));
}

TEST_F(AdminCommands, ConfigRewriteWantsAFile) {
  EXPECT_EQ(run("config rewrite"), "-ERR The server is running without a config file\r\n");
}

TEST_F(AdminCommands, ResetstatForgetsCountsAndTimes) {
  run("ping");
  run("nonsense");
  EXPECT_EQ(run("config resetstat"), "+OK\r\n");
  EXPECT_EQ(engine_.stats.sum(&MemberStats::error_replies), 0u);
  EXPECT_EQ(run("latency histogram ping"), "*0\r\n");
}

TEST_F(AdminCommands, SlowlogEntriesHaveSixElements) {
  run("ping there");
  EXPECT_THAT(
      run("slowlog get 1"),
      MatchesRegex("\\*1\r\n\\*6\r\n:0\r\n:1700000000\r\n:[0-9]+\r\n\\*2\r\n\\$4\r\nping\r\n"
                   "\\$5\r\nthere\r\n\\$11\r\n127.0.0.1:5\r\n\\$0\r\n\r\n"));
  EXPECT_EQ(run("slowlog get -2"), "-ERR count should be greater than or equal to -1\r\n");
  EXPECT_EQ(run("slowlog reset"), "+OK\r\n");
  EXPECT_EQ(run("slowlog len"), ":1\r\n");  // the reset itself
}

TEST_F(AdminCommands, LatencyHistogramListsACommandOnce) {
  run("ping");
  const std::string once = run("latency histogram ping");
  EXPECT_THAT(once, StartsWith("*2\r\n$4\r\nping\r\n*4\r\n$5\r\ncalls\r\n:1\r\n"));
  EXPECT_EQ(run("latency histogram ping PING nothing ping"), once);
}

TEST_F(AdminCommands, MemoryUsageCountsValueEntryAndLongNames) {
  const std::string long_name(100, 'x');
  put(0, "k", 1);
  put(0, long_name, 1);
  const std::string short_usage = run("memory usage k");
  const int64_t short_bytes = std::stoll(short_usage.substr(1));
  EXPECT_GT(short_bytes, 1000);
  EXPECT_LT(short_bytes, 1200);
  EXPECT_EQ(run("memory usage " + long_name), ":" + std::to_string(short_bytes + 101) + "\r\n");
  EXPECT_EQ(run("memory usage k samples 0"), short_usage);
  EXPECT_EQ(run("memory usage k samples -1"), "-ERR syntax error\r\n");
  EXPECT_EQ(run("memory usage missing"), "$-1\r\n");
}

TEST_F(AdminCommands, ObjectTellsWithoutTouching) {
  put(0, "k", 1);
  clock_.now_us += 7'000'000;
  EXPECT_EQ(run("object idletime k"), ":7\r\n");
  EXPECT_EQ(run("object encoding k"), "$7\r\nblocked\r\n");
  EXPECT_EQ(run("object refcount k"), ":1\r\n");
  EXPECT_THAT(run("object freq k"), StartsWith("-ERR An LFU maxmemory policy is not selected"));
  EXPECT_EQ(run("object idletime k"), ":7\r\n");
  EXPECT_EQ(run("object encoding missing"), "$-1\r\n");
  session_.version = protocol::Version::kResp3;
  EXPECT_EQ(run("object encoding missing"), "_\r\n");
}

TEST_F(AdminCommands, DebugObjectLooksLikeRedis) {
  put(0, "k", 1);
  EXPECT_THAT(run("debug object k"),
              MatchesRegex("\\+Value at:0x[0-9a-f]+ refcount:1 encoding:blocked serializedlength:7 "
                           "lru:1700000000 lru_seconds_idle:0\r\n"));
  EXPECT_EQ(run("debug object missing"), "-ERR no such key\r\n");
}

TEST_F(AdminCommands, TheDigestIsOfLivingKeysOnly) {
  EXPECT_EQ(run("debug digest"), "+" + std::string(40, '0') + "\r\n");
  put(3, "k", 1);
  const std::string digest = run("debug digest");
  put(0, "gone", 1, clock_.wall_ms());
  EXPECT_EQ(run("debug digest"), digest);
  put(3, "k", 2);
  EXPECT_NE(run("debug digest"), digest);
}

TEST_F(AdminCommands, DigestsOfValuesDoNotDependOnTheKey) {
  put(0, "a", 1);
  put(0, "b", 1);
  const std::string reply = run("debug digest-value a b missing");
  ASSERT_EQ(reply.size(), 4u + 3 * 43);
  EXPECT_EQ(reply.substr(4, 43), reply.substr(47, 43));
  EXPECT_EQ(reply.substr(90), "+" + std::string(40, '0') + "\r\n");
}

TEST_F(AdminCommands, DebugIsForLocalClientsByDefault) {
  session_.record->set_flag(kClientLocal, false);
  EXPECT_THAT(run("debug digest"), StartsWith("-ERR DEBUG command not allowed."));
  EXPECT_THAT(run("debug help"), StartsWith("-ERR DEBUG command not allowed."));
  engine_.config.enable_debug_command = DebugCommand::kYes;
  EXPECT_THAT(run("debug digest"), StartsWith("+"));
  engine_.config.enable_debug_command = DebugCommand::kNo;
  session_.record->set_flag(kClientLocal, true);
  EXPECT_THAT(run("debug digest"), StartsWith("-ERR DEBUG command not allowed."));
}

TEST_F(AdminCommands, DebugSleepIsBounded) {
  EXPECT_EQ(run("debug sleep 0"), "+OK\r\n");
  EXPECT_THAT(run("debug sleep inf"), StartsWith("-ERR value is out of range"));
  EXPECT_THAT(run("debug sleep -1"), StartsWith("-ERR value is out of range"));
  EXPECT_THAT(run("debug sleep nan"), StartsWith("-ERR value is not a valid float"));
}

TEST_F(AdminCommands, MonitorIsRefusedInsideATransaction) {
  run("multi");
  run("monitor");
  EXPECT_EQ(run("exec"), "*1\r\n-ERR MONITOR isn't allowed for DENY BLOCKING client\r\n");
  EXPECT_TRUE(engine_.monitors.empty());
}

TEST_F(AdminCommands, ShutdownAnswersNothingAndCloses) {
  EXPECT_EQ(run("shutdown abort"), "-ERR No shutdown in progress.\r\n");
  EXPECT_EQ(run("shutdown save nosave"), "-ERR syntax error\r\n");
  EXPECT_EQ(control_.shut_downs, 0);
  EXPECT_EQ(run("shutdown nosave now force"), "");
  EXPECT_EQ(control_.shut_downs, 1);
  EXPECT_TRUE(session_.close_after_reply);
}

TEST_F(AdminCommands, TimeIsTheClocks) {
  EXPECT_EQ(run("time"), "*2\r\n$10\r\n1700000000\r\n$3\r\n123\r\n");
}

TEST_F(AdminCommands, AclCatKnowsItsCategories) {
  EXPECT_THAT(run("acl cat"), HasSubstr("$11\r\ntransaction\r\n"));
  EXPECT_EQ(run("acl cat nothing"), "-ERR Unknown category 'nothing'\r\n");
  EXPECT_THAT(run("acl cat Transaction"), StartsWith("*5\r\n$5\r\nmulti\r\n"));
}

}  // namespace
}  // namespace iris::server
