// One spectral filter and many connections: no increment is lost, while the filter grows, while
// others take away and while keys come and go.
#include <atomic>
#include <iostream>
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

// Sends the requests that `make(i)` names and counts the replies that are of another type.
template <typename Make>
int64_t pipeline(RespClient& client, int requests, Make make,
                 Reply::Type type = Reply::Type::kInteger) {
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
      if (reply.type != type) ++bad;
    }
  }
  return bad;
}

TEST_P(SpectralThreadsTest, IncrementsOfTheSameItemsFromFourConnectionsAreAllCounted) {
  start();
  // So many counters that the thousand items do not share all of theirs.
  ASSERT_EQ(client().command("CF.RESERVE f 100000 ERROR 0.000001 EXPANSION 0"), ok());
  constexpr int kItems = 1000;
  constexpr int kItemsOfIncrby = 25;
  const int single_rounds = kSanitized ? 20 : 200;
  const int incrby_rounds = single_rounds / 4;
  const int rounds = single_rounds + incrby_rounds;  // a million increments in all
  std::atomic<int64_t> bad{0};
  at_once([&](RespClient& mine, int) {
    bad += pipeline(mine, single_rounds * kItems, [&](int i) {
      return std::vector<std::string>{"CF.INCR", "f", std::to_string(i % kItems)};
    });
    const auto incrby = [&](int i) {
      std::vector<std::string> words = {"CF.INCRBY", "f"};
      for (int n = i * kItemsOfIncrby; n < (i + 1) * kItemsOfIncrby; ++n) {
        words.push_back(std::to_string(n % kItems));
        words.emplace_back("1");
      }
      return words;
    };
    bad += pipeline(mine, incrby_rounds * kItems / kItemsOfIncrby, incrby, Reply::Type::kArray);
  });
  EXPECT_EQ(bad, 0);
  for (int i = 0; i < kItems; ++i) {
    ASSERT_EQ(client().call("CF.COUNT", "f", std::to_string(i)), integer(kConnections * rounds));
  }
  EXPECT_EQ(client().command("CF.INFO f").at("Number of items inserted"),
            integer(int64_t{kConnections} * rounds * kItems));
  std::cout << "connections " << kConnections << ", increments "
            << int64_t{kConnections} * rounds * kItems << ", items " << kItems
            << ", all counts exact\n";
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

// Whether the connection of that name waits for the end of its own command.
bool waits(RespClient& client, std::string_view name) {
  const std::string list = client.command("CLIENT LIST").text;
  const size_t line = list.find("name=" + std::string(name));
  const size_t flags = list.find(" flags=", line);
  return list.substr(flags, list.find(' ', flags + 1) - flags).find('b') != std::string::npos;
}

// A command that ran in one go could be seen before it or after it, but never while it waits for
// its turn: so what was answered between two such looks was answered while it ran.
TEST_P(SpectralThreadsTest, OthersAreServedWhileALargeFilterIsCompacted) {
  start();
  ASSERT_EQ(client().command("CF.RESERVE f 20000000 EXPANSION 0"), ok());  // 80 MB
  RespClient busy = connect();
  ASSERT_EQ(busy.command("CLIENT SETNAME busy"), ok());
  int served = 0;
  EXPECT_TRUE(wait_until([&] {
    busy.send(encode({"CF.COMPACT", "f"}) + encode({"CF.COUNT", "f", "a"}));
    while (!busy.readable_within(0)) {
      const bool before = waits(client(), "busy");
      EXPECT_EQ(client().command("PING"), simple("PONG"));
      if (before && waits(client(), "busy")) ++served;
    }
    // Its own requests keep their order.
    EXPECT_EQ(busy.read(), ok());
    EXPECT_EQ(busy.read(), integer(0));
    return served > 0 || HasFailure();
  }));
  std::cout << "pings answered during compaction " << served << "\n";
  EXPECT_EQ(client().command("MULTI"), ok());
  EXPECT_EQ(client().command("CF.COMPACT f"), simple("QUEUED"));
  EXPECT_EQ(client().command("EXEC"), array({ok()})) << "in one step there";
}

TEST_P(SpectralThreadsTest, ChangesDuringCompactionAreAllCounted) {
  start();
  // So many counters that the items do not meet.
  for (const std::string_view key : {"f", "still"}) {
    ASSERT_EQ(client().call("CF.RESERVE", key, "100000", "ERROR", "0.000001"), ok());
  }
  constexpr int kItems = 1000;
  const int requests = kSanitized ? 4000 : 40'000;
  const auto change = [](std::string_view key, int number, int i) {
    static constexpr const char* kAmounts[] = {"1", "9", "300", "70000", "5000000000"};
    // Up twice and down once, by the same amounts, so that extensions grow and shrink.
    const std::string item = std::to_string(number) + "-" + std::to_string(i / 3 % kItems);
    return std::vector<std::string>{i % 3 == 2 ? "CF.DECR" : "CF.INCR", std::string(key), item,
                                    kAmounts[i / 3 % 5]};
  };
  std::atomic<int64_t> bad{0};
  std::atomic<int> changing{kConnections - 1};
  int compactions = 0;
  at_once([&](RespClient& mine, int number) {
    if (number == 0) {
      const auto compact = [](int) { return std::vector<std::string>{"CF.COMPACT", "f"}; };
      for (; changing > 0; compactions += 200) {
        bad += pipeline(mine, 200, compact, Reply::Type::kSimple);
      }
    } else {
      bad += pipeline(mine, requests, [&](int i) { return change("f", number, i); });
      --changing;
    }
  });
  for (int number = 1; number < kConnections; ++number) {
    bad += pipeline(client(), requests, [&](int i) { return change("still", number, i); });
  }
  EXPECT_EQ(bad, 0);
  EXPECT_GT(compactions, 0);
  std::cout << "changes " << int64_t{kConnections - 1} * requests << ", compactions " << compactions
            << "\n";
  EXPECT_EQ(client().command("DEBUG DIGEST-VALUE f"), client().command("DEBUG DIGEST-VALUE still"));
}

TEST_P(SpectralThreadsTest, AFilterThatGoesAwayWhileItIsCompactedHarmsNobody) {
  start();
  RespClient busy = connect();
  ASSERT_EQ(busy.command("CLIENT SETNAME busy"), ok());
  int in_between = 0;
  EXPECT_TRUE(wait_until([&] {
    EXPECT_EQ(client().command("CF.RESERVE f 20000000 EXPANSION 0"), ok());
    busy.send_command({"CF.COMPACT", "f"});
    bool waiting = false;
    while (!waiting && !busy.readable_within(0)) waiting = waits(client(), "busy");
    EXPECT_EQ(client().command("DEL f"), integer(1));
    in_between += waiting ? 1 : 0;
    EXPECT_EQ(busy.read(), ok());
    return in_between == 10 || HasFailure();
  }));
  // Nor does a client that goes away.
  ASSERT_EQ(client().command("CF.RESERVE f 20000000"), ok());
  busy.send_command({"CF.COMPACT", "f"});
  busy.close();
  EXPECT_EQ(client().command("CF.COMPACT f"), ok());
}

TEST_P(SpectralThreadsTest, AnAnswerThatIsNotWantedIsNotSentLater) {
  start();
  ASSERT_EQ(client().command("CF.RESERVE f 2000000"), ok());
  client().send(encode({"CLIENT", "REPLY", "SKIP"}) + encode({"CF.COMPACT", "f"}) +
                encode({"PING"}) + encode({"CF.COMPACT", "f"}));
  EXPECT_EQ(client().read(), simple("PONG"));
  EXPECT_EQ(client().read(), ok());
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
