// SCAN: complete under growth and shrinkage, filters, cursors that make no sense.
#include <set>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

class ScanTest : public ServerTest {
 public:
  void make_many(const std::string& prefix, int count) {
    std::string requests;
    for (int i = 0; i < count; ++i) {
      const std::string key = prefix + std::to_string(i);
      requests += is_reference() ? encode({"SETBIT", key, "1", "1"})
                                 : encode({"BF.RESERVE", key, "0.01", "10"});
    }
    client().send(requests);
    for (const Reply& reply : client().read_replies(static_cast<size_t>(count))) {
      ASSERT_FALSE(reply.is_error()) << ::testing::PrintToString(reply);
    }
  }

  // Every key that a whole scan returns, more often than once if it does.
  std::multiset<std::string> scan(
      std::vector<std::string_view> options, const std::function<void()>& between = [] {}) {
    std::multiset<std::string> keys;
    std::string cursor = "0";
    do {
      std::vector<std::string_view> args = {"SCAN", cursor};
      args.insert(args.end(), options.begin(), options.end());
      const Reply reply = client().call_args(args);
      EXPECT_EQ(reply.size(), 2U) << ::testing::PrintToString(reply);
      if (reply.size() != 2) break;
      EXPECT_EQ(reply[0].type, Reply::Type::kBulk);
      cursor = reply[0].text;
      for (const std::string& key : reply[1].strings()) keys.insert(key);
      between();
    } while (cursor != "0");
    return keys;
  }
};
IRIS_WITH_1_AND_4_THREADS(ScanTest);

TEST_P(ScanTest, OfAnEmptyDatabaseEndsAtOnce) {
  start();
  // How many steps that takes is the server's business; that there are no keys is not.
  EXPECT_TRUE(scan({}).empty());
}

TEST_P(ScanTest, ReturnsEveryKeyOnceWhenNothingChanges) {
  start();
  make_many("k", 1000);
  const auto keys = scan({});
  EXPECT_EQ(keys.size(), 1000U);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1000U);
}

TEST_P(ScanTest, ReturnsWhatIsThereAllTheTimeWhileTheTableGrowsAndShrinks) {
  start();
  make_many("stays", 500);
  make_many("goes", 2000);
  int round = 0;
  const auto keys = scan({"COUNT", "20"}, [&] {
    if (round == 3) make_many("comes", 3000);
    if (round >= 10 && round < 30) {
      for (int i = 0; i < 100; ++i) {
        client().call("DEL", "goes" + std::to_string((round - 10) * 100 + i));
      }
    }
    ++round;
  });
  for (int i = 0; i < 500; ++i) {
    EXPECT_GE(keys.count("stays" + std::to_string(i)), 1U) << "stays" << i << " was missed";
  }
}

TEST_P(ScanTest, CountBoundsAStepMoreOrLess) {
  start();
  make_many("k", 2000);
  const Reply small = client().command("SCAN 0 COUNT 10");
  EXPECT_LT(small[1].size(), 200U);
  EXPECT_NE(small[0].text, "0");
  EXPECT_EQ(client().command("SCAN 0 COUNT 1000000")[1].size(), 2000U);
}

TEST_P(ScanTest, MatchAndTypeFilter) {
  start();
  make_many("a", 50);
  make_many("b", 50);
  EXPECT_EQ(scan({"MATCH", "a*"}).size(), 50U);
  EXPECT_EQ(scan({"MATCH", "a1?"}).size(), 10U);
  EXPECT_EQ(scan({"TYPE", made_type()}).size(), 100U);
  EXPECT_EQ(scan({"TYPE", "list"}).size(), 0U);
  EXPECT_EQ(scan({"match", "b*", "type", made_type(), "count", "7"}).size(), 50U);
}

TEST_P(ScanTest, BadArgumentsAreErrors) {
  start();
  EXPECT_EQ(client().command("SCAN x"), error("ERR invalid cursor"));
  EXPECT_EQ(client().command("SCAN 99999999999999999999999"), error("ERR invalid cursor"));
  EXPECT_EQ(client().command("SCAN 0 COUNT x"),
            error("ERR value is not an integer or out of range"));
  EXPECT_EQ(client().command("SCAN 0 COUNT 0"), error("ERR syntax error"));
  EXPECT_EQ(client().command("SCAN 0 COUNT"), error("ERR syntax error"));
  EXPECT_EQ(client().command("SCAN 0 COLOR x"), error("ERR syntax error"));
  EXPECT_EQ(client().command("SCAN"), error("ERR wrong number of arguments for 'scan' command"));
}

TEST_P(ScanTest, AnyCursorIsSafe) {
  start();
  make_many("k", 100);
  for (const char* cursor : {"1", "17", "4095", "65536", "4294967296", "18446744073709551615"}) {
    const Reply reply = client().call("SCAN", cursor);
    // One that SCAN never gave out may be refused, too.
    EXPECT_TRUE(reply.size() == 2 || reply == error("ERR invalid cursor"))
        << cursor << ": " << ::testing::PrintToString(reply);
  }
}

TEST_P(ScanTest, SkipsExpiredKeys) {
  start();
  make_many("k", 50);
  for (int i = 0; i < 50; i += 2) client().call("PEXPIRE", "k" + std::to_string(i), "1");
  EXPECT_TRUE(wait_until([&] { return scan({}).size() == 25; }));
}

TEST_P(ScanTest, SeesOnlyItsDatabase) {
  start();
  make_many("k", 20);
  client().command("SELECT 1");
  make_many("other", 10);
  EXPECT_EQ(scan({}).size(), 10U);
}

}  // namespace
}  // namespace iris::harness
