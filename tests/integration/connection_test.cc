// Commands about the connection itself: PING ECHO QUIT HELLO AUTH SELECT RESET.
#include <chrono>
#include <thread>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ConnectionTest : public ServerTest {};
IRIS_WITH_1_AND_4_THREADS(ConnectionTest);

TEST_P(ConnectionTest, PingAnswersPongOrItsArgument) {
  start();
  EXPECT_EQ(client().call("PING"), simple("PONG"));
  EXPECT_EQ(client().call("ping", "hello"), bulk("hello"));
  EXPECT_EQ(client().call("PING", "a", "b"),
            error("ERR wrong number of arguments for 'ping' command"));
}

TEST_P(ConnectionTest, EchoReturnsAnyBytes) {
  start();
  const std::string bytes("\0\r\n\xff\"'", 6);
  EXPECT_EQ(client().call("ECHO", bytes), bulk(bytes));
  EXPECT_EQ(client().call("ECHO", ""), bulk(""));
  EXPECT_EQ(client().call("ECHO"), error("ERR wrong number of arguments for 'echo' command"));
}

TEST_P(ConnectionTest, EchoReturnsAMegabyteUnchanged) {
  start();
  std::string bytes(1 << 20, 'x');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  EXPECT_EQ(client().call("ECHO", bytes).text == bytes, true);
}

TEST_P(ConnectionTest, QuitAnswersOkAndCloses) {
  start();
  client().send(encode({"PING"}) + encode({"QUIT"}) + encode({"PING"}));
  EXPECT_EQ(client().read_until_closed(), "+PONG\r\n+OK\r\n");
}

TEST_P(ConnectionTest, HelloNamesTheServerInTheOrderClientsExpect) {
  start();
  for (const char* version : {"2", "3"}) {
    const Reply reply = client().call("HELLO", version);
    ASSERT_EQ(reply.type, *version == '3' ? Reply::Type::kMap : Reply::Type::kArray);
    ASSERT_EQ(reply.size(), 14U);
    std::vector<std::string> keys;
    for (size_t i = 0; i < reply.size(); i += 2) {
      EXPECT_EQ(reply[i].type, Reply::Type::kBulk);
      keys.push_back(reply[i].text);
    }
    EXPECT_THAT(keys, ElementsAre("server", "version", "proto", "id", "mode", "role", "modules"));
    EXPECT_EQ(reply.at("server"), bulk("redis"));
    EXPECT_EQ(reply.at("version").type, Reply::Type::kBulk);
    EXPECT_EQ(reply.at("proto"), integer(*version - '0'));
    EXPECT_EQ(reply.at("id"), client().call("CLIENT", "ID"));
    EXPECT_EQ(reply.at("mode"), bulk("standalone"));
    EXPECT_EQ(reply.at("role"), bulk("master"));
    EXPECT_EQ(reply.at("modules").type, Reply::Type::kArray);
    if (!is_reference()) {
      EXPECT_EQ(reply.at("version"), bulk("7.2.4"));
      ASSERT_GE(reply.at("modules").size(), 1U);
      EXPECT_EQ(reply.at("modules")[0].at("name"), bulk("bf"));
    }
  }
}

TEST_P(ConnectionTest, HelloWithoutAVersionKeepsTheProtocol) {
  start();
  EXPECT_EQ(client().call("HELLO").at("proto"), integer(2));
  client().call("HELLO", "3");
  EXPECT_EQ(client().call("HELLO").at("proto"), integer(3));
  EXPECT_EQ(client().call("HELLO", "2").at("proto"), integer(2));
}

TEST_P(ConnectionTest, HelloRefusesOtherVersionsAndOptions) {
  start();
  EXPECT_EQ(client().call("HELLO", "1"), error("NOPROTO unsupported protocol version"));
  EXPECT_EQ(client().call("HELLO", "4"), error("NOPROTO unsupported protocol version"));
  EXPECT_EQ(client().call("HELLO", "x"),
            error("ERR Protocol version is not an integer or out of range"));
  EXPECT_EQ(client().call("HELLO", "3", "FOO"), error("ERR Syntax error in HELLO option 'FOO'"));
  EXPECT_EQ(client().call("HELLO", "3", "AUTH", "user"),
            error("ERR Syntax error in HELLO option 'AUTH'"));
  EXPECT_EQ(client().call("HELLO").at("proto"), integer(2)) << "a refused HELLO changes nothing";
}

