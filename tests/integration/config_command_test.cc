// CONFIG GET, SET, RESETSTAT and REWRITE on a running server.
#include <fstream>
#include <sstream>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

class ConfigCommandTest : public ServerTest {
 public:
  std::string config_text() {
    std::ostringstream text;
    text << std::ifstream(server().config_file()).rdbuf();
    return text.str();
  }
};
IRIS_WITH_1_AND_4_THREADS(ConfigCommandTest);

TEST_P(ConfigCommandTest, GetTakesNamesAndPatterns) {
  start({"timeout 17"});
  EXPECT_EQ(client().command("CONFIG GET timeout"), bulks({"timeout", "17"}));
  EXPECT_EQ(client().command("CONFIG GET TIMEOUT")[1], bulk("17"));
  EXPECT_EQ(client().command("CONFIG GET no-such"), array({}));
  const Reply memory = client().command("CONFIG GET maxmemory*");
  EXPECT_THAT(memory.strings(), IsSupersetOf({"maxmemory", "maxmemory-policy"}));
  EXPECT_GT(client().command("CONFIG GET *").size(), 60U);
  const Reply several = client().command("CONFIG GET timeout port time*");
  EXPECT_EQ(several.size(), 4U) << "what two patterns name comes once";
}

TEST_P(ConfigCommandTest, GetIsAMapInResp3) {
  start();
  RespClient three = connect_resp3();
  EXPECT_EQ(three.command("CONFIG GET hz"), map({{bulk("hz"), bulk("10")}}));
}

TEST_P(ConfigCommandTest, KnowsWhatToolsAskFor) {
  start();
  for (const char* name : {"save",
                           "appendonly",
                           "maxmemory",
                           "maxmemory-policy",
                           "maxclients",
                           "timeout",
                           "port",
                           "bind",
                           "dir",
                           "databases",
                           "requirepass",
                           "slowlog-log-slower-than",
                           "slowlog-max-len",
                           "latency-monitor-threshold",
                           "proto-max-bulk-len",
                           "client-query-buffer-limit",
                           "client-output-buffer-limit",
                           "tcp-backlog",
                           "tcp-keepalive",
                           "unixsocket",
                           "unixsocketperm",
                           "loglevel",
                           "logfile",
                           "daemonize",
                           "pidfile",
                           "supervised",
                           "protected-mode",
                           "appendfsync"}) {
    EXPECT_NE(config(client(), name), "<none>") << name;
  }
}

TEST_P(ConfigCommandTest, SetChangesAndUnderstandsUnits) {
  start();
  EXPECT_EQ(client().command("CONFIG SET timeout 100"), ok());
  EXPECT_EQ(config(client(), "timeout"), "100");
  const std::pair<const char*, const char*> sizes[] = {
      {"1000000", "1000000"}, {"1k", "1000"},       {"1kb", "1024"},
      {"5M", "5000000"},      {"64mb", "67108864"}, {"1GB", "1073741824"}};
  for (const auto& [written, bytes] : sizes) {
    EXPECT_EQ(client().call("CONFIG", "SET", "maxmemory", written), ok());
    EXPECT_EQ(config(client(), "maxmemory"), bytes) << written;
  }
  EXPECT_EQ(client().command("CONFIG SET maxmemory 0"), ok());
}

TEST_P(ConfigCommandTest, SetOfSeveralIsAllOrNothing) {
  start();
  EXPECT_EQ(client().command("CONFIG SET timeout 11 slowlog-max-len 22"), ok());
  EXPECT_EQ(config(client(), "timeout"), "11");
  EXPECT_EQ(config(client(), "slowlog-max-len"), "22");
  const Reply reply = client().command("CONFIG SET timeout 33 slowlog-max-len banana");
  EXPECT_THAT(reply.text, StartsWith("ERR CONFIG SET failed (possibly related to argument "
                                     "'slowlog-max-len') - "));
  EXPECT_EQ(config(client(), "timeout"), "11");
  EXPECT_THAT(client().command("CONFIG SET timeout 1 timeout 2").text, HasSubstr("duplicate"));
  EXPECT_EQ(config(client(), "timeout"), "11");
}

