// What a server does with requests that are wrong, odd, or none at all.
#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

class ProtocolErrorTest : public ServerTest {};
IRIS_WITH_1_AND_4_THREADS(ProtocolErrorTest);

struct BadRequest {
  std::string_view bytes;
  std::string_view error;
};

TEST_P(ProtocolErrorTest, GetsRedisTextAndAClosedConnection) {
  start();
  const BadRequest cases[] = {
      {"*x\r\n", "invalid multibulk length"},
      {"*1.5\r\n", "invalid multibulk length"},
      {"* 1\r\n", "invalid multibulk length"},
      {"*+1\r\n", "invalid multibulk length"},
      {"*99999999999999999999\r\n", "invalid multibulk length"},
      {"*2147483648\r\n", "invalid multibulk length"},
      {"*1\r\nPING\r\n", "expected '$', got 'P'"},
      {"*1\r\n:4\r\n", "expected '$', got ':'"},
      {"*1\r\n$x\r\n", "invalid bulk length"},
      {"*1\r\n$-1\r\n", "invalid bulk length"},
      {"*1\r\n$\r\n", "invalid bulk length"},
      {"*1\r\n$536870913\r\n", "invalid bulk length"},
      {"*1\r\n$9223372036854775808\r\n", "invalid bulk length"},
      {"ECHO \"a\r\n", "unbalanced quotes in request"},
      {"ECHO 'a\r\n", "unbalanced quotes in request"},
      {"ECHO \"a\"b\r\n", "unbalanced quotes in request"},
  };
  for (const BadRequest& request : cases) {
    RespClient bad = connect();
    // What comes before the error is answered, what comes after it is not.
    bad.send(encode({"PING"}) + std::string(request.bytes) + encode({"PING"}));
    EXPECT_EQ(bad.read_until_closed(),
              "+PONG\r\n-ERR Protocol error: " + std::string(request.error) + "\r\n")
        << request.bytes;
  }
  EXPECT_EQ(client().call("PING"), simple("PONG")) << "others do not notice";
}

TEST_P(ProtocolErrorTest, LinesThatNeverEndAreCutOff) {
  start();
  const std::string endless(70'000, 'x');
  const BadRequest cases[] = {{"", "too big inline request"},
                              {"*", "too big mbulk count string"},
                              {"*1\r\n$", "too big bulk count string"}};
  for (const BadRequest& request : cases) {
    RespClient bad = connect();
    bad.send(std::string(request.bytes) + endless);
    EXPECT_EQ(bad.read(), error("ERR Protocol error: " + std::string(request.error)));
    EXPECT_TRUE(bad.closed_by_peer());
  }
}

TEST_P(ProtocolErrorTest, TheErrorNeverEchoesALineEnd) {
  start();
  for (const char odd : {'\r', '\n', '\0'}) {
    if (odd == '\0' && is_reference()) continue;  // Redis sees no line end behind a NUL, and waits
    RespClient bad = connect();
    bad.send(std::string("*1\r\n") + odd + std::string("+OK\r\n+OK\r\n"));
    const std::string text = bad.read_until_closed();
    EXPECT_TRUE(text.starts_with("-ERR Protocol error: expected '$'")) << text;
    EXPECT_EQ(text.find_first_of(std::string_view("\r\n\0", 3)), text.size() - 2)
        << "the only line end is the last one: " << ::testing::PrintToString(text);
  }
}

TEST_P(ProtocolErrorTest, EmptyRequestsAreSkipped) {
  start();
  client().send("\r\n\r\n*0\r\n*-1\r\n\n" + encode({"PING"}) + "*-10\r\n" + encode({"ECHO", "x"}));
  EXPECT_EQ(client().read(), simple("PONG"));
  EXPECT_EQ(client().read(), bulk("x"));
}

TEST_P(ProtocolErrorTest, InlineCommandsKnowQuotes) {
  start();
  const BadRequest cases[] = {
      {"ECHO hello\r\n", "hello"},
      {"ECHO hello\n", "hello"},
      {"  ECHO \t hello  \r\n", "hello"},
      {"echo \"two words\"\r\n", "two words"},
      {"echo 'two words'\r\n", "two words"},
      {"echo \"a\\x41\\n\\r\\t\\\"\\\\\"\r\n", "aA\n\r\t\"\\"},
      {"echo 'it\\'s'\r\n", "it's"},
      {"echo '\\n'\r\n", "\\n"},
      {"echo \"\"\r\n", ""},
      {"\"ECHO\" 'x'\r\n", "x"},
  };
  for (const BadRequest& request : cases) {
    client().send(request.bytes);
    EXPECT_EQ(client().read(), bulk(request.error)) << request.bytes;
  }
}

TEST_P(ProtocolErrorTest, InlineAndRespRequestsMix) {
  start();
  client().send("PING\r\n" + encode({"ECHO", "a"}) + "PING b\n" + encode({"PING"}) + "QUIT\r\n");
  EXPECT_EQ(client().read_until_closed(), "+PONG\r\n$1\r\na\r\n$1\r\nb\r\n+PONG\r\n+OK\r\n");
}

TEST_P(ProtocolErrorTest, WebPagesCannotSendCommands) {
  start();
  for (const char* request :
       {"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nFLUSHALL\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nPING\r\n", "host: x\r\nPING\r\n"}) {
    RespClient browser = connect();
    browser.send(request);
    const std::string answer = browser.read_until_closed();
    EXPECT_EQ(answer.find("PONG"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("+OK"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("<still open>"), std::string::npos) << answer;
  }
}

TEST_P(ProtocolErrorTest, AHalfClosedConnectionStillLeavesTheServerWell) {
  start();
  {
    RespClient half = connect();
    half.send("*2\r\n$4\r\nECHO\r\n$100\r\nonly a part");
    half.shutdown_write();
    EXPECT_TRUE(half.closed_by_peer());
    RespClient reset = connect();
    reset.send(encode({"PING"}) + "*1\r\n$4");
    reset.reset_on_close();
  }
  EXPECT_EQ(client().call("PING"), simple("PONG"));
  EXPECT_TRUE(
      wait_until([&] { return info_integer(client(), "clients", "connected_clients") == 1; }));
}

TEST_P(ProtocolErrorTest, TheLargestBulkIsAsConfigured) {
  start({"proto-max-bulk-len 1mb"});
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(client().call("ECHO", large).text.size(), large.size());
  client().send("*2\r\n$4\r\nECHO\r\n$1048577\r\n");
  EXPECT_EQ(client().read_until_closed(), "-ERR Protocol error: invalid bulk length\r\n");
}

}  // namespace
}  // namespace iris::harness
