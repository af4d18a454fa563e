// One filter and many connections: no acknowledged item is ever missed, counts are exact, a huge
// command neither stops the others nor costs more than a byte an item while its reply waits.
#include <sys/socket.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

constexpr int kMillion = 1'000'000;

std::string item_of(int writer, int number) {
  return std::to_string(writer) + ":" + std::to_string(number);
}

class BloomThreadsTest : public ServerTest {
 public:
  // A field of the connection's line in CLIENT LIST, asked for by another connection.
  int64_t client_field(int64_t id, std::string_view field) {
    const std::string line = client().call("CLIENT", "LIST", "ID", std::to_string(id)).text;
    const size_t at = line.find(" " + std::string(field) + "=");
    return at == std::string::npos ? -1 : std::stoll(line.substr(at + field.size() + 2));
  }
};
IRIS_WITH_1_AND_4_THREADS(BloomThreadsTest);

TEST_P(BloomThreadsTest, NoAcknowledgedItemIsMissedWhileTheFilterGrows) {
  start();
  constexpr int kWriters = 4, kBatch = 50;
  const int items = kSanitized ? 4'000 : 40'000;
  for (const std::string layout : {"BLOCKED", "PAGED", "CLASSIC"}) {
    // From 100 items to 160,000: some ten layers.
    ASSERT_EQ(client().call("BF.RESERVE", layout, "0.001", "100", "LAYOUT", layout), ok());
    std::array<std::atomic<int>, kWriters> acknowledged{};
    std::atomic<int64_t> added{0}, missed{0}, errors{0};
    std::atomic<bool> writing{true};
    std::vector<std::thread> writers, readers;
    for (int w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, w] {
        RespClient mine = connect();
        for (int i = 0; i < items; i += kBatch) {
          std::vector<std::string> batch;
          for (int j = i; j < i + kBatch; ++j) batch.push_back(item_of(w, j));
          std::vector<std::string_view> request = {"BF.MADD", layout};
          request.insert(request.end(), batch.begin(), batch.end());
          // Writers of odd number add one by one.
          if (w % 2 == 1) {
            for (const std::string& item : batch) mine.send_command({"BF.ADD", layout, item});
          } else {
            mine.send_command(request);
          }
          const std::vector<Reply> replies = mine.read_replies(w % 2 == 1 ? kBatch : 1);
          for (const Reply& reply : w % 2 == 1 ? replies : replies[0].elements) {
            if (reply.type != Reply::Type::kInteger) ++errors;
            added += reply.integer;
          }
          acknowledged[static_cast<size_t>(w)] = i + kBatch;
        }
      });
    }
    for (int r = 0; r < 2; ++r) {
      readers.emplace_back([&, r] {
        RespClient mine = connect();
        std::mt19937 random(static_cast<unsigned>(r));
        while (writing) {
          std::vector<std::string> items_seen;
          for (int w = 0; w < kWriters; ++w) {
            const int known = acknowledged[static_cast<size_t>(w)];
            for (int i = 0; i < 10 && known > 0; ++i) {
              // The newest and any.
              const int number =
                  i == 0 ? known - 1 : static_cast<int>(random() % static_cast<unsigned>(known));
              items_seen.push_back(item_of(w, number));
            }
          }
          if (items_seen.empty()) continue;
          std::vector<std::string_view> request = {"BF.MEXISTS", layout};
          request.insert(request.end(), items_seen.begin(), items_seen.end());
          const Reply reply = mine.call_args(request);
          if (reply.size() != items_seen.size()) ++errors;
          for (const Reply& answer : reply.elements) missed += answer.integer == 1 ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : writers) thread.join();
    writing = false;
    for (std::thread& thread : readers) thread.join();
    EXPECT_EQ(errors, 0) << layout;
    EXPECT_EQ(missed, 0) << layout;
    EXPECT_EQ(client().call("BF.CARD", layout), integer(added)) << layout;
    EXPECT_GT(client().call("BF.INFO", layout, "FILTERS")[0].integer, 3);
    // Two who found the same layer full must not both add one.
    const std::vector<std::string> layers = client().call("BF.DEBUG", layout).strings();
    for (size_t i = 1; i + 1 < layers.size(); ++i) {
      long capacity = 0, size = 0;
      const char* figures = std::strstr(layers[i].c_str(), "capacity:");
      ASSERT_NE(figures, nullptr) << layers[i];
      ASSERT_EQ(std::sscanf(figures, "capacity:%ld size:%ld", &capacity, &size), 2) << layers[i];
      EXPECT_EQ(size, capacity) << layers[i];
    }
    // At 0.1 % some new items look known.
    EXPECT_NEAR(static_cast<double>(added), kWriters * items, 0.01 * kWriters * items) << layout;
  }
}

TEST_P(BloomThreadsTest, ItemsThatAllWantToAddAreNewForExactlyOneOfThem) {
  start();
  constexpr int kWriters = 4;
  const int items = kSanitized ? 2'000 : 20'000;
  // So many bits that no item is taken for another.
  ASSERT_EQ(client().command("BF.RESERVE f 0.000000000001 100"), ok());
  std::vector<std::atomic<int>> firsts(static_cast<size_t>(items));
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&] {
      RespClient mine = connect();
      constexpr int kBatch = 200;
      for (int i = 0; i < items; i += kBatch) {
        for (int j = i; j < i + kBatch; ++j) {
          mine.send_command({"BF.ADD", "f", std::to_string(j)});
        }
        const std::vector<Reply> replies = mine.read_replies(kBatch);
        for (size_t j = 0; j < replies.size(); ++j) {
          if (replies[j] == integer(1)) ++firsts[static_cast<size_t>(i) + j];
        }
      }
    });
  }
  for (std::thread& thread : writers) thread.join();
  for (size_t i = 0; i < firsts.size(); ++i) ASSERT_EQ(firsts[i], 1) << i;
  EXPECT_EQ(client().command("BF.CARD f"), integer(items));
}

