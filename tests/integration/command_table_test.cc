// COMMAND and its subcommands: what tools learn of the commands.
#include <algorithm>
#include <set>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using Type = Reply::Type;

class CommandTableTest : public ServerTest {};
IRIS_WITH_1_AND_4_THREADS(CommandTableTest);

TEST_P(CommandTableTest, CountListAndInfoAgree) {
  start();
  const int64_t count = client().call("COMMAND", "COUNT").integer;
  EXPECT_GT(count, 60);
  EXPECT_EQ(static_cast<int64_t>(client().call("COMMAND").size()), count);
  EXPECT_EQ(static_cast<int64_t>(client().call("COMMAND", "INFO").size()), count);
  const std::vector<std::string> names = client().call("COMMAND", "LIST").strings();
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const std::string& name) { return name.find('|') == name.npos; }),
            count);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST_P(CommandTableTest, NamesWhatAGoodCitizenAnswers) {
  start();
  EXPECT_THAT(client().call("COMMAND", "LIST").strings(),
              IsSupersetOf({"ping",       "echo",         "quit",      "hello",   "auth",
                            "select",     "reset",        "client",    "info",    "command",
                            "dbsize",     "time",         "lolwut",    "del",     "unlink",
                            "exists",     "type",         "scan",      "keys",    "rename",
                            "renamenx",   "randomkey",    "copy",      "touch",   "expire",
                            "pexpire",    "expireat",     "pexpireat", "ttl",     "pttl",
                            "expiretime", "pexpiretime",  "persist",   "flushdb", "flushall",
                            "swapdb",     "move",         "multi",     "exec",    "discard",
                            "watch",      "unwatch",      "config",    "save",    "bgsave",
                            "lastsave",   "bgrewriteaof", "shutdown",  "memory",  "object",
                            "slowlog",    "latency",      "module",    "monitor", "debug"}));
}

TEST_P(CommandTableTest, InfoHasArityFlagsAndKeyPositions) {
  start();
  const Reply reply = client().call("COMMAND", "INFO", "exists", "rename", "no-such", "ping");
  ASSERT_EQ(reply.size(), 4U);
  const Reply& exists = reply[0];
  ASSERT_GE(exists.size(), 7U);
  EXPECT_EQ(exists[0], bulk("exists"));
  EXPECT_EQ(exists[1], integer(-2));
  EXPECT_THAT(exists[2].strings(), IsSupersetOf({"readonly", "fast"}));
  EXPECT_EQ(exists[2][0].type, Type::kSimple);
  EXPECT_EQ(exists[3], integer(1));
  EXPECT_EQ(exists[4], integer(-1));
  EXPECT_EQ(exists[5], integer(1));
  EXPECT_THAT(exists[6].strings(), IsSupersetOf({"@keyspace", "@read", "@fast"}));
  EXPECT_EQ(reply[1][1], integer(3));
  EXPECT_THAT(reply[1][2].strings(), Contains("write"));
  EXPECT_EQ(reply[1][4], integer(2));
  EXPECT_EQ(reply[2], nil());
  EXPECT_EQ(reply[3][1], integer(-1));
  EXPECT_EQ(reply[3][3], integer(0));
}

TEST_P(CommandTableTest, InfoKnowsSubcommands) {
  start();
  const Reply reply = client().call("COMMAND", "INFO", "config|set");
  ASSERT_EQ(reply.size(), 1U);
  EXPECT_EQ(reply[0][0], bulk("config|set"));
  const Reply config = client().call("COMMAND", "INFO", "config")[0];
  ASSERT_GE(config.size(), 10U);
  std::vector<std::string> names;
  for (const Reply& sub : config[9].elements) names.push_back(sub[0].text);
  EXPECT_THAT(names,
              IsSupersetOf({"config|get", "config|set", "config|resetstat", "config|rewrite"}));
}

TEST_P(CommandTableTest, FlagsAreASetInResp3) {
  start();
  RespClient three = connect_resp3();
  const Reply reply = three.call("COMMAND", "INFO", "ping", "no-such");
  EXPECT_EQ(reply[0][2].type, Type::kSet);
  EXPECT_EQ(reply[0][6].type, Type::kSet);
  EXPECT_EQ(reply[1].type, Type::kNull);
}

TEST_P(CommandTableTest, DocsDescribeEveryCommand) {
  start();
  RespClient three = connect_resp3();
  const Reply docs = three.call("COMMAND", "DOCS");
  ASSERT_EQ(docs.type, Type::kMap);
  EXPECT_EQ(static_cast<int64_t>(docs.size()), 2 * three.call("COMMAND", "COUNT").integer);
  for (size_t i = 0; i < docs.size(); i += 2) {
    // redis-cli asserts these types, and dies of others.
    EXPECT_EQ(docs[i].type, Type::kBulk);
    const Reply& entry = docs[i + 1];
    ASSERT_EQ(entry.type, Type::kMap) << docs[i].text;
    EXPECT_EQ(entry.at("summary").type, Type::kBulk) << docs[i].text;
    EXPECT_FALSE(entry.at("summary").text.empty()) << docs[i].text;
    EXPECT_EQ(entry.at("since").type, Type::kBulk) << docs[i].text;
    EXPECT_EQ(entry.at("group").type, Type::kBulk) << docs[i].text;
  }
}