TEST_P(ConfigCommandTest, SetRefusesWhatItCannotDo) {
  start();
  EXPECT_THAT(client().command("CONFIG SET no-such 1").text,
              StartsWith("ERR Unknown option or number of arguments for CONFIG SET - 'no-such'"));
  EXPECT_THAT(client().command("CONFIG SET databases 3").text,
              HasSubstr("can't set immutable config"));
  EXPECT_TRUE(client().command("CONFIG SET timeout -1").is_error("ERR"));
  EXPECT_TRUE(client().command("CONFIG SET maxmemory 1zb").is_error("ERR"));
  EXPECT_TRUE(client().command("CONFIG SET appendonly maybe").is_error("ERR"));
  EXPECT_TRUE(client().command("CONFIG SET loglevel shout").is_error("ERR"));
  EXPECT_EQ(client().command("CONFIG SET timeout"),
            error("ERR wrong number of arguments for 'config|set' command"));
  EXPECT_EQ(client().command("CONFIG DANCE"),
            error("ERR unknown subcommand 'DANCE'. Try CONFIG HELP."));
}

TEST_P(ConfigCommandTest, ResetstatStartsCountingAnew) {
  start();
  for (int i = 0; i < 100; ++i) client().command("ECHO x");
  EXPECT_EQ(client().command("CONFIG RESETSTAT"), ok());
  EXPECT_LT(info_integer(client(), "stats", "total_commands_processed"), 5);
  EXPECT_EQ(info(client(), "commandstats", "cmdstat_echo"), "");
}

TEST_P(ConfigCommandTest, RewriteKeepsCommentsAndStaysLoadable) {
  start({"# a comment that matters", "timeout 5", "slowlog-max-len 50"});
  EXPECT_EQ(client().command("CONFIG SET timeout 77 maxmemory 100mb"), ok());
  EXPECT_EQ(client().call("CONFIG", "SET", "requirepass", "two \"words\""), ok());
  EXPECT_EQ(client().command("CONFIG REWRITE"), ok());
  EXPECT_THAT(config_text(), AllOf(HasSubstr("# a comment that matters"), HasSubstr("timeout 77\n"),
                                   HasSubstr("slowlog-max-len 50\n"), HasSubstr("maxmemory ")));
  EXPECT_THAT(config_text(), Not(HasSubstr("timeout 5\n")));

  ASSERT_TRUE(server().restart(ServerProcess::ConfigFile::kAsItIs));
  RespClient again = connect();
  EXPECT_EQ(again.call("AUTH", "two \"words\""), ok());
  EXPECT_EQ(config(again, "timeout"), "77");
  EXPECT_EQ(config(again, "maxmemory"), "104857600");
  EXPECT_EQ(config(again, "slowlog-max-len"), "50");
}

TEST_P(ConfigCommandTest, RewriteTwiceChangesNothingMore) {
  if (is_reference()) GTEST_SKIP() << "Redis adds an empty line each time";
  start({"maxclients 100"});
  EXPECT_EQ(client().command("CONFIG REWRITE"), ok());
  const std::string once = config_text();
  EXPECT_EQ(client().command("CONFIG REWRITE"), ok());
  EXPECT_EQ(config_text(), once);
}

TEST_P(ConfigCommandTest, FilterDefaultsCanBeSet) {
  IRIS_ONLY();
  start();
  EXPECT_EQ(config(client(), "bf-error-rate"), "0.01");
  EXPECT_EQ(config(client(), "bf-initial-size"), "100");
  EXPECT_EQ(config(client(), "bf-expansion-factor"), "2");
  EXPECT_EQ(client().command("CONFIG SET bf-error-rate 0.001"), ok());
  EXPECT_EQ(config(client(), "bf-error-rate"), "0.001");
  EXPECT_THAT(client().command("CONFIG SET bf-error-rate 2").text,
              HasSubstr("Value for `bf-error-rate` must be in the range"));
}

}  // namespace
}  // namespace iris::harness
