// Who may talk: requirepass, AUTH, HELLO ... AUTH, what a stranger may announce, protected mode.

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kWrongPass =
    "WRONGPASS invalid username-password pair or user is disabled.";

class AuthenticationTest : public ServerTest {
 public:
  void start_with_password() { start({"requirepass secret"}); }
};
IRIS_WITH_1_AND_4_THREADS(AuthenticationTest);

TEST_P(AuthenticationTest, AStrangerMayOnlyIntroduceItself) {
  start_with_password();
  for (const char* line : {"PING", "ECHO a", "DBSIZE", "CONFIG GET port", "CLIENT LIST", "INFO",
                           "MULTI", "COMMAND COUNT", "SHUTDOWN NOSAVE", "FLUSHALL", "MONITOR"}) {
    EXPECT_EQ(client().command(line), error("NOAUTH Authentication required.")) << line;
  }
  EXPECT_EQ(client().call("nope").is_error("ERR"), true) << "an unknown command is still unknown";
  EXPECT_EQ(client().call("RESET"), simple("RESET"));
  EXPECT_EQ(client().call("QUIT"), ok());
  EXPECT_TRUE(client().closed_by_peer());
}

TEST_P(AuthenticationTest, TheRightPasswordOpens) {
  start_with_password();
  EXPECT_EQ(client().call("AUTH", "secret"), ok());
  EXPECT_EQ(client().call("PING"), simple("PONG"));
  EXPECT_EQ(connect().call("AUTH", "default", "secret"), ok());
}

TEST_P(AuthenticationTest, WrongPasswordsAreRefused) {
  start_with_password();
  for (const char* password : {"wrong", "", "secre", "secret1", "SECRET"}) {
    EXPECT_EQ(client().call("AUTH", password), error(kWrongPass)) << password;
  }
  EXPECT_EQ(client().call("AUTH", "other", "secret"), error(kWrongPass));
  EXPECT_EQ(client().call("AUTH", "a", "b", "c"), error("ERR syntax error"));
  EXPECT_EQ(client().call("AUTH"), error("ERR wrong number of arguments for 'auth' command"));
  EXPECT_EQ(client().call("PING"), error("NOAUTH Authentication required."));
}

TEST_P(AuthenticationTest, AFailedAuthDoesNotEndAnEarlierOne) {
  start_with_password();
  EXPECT_EQ(client().call("AUTH", "secret"), ok());
  EXPECT_EQ(client().call("AUTH", "wrong"), error(kWrongPass));
  EXPECT_EQ(client().call("PING"), simple("PONG"));
}

TEST_P(AuthenticationTest, AuthWithoutAPasswordConfiguredIsAMistake) {
  start();
  EXPECT_EQ(client().call("AUTH", "x"),
            error("ERR AUTH <password> called without any password configured for the default "
                  "user. Are you sure your configuration is correct?"));
  EXPECT_EQ(client().call("AUTH", "default", "anything"), ok());
}

TEST_P(AuthenticationTest, HelloAuthenticatesAndChoosesTheProtocol) {
  start_with_password();
  EXPECT_THAT(client().call("HELLO", "3").text,
              StartsWith("NOAUTH HELLO must be called with the client already authenticated, "));
  EXPECT_EQ(client().call("HELLO", "3", "AUTH", "default", "wrong"), error(kWrongPass));
  EXPECT_EQ(client().call("HELLO", "3", "AUTH", "default", "secret").at("proto"), integer(3));
  EXPECT_EQ(client().call("PING"), simple("PONG"));
}

TEST_P(AuthenticationTest, ResetForgetsThePassword) {
  start_with_password();
  EXPECT_EQ(client().call("AUTH", "secret"), ok());
  EXPECT_EQ(client().call("RESET"), simple("RESET"));
  EXPECT_EQ(client().call("PING"), error("NOAUTH Authentication required."));
}

TEST_P(AuthenticationTest, AStrangerMayNotAnnounceMuch) {
  start_with_password();
  client().send("*10\r\n$16384\r\n");
  EXPECT_FALSE(client().readable_within(100)) << "10 arguments of 16 KB are within the limit";

  RespClient many = connect();
  many.send("*11\r\n");
  EXPECT_EQ(many.read_until_closed(), "-ERR Protocol error: unauthenticated multibulk length\r\n");

  RespClient large = connect();
  large.send("*2\r\n$4\r\nAUTH\r\n$16385\r\n");
  EXPECT_EQ(large.read_until_closed(), "-ERR Protocol error: unauthenticated bulk length\r\n");
}

TEST_P(AuthenticationTest, TheLimitsOfAStrangerEndWithThePassword) {
  start_with_password();
  const std::string item(20'000, 'x');
  // In one packet: the limits must follow the state after AUTH, not the one when bytes arrived.
  client().send(encode({"AUTH", "secret"}) + encode({"ECHO", item}));
  EXPECT_EQ(client().read(), ok());
  EXPECT_EQ(client().read().text.size(), item.size());
}

TEST_P(AuthenticationTest, APasswordSetAtRunTimeCountsForNewConnections) {
  start();
  EXPECT_EQ(client().call("CONFIG", "SET", "requirepass", "secret"), ok());
  EXPECT_EQ(connect().call("PING"), error("NOAUTH Authentication required."));
  RespClient other = connect();
  EXPECT_EQ(other.call("AUTH", "secret"), ok());
  EXPECT_EQ(other.call("CONFIG", "SET", "requirepass", ""), ok());
  EXPECT_EQ(connect().call("PING"), simple("PONG"));
}

TEST_P(AuthenticationTest, ThePasswordIsNotShownToOthers) {
  start({"requirepass secret-word", "slowlog-log-slower-than 0"});
  EXPECT_EQ(client().call("AUTH", "secret-word"), ok());
  RespClient monitor = connect();
  monitor.call("AUTH", "secret-word");
  EXPECT_EQ(monitor.call("MONITOR"), ok());
  RespClient other = connect();
  EXPECT_EQ(other.call("AUTH", "secret-word"), ok());
  EXPECT_EQ(other.call("ECHO", "marker"), bulk("marker"));
  std::string seen;
  while (seen.find("marker") == std::string::npos) {
    const Reply line = monitor.read();
    ASSERT_EQ(line.type, Reply::Type::kSimple);
    seen += line.text + "\n";
  }
  EXPECT_THAT(seen, Not(HasSubstr("secret-word")));
  for (const Reply& entry : client().call("SLOWLOG", "GET", "-1").elements) {
    EXPECT_THAT(entry[3].strings(), Not(::testing::Contains("secret-word")));
  }
  EXPECT_THAT(server().log(), Not(HasSubstr("secret-word")));
}

}  // namespace
}  // namespace iris::harness