TEST_P(CommandTableTest, DocsGiveTheArgumentsThatHintsAreMadeOf) {
  start();
  const Reply docs = client().call("COMMAND", "DOCS", "expire", "no-such");
  EXPECT_EQ(docs.type, Type::kArray);
  ASSERT_EQ(docs.size(), 2U) << "unknown names are left out";
  const Reply& arguments = docs.at("expire").at("arguments");
  ASSERT_EQ(arguments.size(), 3U);
  EXPECT_EQ(arguments[0].at("name"), bulk("key"));
  EXPECT_EQ(arguments[0].at("type"), bulk("key"));
  EXPECT_EQ(arguments[1].at("type"), bulk("integer"));
  EXPECT_EQ(arguments[2].at("type"), bulk("oneof"));
  EXPECT_THAT(arguments[2].at("flags"), array({simple("optional")}));
  std::vector<std::string> tokens;
  for (const Reply& choice : arguments[2].at("arguments").elements) {
    tokens.push_back(choice.at("token").text);
  }
  EXPECT_THAT(tokens, ElementsAre("NX", "XX", "GT", "LT"));
}

TEST_P(CommandTableTest, GetkeysFindsTheKeysOfACommand) {
  start();
  EXPECT_EQ(client().call("COMMAND", "GETKEYS", "EXISTS", "a", "b"), bulks({"a", "b"}));
  EXPECT_EQ(client().call("COMMAND", "GETKEYS", "RENAME", "a", "b"), bulks({"a", "b"}));
  EXPECT_EQ(client().call("COMMAND", "GETKEYS", "OBJECT", "ENCODING", "a"), bulks({"a"}));
  EXPECT_EQ(client().call("COMMAND", "GETKEYS", "PING", "x"),
            error("ERR The command has no key arguments"));
  EXPECT_EQ(client().call("COMMAND", "GETKEYS", "RENAME", "a"),
            error("ERR Invalid number of arguments specified for command"));
  EXPECT_EQ(client().call("COMMAND", "GETKEYS", "no-such", "a"),
            error("ERR Invalid command specified"));
}

TEST_P(CommandTableTest, ListFiltersByPatternAndCategory) {
  start();
  const auto names = client().command("COMMAND LIST FILTERBY PATTERN *expire*").strings();
  EXPECT_THAT(names, IsSupersetOf({"expire", "pexpire", "expireat", "pexpiretime"}));
  for (const std::string& name : names) EXPECT_NE(name.find("expire"), std::string::npos) << name;
  EXPECT_THAT(client().command("COMMAND LIST FILTERBY ACLCAT transaction").strings(),
              IsSupersetOf({"multi", "exec", "discard", "watch", "unwatch"}));
  EXPECT_EQ(client().command("COMMAND LIST FILTERBY COLOR x"), error("ERR syntax error"));
}

TEST_P(CommandTableTest, UnknownSubcommandsAndArityErrorsNameTheCommand) {
  start();
  EXPECT_EQ(client().command("COMMAND DANCE"),
            error("ERR unknown subcommand 'DANCE'. Try COMMAND HELP."));
  EXPECT_EQ(client().command("CONFIG GET"),
            error("ERR wrong number of arguments for 'config|get' command"));
  EXPECT_EQ(client().command("EXPIRE a"),
            error("ERR wrong number of arguments for 'expire' command"));
  EXPECT_EQ(client().command("DEL"), error("ERR wrong number of arguments for 'del' command"));
}

TEST_P(CommandTableTest, HelpIsAListOfLines) {
  start();
  for (const char* name : {"COMMAND", "CLIENT", "CONFIG", "OBJECT", "MEMORY", "SLOWLOG"}) {
    const Reply help = client().call(name, "HELP");
    ASSERT_EQ(help.type, Type::kArray) << name;
    EXPECT_GT(help.size(), 3U) << name;
    EXPECT_EQ(help[0].type, Type::kSimple) << name;
  }
}

TEST_P(CommandTableTest, WhatIrisHasNotIsACleanError) {
  IRIS_ONLY();
  start();
  EXPECT_TRUE(client().command("EVAL return 0").is_error("ERR"));
  EXPECT_TRUE(client().command("GET a").text.starts_with("ERR unknown command 'GET'"));
  EXPECT_EQ(client().command("CLUSTER INFO"),
            error("ERR This instance has cluster support disabled"));
}

}  // namespace
}  // namespace iris::harness
