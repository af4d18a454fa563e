// One spectral filter and many connections: no increment is lost, while the filter grows, while
// others take away and while keys come and go.
#include <atomic>
#include <thread>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

constexpr int kConnections = 4;

class SpectralThreadsTest : public ServerTest {
 public:
  // Runs `work(connection, number)` on four connections at once.
  template <typename Work>
  void at_once(Work work) {
    std::vector<std::thread> threads;
    for (int number = 0; number < kConnections; ++number) {
      threads.emplace_back([this, work, number] {
        RespClient mine = connect();
        work(mine, number);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};
IRIS_WITH_1_AND_4_THREADS(SpectralThreadsTest);

// Sends the requests that `make(i)` names and counts the replies that are no integers.
template <typename Make>
int64_t pipeline(RespClient& client, int requests, Make make) {
  constexpr int kBatch = 200;
  int64_t bad = 0;
  for (int first = 0; first < requests; first += kBatch) {
    std::string bytes;
    for (int i = first; i < first + kBatch; ++i) {
      const std::vector<std::string> words = make(i);
      bytes += encode({words.begin(), words.end()});
    }
    client.send(bytes);
    for (const Reply& reply : client.read_replies(kBatch)) {
      if (reply.type != Reply::Type::kInteger) ++bad;
    }
  }
  return bad;
}

TEST_P(SpectralThreadsTest, IncrementsOfTheSameItemsFromFourConnectionsAreAllCounted) {
  start();
  // So many counters that the thousand items do not share all of theirs.
  ASSERT_EQ(client().command("CF.RESERVE f 100000 ERROR 0.000001 EXPANSION 0"), ok());
  constexpr int kItems = 1000;
  const int rounds = kSanitized ? 20 : 100;
  std::atomic<int64_t> bad{0};
  at_once([&](RespClient& mine, int) {
    bad += pipeline(mine, rounds * kItems, [&](int i) {
      return std::vector<std::string>{"CF.INCR", "f", std::to_string(i % kItems)};
    });
  });
  EXPECT_EQ(bad, 0);
  for (int i = 0; i < kItems; ++i) {
    ASSERT_EQ(client().call("CF.COUNT", "f", std::to_string(i)), integer(kConnections * rounds));
  }
  EXPECT_EQ(client().command("CF.INFO f").at("Number of items inserted"),
            integer(int64_t{kConnections} * rounds * kItems));
}

TEST_P(SpectralThreadsTest, GrowthLosesNothing) {
  start();
  ASSERT_EQ(client().command("CF.RESERVE f 100"), ok());
  const int items = kSanitized ? 2000 : 20'000;
  std::atomic<int64_t> bad{0};
  at_once([&](RespClient& mine, int number) {
    bad += pipeline(mine, items, [&](int i) {
      // Half of the items are everybody's.
      const std::string owner = i % 2 == 0 ? "all" : std::to_string(number);
      return std::vector<std::string>{"CF.INCR", "f", owner + std::to_string(i), "3"};
    });
  });
  EXPECT_EQ(bad, 0);
  // Those who find the newest layer full at once are all served by one more.
  const int distinct = items / 2 + kConnections * items / 2;
  int64_t layers = 1;
  for (int capacity = 100; capacity < distinct; capacity += 100 << layers++) continue;
  const int64_t filters = client().command("CF.INFO f").at("Number of filters").integer;
  EXPECT_LE(filters, layers);
  EXPECT_GE(filters, layers - 1) << "some new items look known, but few";
  int64_t low = 0;
  for (int i = 0; i < items; i += 2) {
    const Reply count = client().call("CF.COUNT", "f", "all" + std::to_string(i));
    if (count.integer < 3 * kConnections) ++low;
  }
  EXPECT_EQ(low, 0);
  EXPECT_EQ(client().command("CF.INFO f").at("Number of items inserted"),
            integer(int64_t{3} * kConnections * items));
}

TEST_P(SpectralThreadsTest, SlicesOfIncrbyAreWholeForEveryReader) {
  start();
  ASSERT_EQ(client().command("CF.RESERVE f 100000 ERROR 0.000001 EXPANSION 0"), ok());
  const int rounds = kSanitized ? 500 : 5000;
  std::atomic<int64_t> bad{0};
  at_once([&](RespClient& mine, int number) {
    for (int i = 0; i < rounds; ++i) {
      // Two orders of the same items: who takes stripes one by one would lock up here.
      const Reply reply = number % 2 == 0 ? mine.command("CF.INCRBY f a 1 b 2 c 3")
                                          : mine.command("CF.INCRBY f c 3 b 2 a 1");
      if (reply.size() != 3) ++bad;
    }
  });
  EXPECT_EQ(bad, 0);
  const int64_t times = int64_t{kConnections} * rounds;
  EXPECT_EQ(client().command("CF.MCOUNT f a b c"),
            array({integer(times), integer(2 * times), integer(3 * times)}));
}

TEST_P(SpectralThreadsTest, TakingAwayBesideAddingEndsAtZero) {
  start();
  ASSERT_EQ(client().command("CF.RESERVE f 10000 EXPANSION 0"), ok());
  ASSERT_EQ(client().command("CF.RESERVE fresh 10000 EXPANSION 0"), ok());
  const int rounds = kSanitized ? 2000 : 20'000;
  std::atomic<int64_t> bad{0};
  at_once([&](RespClient& mine, int number) {
    const std::string item = "shared" + std::to_string(number % 2);
    // Adds first, so what it takes away is always there.
    bad += pipeline(mine, rounds, [&](int i) {
      return std::vector<std::string>{i % 2 == 0 ? "CF.INCR" : "CF.DECR", "f", item, "1000"};
    });
  });
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(client().command("CF.MCOUNT f shared0 shared1"), array({integer(0), integer(0)}));
  EXPECT_EQ(client().command("CF.COMPACT f"), ok());
  EXPECT_EQ(client().command("DEBUG DIGEST-VALUE f"), client().command("DEBUG DIGEST-VALUE fresh"));
}

TEST_P(SpectralThreadsTest, KeysThatComeAndGoBreakNothing) {
  start();
  const int rounds = kSanitized ? 400 : 4000;
  std::atomic<int64_t> odd{0};
  at_once([&](RespClient& mine, int number) {
    std::vector<std::string> items;
    for (int i = 0; i < 50; ++i) items.push_back(std::to_string(number * 1000 + i));
    std::vector<std::string_view> insert = {"CF.INSERT", "f", "CAPACITY", "4", "ITEMS"};
    insert.insert(insert.end(), items.begin(), items.end());
    for (int i = 0; i < rounds; ++i) {
      if (i % 10 == number) mine.command("DEL f");
      const Reply reply = i % 2 == 0 ? mine.call_args(insert) : mine.command("CF.INCRBY f a 1 b 1");
      // The key may be gone when the command looks again: that is an error and no harm.
      if (!reply.is_aggregate() && reply != error("ERR not found")) ++odd;
    }
  });
  EXPECT_EQ(odd, 0);
  EXPECT_EQ(client().command("PING"), simple("PONG"));
}

}  // namespace
}  // namespace iris::harness