TEST_P(BloomThreadsTest, AMillionItemsInOneCommandLeaveTheOthersAtWork) {
  start();
  const int items = kSanitized ? 100'000 : kMillion;
  client().call("BF.RESERVE", "f", "0.01", std::to_string(items));
  client().command("BF.ADD small x");
  std::string request = "*" + std::to_string(items + 2) + "\r\n$7\r\nBF.MADD\r\n$1\r\nf\r\n";
  for (int i = 0; i < items; ++i) {
    const std::string item = std::to_string(i);
    request += "$" + std::to_string(item.size()) + "\r\n" + item + "\r\n";
  }
  std::array<RespClient, 8> others;
  for (RespClient& other : others) other = connect();
  RespClient big = connect();
  // All but the end, so that what follows is the command at work and not its transport.
  ASSERT_TRUE(big.send(std::string_view(request).substr(0, request.size() - 2)));
  ASSERT_TRUE(big.send("\r\n"));
  std::array<int, 8> served{};
  for (RespClient& other : others) other.send_command({"BF.EXISTS", "small", "x"});
  while (!big.readable_within(0)) {
    for (size_t i = 0; i < others.size(); ++i) {
      if (!others[i].readable_within(1)) continue;
      ASSERT_EQ(others[i].read(), integer(1));
      ++served[i];
      others[i].send_command({"BF.EXISTS", "small", "x"});
    }
  }
  const Reply reply = big.read();
  ASSERT_EQ(reply.size(), static_cast<size_t>(items));
  int64_t added = 0;
  for (const Reply& answer : reply.elements) added += answer.integer;
  EXPECT_EQ(client().command("BF.CARD f"), integer(added));
  EXPECT_GT(added, items * 98 / 100);
  if (GetParam() == 4 && !kSanitized) {
    // Connections are spread over the workers; those of the busy one may have to wait.
    EXPECT_GE(std::count_if(served.begin(), served.end(), [](int n) { return n > 0; }), 4);
  }
}

// A million answers are four million bytes of RESP, but one byte each until they are sent.
TEST_P(BloomThreadsTest, TheReplyOfASlowReaderWaitsAsAByteAnItem) {
  start();
  client().command("BF.ADD f a");
  RespClient slow = connect();
  const int small = 64 << 10;
  ::setsockopt(slow.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  const int64_t id = slow.command("CLIENT ID").integer;
  const int items = kSanitized ? 200'000 : kMillion;
  constexpr int kCommands = 8;
  std::string request = "*" + std::to_string(items + 2) + "\r\n$10\r\nBF.MEXISTS\r\n$1\r\nf\r\n";
  for (int i = 0; i < items; ++i) request += i % 2 == 0 ? "$1\r\na\r\n" : "$1\r\nb\r\n";
  std::thread sender([&] {
    for (int i = 0; i < kCommands; ++i) slow.send(request);
  });
  // Until nothing moves any more: all commands ran, or the server reads no further.
  int64_t waiting = -1, most = 0;
  EXPECT_TRUE(wait_until([&] {
    const int64_t now = client_field(id, "omem");
    most = std::max(most, now);
    const bool still = now == waiting && now > items;
    waiting = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return still;
  }));
  EXPECT_LE(most, static_cast<int64_t>(kCommands) * items * 11 / 10 + (1 << 20));
  for (int i = 0; i < kCommands; ++i) {
    const Reply reply = slow.read();
    ASSERT_EQ(reply.size(), static_cast<size_t>(items)) << i;
    EXPECT_EQ(reply[0], integer(1));
    EXPECT_EQ(reply[static_cast<size_t>(items) - 1], integer(0));
  }
  sender.join();
  EXPECT_EQ(slow.command("PING"), simple("PONG"));
}

// What was asked for in RESP2 is answered in RESP2, even if it is sent after HELLO 3.
TEST_P(BloomThreadsTest, ALongReplyKeepsTheProtocolInWhichItWasAskedFor) {
  start();
  client().command("BF.ADD f a");
  RespClient slow = connect();
  const int small = 16 << 10;
  ::setsockopt(slow.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  const int items = kMillion;
  std::string request = "*" + std::to_string(items + 2) + "\r\n$10\r\nBF.MEXISTS\r\n$1\r\nf\r\n";
  for (int i = 0; i < items; ++i) request += "$1\r\na\r\n";
  ASSERT_TRUE(slow.send(request + encode({"HELLO", "3"})));
  const Reply reply = slow.read();
  ASSERT_EQ(reply.size(), static_cast<size_t>(items));
  const auto is_one = [](const Reply& answer) { return answer == integer(1); };
  EXPECT_EQ(std::count_if(reply.elements.begin(), reply.elements.end(), is_one), items);
  EXPECT_EQ(slow.read().type, Reply::Type::kMap);
}

}  // namespace
}  // namespace iris::harness
