// A request may arrive in any pieces. The same conversation is sent whole, byte by byte, cut in two
// at every byte, and cut at random, and must be answered with the same bytes each time.
#include <random>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

class RequestSplitTest : public ServerTest {
 public:
  // An argument that looks like a request itself.
  static std::string binary() { return std::string("\0\r\n*1\r\n$4\r\nPING\r\n", 17); }

  // Everything with a reply that depends on nothing but the conversation itself. It ends with QUIT,
  // so all replies are read when the server closes.
  static std::string conversation() {
    std::string bytes;
    bytes += encode({"PING"});
    bytes += "PING inline\r\n";
    bytes += encode({"ECHO", binary()});
    bytes += "\r\n*0\r\n";
    bytes += encode({"ECHO", ""});
    bytes += "ECHO \"quo\\x74ed \\r\\n\" \n";
    bytes += encode({"NOPE", "a", "b"});
    bytes += encode({"SELECT", "7"});
    bytes += encode({"MULTI"}) + encode({"PING", "x"}) + encode({"ECHO", "y"}) + encode({"EXEC"});
    bytes += encode({"HELLO", "9"});
    bytes += encode({"CLIENT", "SETNAME", "splitter"}) + encode({"CLIENT", "GETNAME"});
    bytes += encode({"ECHO", std::string(300, 'z')});
    bytes += encode({"ECHO", "a", "b"});
    bytes += encode({"EXISTS", "no-such-key"});
    bytes += encode({"QUIT"});
    return bytes;
  }

  // The answer to `bytes` sent with pauses at the given offsets.
  std::string answer(const std::string& bytes, const std::vector<size_t>& cuts) {
    RespClient sender = connect();
    size_t begin = 0;
    for (const size_t cut : cuts) {
      sender.send(std::string_view(bytes).substr(begin, cut - begin));
      begin = cut;
    }
    sender.send(std::string_view(bytes).substr(begin));
    return sender.read_until_closed();
  }
};
IRIS_WITH_1_AND_4_THREADS(RequestSplitTest);

TEST_P(RequestSplitTest, TheWholeConversationIsAnsweredAsExpected) {
  start();
  EXPECT_EQ(answer(conversation(), {}),
            "+PONG\r\n$6\r\ninline\r\n$17\r\n" + binary() + "\r\n" +
                "$0\r\n\r\n$9\r\nquoted \r\n\r\n"
                "-ERR unknown command 'NOPE', with args beginning with: 'a' 'b' \r\n"
                "+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$1\r\nx\r\n$1\r\ny\r\n"
                "-NOPROTO unsupported protocol version\r\n+OK\r\n$8\r\nsplitter\r\n$300\r\n" +
                std::string(300, 'z') +
                "\r\n-ERR wrong number of arguments for 'echo' command\r\n:0\r\n+OK\r\n");
}

TEST_P(RequestSplitTest, ByteByByteGivesTheSameReplies) {
  start();
  const std::string bytes = conversation();
  std::vector<size_t> cuts;
  for (size_t i = 1; i < bytes.size(); ++i) cuts.push_back(i);
  EXPECT_EQ(answer(bytes, cuts), answer(bytes, {}));
}

TEST_P(RequestSplitTest, EveryCutInTwoGivesTheSameReplies) {
  start();
  const std::string bytes = conversation();
  const std::string expected = answer(bytes, {});
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    ASSERT_EQ(answer(bytes, {cut}), expected) << "cut at " << cut;
  }
}

TEST_P(RequestSplitTest, RandomCutsGiveTheSameReplies) {
  start();
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string bytes = conversation();
  const std::string expected = answer(bytes, {});
  for (int round = 0; round < 200; ++round) {
    std::vector<size_t> cuts;
    for (size_t at = 0;;) {
      at += 1 + random() % 60;
      if (at >= bytes.size()) break;
      cuts.push_back(at);
    }
    ASSERT_EQ(answer(bytes, cuts), expected) << ::testing::PrintToString(cuts);
  }
}

TEST_P(RequestSplitTest, InterleavedConversationsDoNotMix) {
  start();
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string bytes = conversation();
  const std::string expected = answer(bytes, {});
  struct Sender {
    RespClient client;
    size_t sent = 0;
  };
  std::vector<Sender> senders(20);
  for (Sender& sender : senders) sender.client = connect();
  for (size_t unfinished = senders.size(); unfinished > 0;) {
    Sender& sender = senders[random() % senders.size()];
    if (sender.sent == bytes.size()) continue;
    const size_t piece = std::min<size_t>(1 + random() % 40, bytes.size() - sender.sent);
    sender.client.send(std::string_view(bytes).substr(sender.sent, piece));
    sender.sent += piece;
    if (sender.sent == bytes.size()) --unfinished;
  }
  for (Sender& sender : senders) EXPECT_EQ(sender.client.read_until_closed(), expected);
}

// Requests of megabytes are read to another place than small ones, from their second megabyte on.
TEST_P(RequestSplitTest, LargeRequestsInterleavedWithSmallOnesDoNotMix) {
  IRIS_ONLY();
  start();
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::string> items(200'000);
  for (size_t i = 0; i < items.size(); ++i) items[i] = "item " + std::to_string(i);
  std::vector<std::string_view> many = {"BF.MADD", "f"};
  many.insert(many.end(), items.begin(), items.end());
  const std::string large(3'000'000, 'z');
  const std::string bytes =
      encode(many) + encode({"PING"}) + encode({"ECHO", large}) + encode({"BF.EXISTS", "f", "no"});
  ASSERT_EQ(client().command("BF.RESERVE f 0.000000000001 200000"), ok());
  RespClient sender = connect();
  for (size_t sent = 0; sent < bytes.size();) {
    const size_t piece = std::min<size_t>(1 + random() % 500'000, bytes.size() - sent);
    ASSERT_TRUE(sender.send(std::string_view(bytes).substr(sent, piece)));
    sent += piece;
    ASSERT_EQ(client().command("ECHO small"), bulk("small"));
  }
  EXPECT_EQ(sender.read(), array(std::vector<Reply>(items.size(), integer(1))));
  EXPECT_EQ(sender.read(), simple("PONG"));
  EXPECT_TRUE(sender.read() == bulk(large));
  EXPECT_EQ(sender.read(), integer(0));
  EXPECT_EQ(client().command("BF.CARD f"), integer(200'000));
}

TEST_P(RequestSplitTest, APipelineOfAnyDepthIsAnsweredInOrder) {
  start();
  constexpr int kDepth = 20'000;
  std::string bytes;
  for (int i = 0; i < kDepth; ++i) bytes += encode({"ECHO", std::to_string(i)});
  client().send(bytes);
  for (int i = 0; i < kDepth; ++i) ASSERT_EQ(client().read(), bulk(std::to_string(i)));
}

}  // namespace
}  // namespace iris::harness