TEST_P(ConnectionTest, HelloSetsTheName) {
  start();
  EXPECT_EQ(client().call("HELLO", "3", "SETNAME", "bee").type, Reply::Type::kMap);
  EXPECT_EQ(client().call("CLIENT", "GETNAME"), bulk("bee"));
  EXPECT_THAT(client().call("HELLO", "3", "SETNAME", "two words").text,
              HasSubstr("Client names cannot contain spaces, newlines or special characters."));
}

TEST_P(ConnectionTest, SelectTakesSixteenDatabases) {
  start();
  EXPECT_EQ(client().call("SELECT", "15"), ok());
  EXPECT_EQ(client().call("SELECT", "16"), error("ERR DB index is out of range"));
  EXPECT_EQ(client().call("SELECT", "-1"), error("ERR DB index is out of range"));
  EXPECT_EQ(client().call("SELECT", "one"), error("ERR value is not an integer or out of range"));
  EXPECT_THAT(client().call("CLIENT", "INFO").text, HasSubstr(" db=15 "));
}

TEST_P(ConnectionTest, ResetRestoresAFreshConnection) {
  start();
  client().call("HELLO", "3");
  client().call("SELECT", "3");
  client().call("CLIENT", "SETNAME", "bee");
  EXPECT_EQ(client().call("MULTI"), ok());
  EXPECT_EQ(client().call("RESET"), simple("RESET"));
  EXPECT_EQ(client().call("CLIENT", "GETNAME"), nil());
  EXPECT_EQ(client().call("EXEC"), error("ERR EXEC without MULTI"));
  EXPECT_THAT(client().call("CLIENT", "INFO").text, HasSubstr(" db=0 "));
}

TEST_P(ConnectionTest, UnknownCommandsAreNamedWithTheirArguments) {
  start();
  EXPECT_EQ(client().call("nope"), error("ERR unknown command 'nope', with args beginning with: "));
  EXPECT_EQ(client().call("NOPE", "a", "b c"),
            error("ERR unknown command 'NOPE', with args beginning with: 'a' 'b c' "));
  const std::string text = client().call("nope", std::string(1000, 'x'), "tail").text;
  EXPECT_THAT(text, HasSubstr("'" + std::string(128, 'x') + "'"))
      << "arguments are cut at 128 bytes";
}

TEST_P(ConnectionTest, ErrorsNeverCarryRawLineEnds) {
  start();
  // If a CR or LF came through raw, the rest of the text would be read as another reply.
  client().send(encode({std::string_view("a\r\n+OK\0b", 8), "c\r\n:1", "d\ne\rf"}) +
                encode({"PING"}));
  EXPECT_THAT(client().read().text, StartsWith("ERR unknown command 'a"));
  EXPECT_EQ(client().read(), simple("PONG"));
}

TEST_P(ConnectionTest, WhatCameBeforeAResetIsRun) {
  IRIS_ONLY();
  start();
  RespClient broken = connect();
  EXPECT_EQ(broken.call("PING"), simple("PONG"));
  // While the worker sleeps, both the request and the reset arrive. Should they come too early, the
  // test shows less, but passes all the same.
  RespClient busy = connect();
  busy.send_command({"DEBUG", "SLEEP", "0.3"});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  broken.send_command({"BF.ADD", "words", "last"});
  broken.reset_on_close();
  broken.close();
  EXPECT_EQ(busy.read(), ok());
  EXPECT_EQ(client().call("BF.EXISTS", "words", "last"), integer(1));
}

TEST_P(ConnectionTest, ManyConnectionsHaveTheirOwnState) {
  start();
  std::vector<RespClient> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(clients.back().call("SELECT", std::to_string(i % 16)), ok());
    EXPECT_EQ(clients.back().call("CLIENT", "SETNAME", "c" + std::to_string(i)), ok());
    if (i % 2 == 1) clients.back().call("HELLO", "3");
  }
  for (int i = 0; i < 40; ++i) {
    const Reply reply = clients[static_cast<size_t>(i)].call("CLIENT", "INFO");
    EXPECT_THAT(std::string(reply.string()),
                ::testing::AllOf(HasSubstr(" name=c" + std::to_string(i) + " "),
                                 HasSubstr(" db=" + std::to_string(i % 16) + " "),
                                 HasSubstr(i % 2 == 1 ? " resp=3" : " resp=2")));
  }
}

}  // namespace
}  // namespace iris::harness
