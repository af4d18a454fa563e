// CLIENT: names, LIST and INFO, KILL, REPLY, and the small switches that libraries send.
#include <regex>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ClientCommandTest : public ServerTest {
 public:
  static std::string id_of(RespClient& client) {
    return std::to_string(client.call("CLIENT", "ID").integer);
  }
};
IRIS_WITH_1_AND_4_THREADS(ClientCommandTest);

TEST_P(ClientCommandTest, NamesAreKeptAndChecked) {
  start();
  EXPECT_EQ(client().call("CLIENT", "GETNAME"), nil());
  EXPECT_EQ(client().call("CLIENT", "SETNAME", "bee"), ok());
  EXPECT_EQ(client().call("CLIENT", "GETNAME"), bulk("bee"));
  for (const char* bad : {"two words", "line\nend", "tab\t"}) {
    EXPECT_EQ(client().call("CLIENT", "SETNAME", bad),
              error("ERR Client names cannot contain spaces, newlines or special characters."));
  }
  EXPECT_EQ(client().call("CLIENT", "GETNAME"), bulk("bee"));
  EXPECT_EQ(client().call("CLIENT", "SETNAME", ""), ok());
  EXPECT_EQ(client().call("CLIENT", "GETNAME"), nil());
}

TEST_P(ClientCommandTest, IdsGrow) {
  start();
  const int64_t first = client().call("CLIENT", "ID").integer;
  RespClient later = connect();
  EXPECT_GT(later.call("CLIENT", "ID").integer, first);
  EXPECT_EQ(client().call("CLIENT", "ID"), integer(first));
}

TEST_P(ClientCommandTest, InfoDescribesTheConnection) {
  start();
  client().call("SELECT", "2");
  client().call("CLIENT", "SETNAME", "bee");
  const Reply reply = client().call("CLIENT", "INFO");
  EXPECT_EQ(reply.type, Reply::Type::kBulk);
  const std::regex shape(
      R"(id=\d+ addr=127\.0\.0\.1:\d+ laddr=127\.0\.0\.1:\d+ fd=\d+ name=bee age=\d+ idle=\d+ )"
      R"(flags=N db=2 sub=0 psub=0 .*multi=-1 .*qbuf=\d+ qbuf-free=\d+ .*obl=\d+ oll=\d+ )"
      R"(omem=\d+ tot-mem=\d+ events=\S+ cmd=client\|info user=default .*resp=2.*\n)");
  EXPECT_TRUE(std::regex_match(reply.text, shape)) << reply.text;
}

TEST_P(ClientCommandTest, InfoIsVerbatimTextInResp3) {
  start();
  RespClient three = connect_resp3();
  const Reply reply = three.call("CLIENT", "INFO");
  EXPECT_EQ(reply.type, Reply::Type::kVerbatim);
  EXPECT_EQ(reply.text.substr(0, 4), "txt:");
}

TEST_P(ClientCommandTest, LibrariesIntroduceThemselves) {
  IRIS_ONLY();  // Redis has it from 7.2 on
  start();
  EXPECT_EQ(client().call("CLIENT", "SETINFO", "LIB-NAME", "redis-py"), ok());
  EXPECT_EQ(client().call("CLIENT", "SETINFO", "lib-ver", "5.0.1"), ok());
  EXPECT_THAT(client().call("CLIENT", "INFO").text,
              AllOf(HasSubstr(" lib-name=redis-py "), HasSubstr(" lib-ver=5.0.1")));
  EXPECT_EQ(client().call("CLIENT", "SETINFO", "LIB-COLOR", "x"),
            error("ERR Unrecognized option 'LIB-COLOR'"));
  EXPECT_TRUE(client().call("CLIENT", "SETINFO", "LIB-NAME", "a b").is_error("ERR"));
}

TEST_P(ClientCommandTest, ListShowsEveryoneOnALine) {
  start();
  std::vector<RespClient> others;
  for (int i = 0; i < 5; ++i) {
    others.push_back(connect());
    EXPECT_EQ(others.back().call("CLIENT", "SETNAME", "other" + std::to_string(i)), ok());
  }
  const std::string list = client().call("CLIENT", "LIST").text;
  for (int i = 0; i < 5; ++i) EXPECT_THAT(list, HasSubstr(" name=other" + std::to_string(i) + " "));
  EXPECT_EQ(list.back(), '\n');

  const std::string id = id_of(others[3]);
  const std::string one = client().call("CLIENT", "LIST", "ID", id).text;
  EXPECT_THAT(one, AllOf(HasSubstr("id=" + id + " "), HasSubstr("name=other3"),
                         Not(HasSubstr("name=other2"))));
  EXPECT_EQ(client().call("CLIENT", "LIST", "TYPE", "replica"), bulk(""));
  EXPECT_THAT(client().call("CLIENT", "LIST", "TYPE", "normal").text, HasSubstr("name=other0"));
  EXPECT_EQ(client().call("CLIENT", "LIST", "TYPE", "x"), error("ERR Unknown client type 'x'"));
  EXPECT_EQ(client().call("CLIENT", "LIST", "ID", "x"), error("ERR Invalid client ID"));
}

