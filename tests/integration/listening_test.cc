// Where the server listens: several addresses, IPv6, a Unix socket and its mode, a port in use.
#include <sys/stat.h>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::HasSubstr;

class ListeningTest : public ServerTest {
 public:
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode : 0;
  }
};
IRIS_WITH_1_AND_4_THREADS(ListeningTest);

// What the kernel says of an address without any server: ECONNREFUSED means that it is there.
bool machine_has_ipv6() {
  return RespClient::to_tcp("::1", free_port()).connect_error() == ECONNREFUSED;
}

TEST_P(ListeningTest, ListensOnEveryAddressThatBindNames) {
  start({"bind 127.0.0.1 127.0.0.2"});
  EXPECT_EQ(server().connect("127.0.0.1").call("PING"), simple("PONG"));
  EXPECT_EQ(server().connect("127.0.0.2").call("PING"), simple("PONG"));
  EXPECT_FALSE(RespClient::to_tcp("127.0.0.3", server().port()).connected());
  EXPECT_EQ(config(client(), "bind"), "127.0.0.1 127.0.0.2");
}

TEST_P(ListeningTest, ListensOnIPv6) {
  if (!machine_has_ipv6()) GTEST_SKIP() << "this machine has no ::1";
  start({"bind 127.0.0.1 ::1"});
  RespClient six = server().connect("::1");
  EXPECT_EQ(six.call("PING"), simple("PONG"));
  EXPECT_THAT(six.call("CLIENT", "INFO").text, HasSubstr(" addr=[::1]:"));
  EXPECT_EQ(client().call("PING"), simple("PONG"));
}

TEST_P(ListeningTest, AnOptionalAddressMayBeMissing) {
  // 192.0.2.0/24 is reserved for documentation: no machine has it.
  start({"bind 127.0.0.1 -192.0.2.1"});
  EXPECT_EQ(client().call("PING"), simple("PONG"));
}

TEST_P(ListeningTest, TheUnixSocketHasItsMode) {
  start({"unixsocket socket", "unixsocketperm 700"});
  struct stat status {};
  ASSERT_EQ(::stat(server().unix_socket().c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  RespClient local = RespClient::to_unix(server().unix_socket());
  EXPECT_EQ(local.call("PING"), simple("PONG"));
  EXPECT_THAT(local.call("CLIENT", "INFO").text, HasSubstr(" flags=U"));
}

TEST_P(ListeningTest, TheUnixSocketIsEnoughAndIsRemovedAtTheEnd) {
  start({"port 0", "unixsocket socket"});
  EXPECT_EQ(client().call("PING"), simple("PONG"));
  EXPECT_FALSE(RespClient::to_tcp("127.0.0.1", server().port()).connected());
  EXPECT_EQ(server().stop(), 0);
  EXPECT_EQ(mode_of(server().unix_socket()), 0U);
}

TEST_P(ListeningTest, AnOldSocketFileIsReplaced) {
  start({"unixsocket socket"});
  server().expect_bad_exit();
  server().kill(SIGKILL);
  server().wait_for_exit();
  ASSERT_NE(mode_of(server().unix_socket()), 0U) << "a killed server leaves its socket file";
  ASSERT_TRUE(server().start());
  EXPECT_EQ(RespClient::to_unix(server().unix_socket()).call("PING"), simple("PONG"));
}

TEST_P(ListeningTest, APortInUseStopsTheStartWithAClearMessage) {
  start();
  const ProgramResult second =
      run_program({server_program(), "--port", std::to_string(server().port()), "--bind",
                   "127.0.0.1", "--dir", server().dir()});
  EXPECT_NE(second.exit_code, 0);
  EXPECT_THAT(second.output, HasSubstr(std::to_string(server().port())));
  EXPECT_THAT(second.output, HasSubstr("in use"));
  EXPECT_EQ(client().call("PING"), simple("PONG"));
}

TEST_P(ListeningTest, ARestartTakesThePortAtOnce) {
  start();
  // Connections that the server closes first leave their ports in TIME_WAIT.
  for (int i = 0; i < 10; ++i) EXPECT_EQ(connect().call("QUIT"), ok());
  const int port = server().port();
  ASSERT_TRUE(server().restart());
  EXPECT_EQ(server().port(), port);
  EXPECT_EQ(connect().call("PING"), simple("PONG"));
}

}  // namespace
}  // namespace iris::harness