TEST_P(ClientCommandTest, ListShowsWhoIsInATransaction) {
  start();
  RespClient other = connect();
  other.call("WATCH", "a", "b");
  other.call("MULTI");
  other.call("PING");
  other.call("PING");
  EXPECT_THAT(client().call("CLIENT", "LIST", "ID", id_of(client())).text, HasSubstr(" multi=-1 "));
  EXPECT_TRUE(wait_until([&] {
    const std::string list = client().call("CLIENT", "LIST").text;
    return list.find(" flags=x ") != std::string::npos &&
           list.find(" multi=2 ") != std::string::npos;
  })) << client().call("CLIENT", "LIST").text;
}

TEST_P(ClientCommandTest, KillEndsTheOneWithThatAddress) {
  start();
  RespClient other = connect(), third = connect();
  const std::string text = other.call("CLIENT", "INFO").text;
  const size_t at = text.find("addr=") + 5;
  EXPECT_EQ(client().call("CLIENT", "KILL", text.substr(at, text.find(' ', at) - at)), ok());
  EXPECT_TRUE(other.closed_by_peer());
  EXPECT_EQ(third.call("PING"), simple("PONG"));
  EXPECT_EQ(client().call("CLIENT", "KILL", "1.2.3.4:5"), error("ERR No such client"));
}

TEST_P(ClientCommandTest, KillFiltersCountThoseWhoEnded) {
  start();
  RespClient other = connect();
  EXPECT_EQ(client().call("CLIENT", "KILL", "ID", id_of(other)), integer(1));
  EXPECT_TRUE(other.closed_by_peer());
  EXPECT_EQ(client().call("CLIENT", "KILL", "ID", "123456789"), integer(0));
  EXPECT_EQ(client().call("CLIENT", "KILL", "ID", "0"),
            error("ERR client-id should be greater than 0"));
  EXPECT_EQ(client().call("CLIENT", "KILL", "ID", "x"),
            error("ERR client-id should be greater than 0"));
  EXPECT_EQ(client().call("CLIENT", "KILL", "COLOR", "x"), error("ERR syntax error"));
  std::vector<RespClient> many;
  for (int i = 0; i < 10; ++i) {
    many.push_back(connect());
    EXPECT_EQ(many.back().call("PING"), simple("PONG"));
  }
  EXPECT_EQ(client().call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"), integer(10));
  for (RespClient& ended : many) EXPECT_TRUE(ended.closed_by_peer());
  EXPECT_EQ(client().call("PING"), simple("PONG")) << "SKIPME yes is the default";
}

TEST_P(ClientCommandTest, WhoKillsItselfGetsTheReplyFirst) {
  start();
  client().send_command({"CLIENT", "KILL", "ID", id_of(client()), "SKIPME", "no"});
  EXPECT_EQ(client().read_until_closed(), ":1\r\n");
}

TEST_P(ClientCommandTest, RepliesCanBeSwitchedOff) {
  start();
  client().send(encode({"CLIENT", "REPLY", "OFF"}) + encode({"PING", "1"}) +
                encode({"CLIENT", "REPLY", "ON"}) + encode({"PING", "2"}) +
                encode({"CLIENT", "REPLY", "SKIP"}) + encode({"PING", "3"}) +
                encode({"PING", "4"}));
  EXPECT_EQ(client().read(), ok()) << "of CLIENT REPLY ON";
  EXPECT_EQ(client().read(), bulk("2"));
  EXPECT_EQ(client().read(), bulk("4"));
  EXPECT_EQ(client().call("CLIENT", "REPLY", "MAYBE"), error("ERR syntax error"));
}

TEST_P(ClientCommandTest, SwitchesAreAccepted) {
  start();
  EXPECT_EQ(client().call("CLIENT", "NO-EVICT", "on"), ok());
  EXPECT_EQ(client().call("CLIENT", "NO-EVICT", "off"), ok());
  EXPECT_EQ(client().call("CLIENT", "NO-EVICT", "x"), error("ERR syntax error"));
  if (is_reference()) return;  // NO-TOUCH is of Redis 7.2
  EXPECT_EQ(client().call("CLIENT", "NO-TOUCH", "on"), ok());
  EXPECT_EQ(client().call("CLIENT", "NO-TOUCH", "off"), ok());
}

TEST_P(ClientCommandTest, UnknownSubcommandsAreErrors) {
  start();
  EXPECT_EQ(client().call("CLIENT", "DANCE"),
            error("ERR unknown subcommand 'DANCE'. Try CLIENT HELP."));
  EXPECT_EQ(client().call("CLIENT"), error("ERR wrong number of arguments for 'client' command"));
  EXPECT_EQ(client().call("CLIENT", "SETNAME"),
            error("ERR wrong number of arguments for 'client|setname' command"));
}

}  // namespace
}  // namespace iris::harness
