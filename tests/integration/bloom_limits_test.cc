// The edges of what a client can say: any bytes as items, absurd parameters, very many filters, and
// filters that the memory limits do not let in or do not let grow.
#include <chrono>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::EndsWith;

constexpr std::string_view kNoMemory = "ERR Insufficient memory";
constexpr std::string_view kNoMemoryToCreate = "ERR Insufficient memory to create filter";

class BloomLimitsTest : public ServerTest {
 public:
  // Fills f (capacity 1000) with "0" to "999" and more until it wants to grow.
  Reply fill_until_it_must_grow() {
    for (int i = 0; i < 1200; ++i) {
      const Reply reply = client().call("BF.ADD", "f", std::to_string(i));
      if (reply.is_error()) return reply;
    }
    return no_reply("it grew");
  }
  void expect_reads_go_on() {
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(client().call("BF.EXISTS", "f", std::to_string(i)), integer(1)) << i;
    }
    EXPECT_EQ(client().call("BF.INFO", "f", "FILTERS"), array({integer(1)}));
    EXPECT_EQ(client().call("BF.MADD", "f", "1", "a new one", "2"),
              array({integer(0), error(kNoMemory)}));
    EXPECT_EQ(client().call("BF.ADD", "another", "x"), integer(1)) << "small ones still fit";
  }
};
IRIS_WITH_1_AND_4_THREADS(BloomLimitsTest);

TEST_P(BloomLimitsTest, ItemsAreAnyBytes) {
  start();
  const std::string megabyte(1 << 20, 'x');
  const std::vector<std::string> items = {"",
                                          std::string(1, '\0'),
                                          std::string(2, '\0'),
                                          std::string("a\0b", 3),
                                          std::string("a\0c", 3),
                                          "\r\n",
                                          "a\r\nb",
                                          "\xff\xfe\x80",
                                          megabyte,
                                          megabyte + "y",
                                          "y" + megabyte};
  for (const std::string layout : {"CLASSIC", "BLOCKED", "PAGED"}) {
    // 1e-9: the items are told apart by more than luck.
    ASSERT_EQ(client().call("BF.RESERVE", layout, "0.000000001", "100", "LAYOUT", layout), ok());
    for (const std::string& item : items) {
      EXPECT_EQ(client().call("BF.EXISTS", layout, item), integer(0)) << item.size();
      EXPECT_EQ(client().call("BF.ADD", layout, item), integer(1)) << item.size();
      EXPECT_EQ(client().call("BF.ADD", layout, item), integer(0)) << item.size();
      EXPECT_EQ(client().call("BF.EXISTS", layout, item), integer(1)) << item.size();
    }
    std::vector<std::string_view> request = {"BF.MEXISTS", layout};
    request.insert(request.end(), items.begin(), items.end());
    EXPECT_EQ(client().call_args(request), array(std::vector<Reply>(items.size(), integer(1))));
  }
}

TEST_P(BloomLimitsTest, AbsurdParametersAreClearErrors) {
  start();
  const std::vector<std::string> rates = {
      "0",      "-1",       "nan",  "-nan", "inf", "-inf",  "1e-320",
      "1e-13",  "1e18",     "1e19", "1",    "",    "1e400", "9223372036854775807",
      "1.0001", "0x1p-3000"};
  const std::vector<std::string> sizes = {"0",
                                          "-1",
                                          "nan",
                                          "inf",
                                          "1e-320",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "1e18",
                                          "1e19",
                                          "1000000000000000000",
                                          "10000000000000000000",
                                          "18446744073709551616",
                                          "1099511627777",
                                          "",
                                          " 1",
                                          "1.5"};
  const std::vector<std::string> expansions = {"-1",    "nan",        "1e3",
                                               "32769", "4294967296", "9223372036854775807"};
  std::vector<std::vector<std::string>> requests;
  const auto absurd = [&](std::vector<std::string> request) { requests.push_back(request); };
  for (const std::string& rate : rates) {
    absurd({"BF.RESERVE", "f", rate, "100"});
    absurd({"BF.INSERT", "f", "ERROR", rate, "ITEMS", "x"});
    for (const std::string& size : sizes) absurd({"BF.RESERVE", "f", rate, size});
  }
  for (const std::string& size : sizes) {
    absurd({"BF.RESERVE", "f", "0.01", size});
    absurd({"BF.RESERVE", "f", "0.9999999999999999", size});
    absurd({"BF.INSERT", "f", "CAPACITY", size, "ITEMS", "x"});
    absurd({"BF.INITBYDIM", "f", size, "3"});
    absurd({"BF.INITBYDIM", "f", "100", size});
    for (const std::string& other : sizes) absurd({"BF.INITBYDIM", "f", size, other});
    for (const std::string& expansion : expansions) {
      absurd({"BF.RESERVE", "f", "0.01", size, "EXPANSION", expansion});
    }
  }
  for (const std::string& expansion : expansions) {
    absurd({"BF.RESERVE", "f", "0.01", "100", "EXPANSION", expansion});
    absurd({"BF.INSERT", "f", "EXPANSION", expansion, "ITEMS", "x"});
  }
  client().command("BF.RESERVE warm 0.01 100");
  client().command("DEL warm");
  const uint64_t rss_before = server().rss_bytes();
  for (const std::vector<std::string>& request : requests) {
    const auto begin = std::chrono::steady_clock::now();
    const Reply reply = client().call_args({request.begin(), request.end()});
    const std::string words = ::testing::PrintToString(request);
    ASSERT_TRUE(reply.is_error()) << words << ::testing::PrintToString(reply);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1)) << words;
  }
  if (!kSanitized) {
    EXPECT_LE(server().rss_bytes(), rss_before + (1 << 20));
  }
  EXPECT_EQ(client().command("DBSIZE"), integer(0));
  EXPECT_EQ(client().command("BF.RESERVE f 0.01 100"), ok());
}

// The largest that are not absurd by their numbers: they are made or refused, at once.
TEST_P(BloomLimitsTest, TheLargestParametersAreAnsweredAtOnce) {
  start();
  const uint64_t rss_before = server().rss_bytes();
  for (const std::string line :
       {"BF.RESERVE f 0.01 1099511627776", "BF.RESERVE f 0.000000000001 1099511627776",
        "BF.RESERVE f 0.01 1099511627776 LAYOUT CLASSIC", "BF.INITBYDIM f 70368744177664 256",
        "BF.RESERVE f 0.01 1000000000000 EXPANSION 32768 LAYOUT PAGED"}) {
    const auto begin = std::chrono::steady_clock::now();
    const Reply reply = client().command(line);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1)) << line;
    EXPECT_TRUE(reply == ok() || reply == error(kNoMemoryToCreate))
        << line << ' ' << ::testing::PrintToString(reply);
    client().command("DEL f");
  }
  if (!kSanitized) {
    EXPECT_LE(server().rss_bytes(), rss_before + (2 << 20));
  }
}

TEST_P(BloomLimitsTest, ARateNearOneIsCapped) {
  start();
  EXPECT_EQ(client().command("BF.RESERVE f 0.9999999999999999 100 NONSCALING"), ok());
  EXPECT_THAT(client().command("BF.DEBUG f")[1].text, EndsWith("ratio:0.25"));
  EXPECT_EQ(client().command("BF.RESERVE g 0.9999999999999999 100 LAYOUT CLASSIC"), ok());
  EXPECT_THAT(client().command("BF.DEBUG g")[1].text, EndsWith("ratio:0.125"));
  for (int i = 0; i < 100; ++i) {
    const std::string item = std::to_string(i);
    ASSERT_FALSE(client().call("BF.ADD", "f", item).is_error());
    ASSERT_EQ(client().call("BF.EXISTS", "f", item), integer(1));
  }
  EXPECT_GT(client().command("BF.CARD f").integer, 50);
}

TEST_P(BloomLimitsTest, AMillionSmallFiltersTakeAtMost600BytesEach) {
  IRIS_SKIP_UNDER_SANITIZERS();
  start();
  constexpr int kFilters = 1'000'000;
  constexpr int kBatch = 10'000;
  const int64_t before = info_integer(client(), "memory", "used_memory");
  for (int first = 0; first < kFilters; first += kBatch) {
    std::string requests;
    for (int i = first; i < first + kBatch; ++i) {
      requests += encode({"BF.RESERVE", "filter:" + std::to_string(i), "0.01", "100"});
    }
    ASSERT_TRUE(client().send(requests));
    for (const Reply& reply : client().read_replies(kBatch)) ASSERT_EQ(reply, ok());
  }
  EXPECT_EQ(client().command("DBSIZE"), integer(kFilters));
  const int64_t after = info_integer(client(), "memory", "used_memory");
  const int64_t bytes_each = (after - before) / kFilters;
  EXPECT_LE(bytes_each, 600);
  RecordProperty("bytes_each", static_cast<int>(bytes_each));
  EXPECT_EQ(client().command("BF.ADD filter:777777 x"), integer(1));
}

TEST_P(BloomLimitsTest, AFilterThatMayNotGrowIsStillRead) {
  start({"filter-max-memory 1mb"});
  // The next layer would have 32,768,000 items.
  ASSERT_EQ(client().command("BF.RESERVE f 0.000001 1000 EXPANSION 32768"), ok());
  EXPECT_EQ(fill_until_it_must_grow(), error(kNoMemory));
  expect_reads_go_on();
  EXPECT_EQ(client().command("CONFIG SET filter-max-memory 0"), ok());
  EXPECT_EQ(client().call("BF.ADD", "f", "a new one"), integer(1));
  EXPECT_EQ(client().call("BF.INFO", "f", "FILTERS"), array({integer(2)}));
}

TEST_P(BloomLimitsTest, MaxmemoryStopsGrowthButNotReads) {
  start({"maxmemory 64mb"});
  ASSERT_EQ(client().command("BF.RESERVE f 0.000001 1000 EXPANSION 32768"), ok());
  EXPECT_EQ(fill_until_it_must_grow(), error(kNoMemory));
  expect_reads_go_on();
  EXPECT_EQ(client().command("CONFIG SET maxmemory 1"), ok());
  EXPECT_EQ(client().command("BF.EXISTS f 5"), integer(1));
  EXPECT_TRUE(client().command("BF.ADD f 5").is_error("OOM"));
  EXPECT_EQ(client().command("CONFIG SET maxmemory 0"), ok());
  EXPECT_EQ(client().call("BF.ADD", "f", "a new one"), integer(1));
}

TEST_P(BloomLimitsTest, NoWayInPassesTheLimitOfAFilter) {
  start();
  client().command("BF.RESERVE large 0.01 2000000 NONSCALING");
  client().command("BF.RESERVE classic 0.01 2000000 NONSCALING LAYOUT CLASSIC");
  const std::string text = client().command("DUMP large").text;
  EXPECT_EQ(client().command("CONFIG SET filter-max-memory 1mb"), ok());
  for (const std::string line : {"BF.RESERVE f 0.01 2000000", "BF.INITBYDIM f 20000000 3",
                                 "BF.INSERT f CAPACITY 2000000 ITEMS x"}) {
    EXPECT_EQ(client().command(line), error(kNoMemoryToCreate)) << line;
  }
  EXPECT_EQ(client().call("RESTORE", "f", "0", text), error(kNoMemoryToCreate));
  for (const std::string key : {"large", "classic"}) {
    const std::string header = client().call("BF.SCANDUMP", key, "0")[1].text;
    EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "1", header), error(kNoMemoryToCreate)) << key;
  }
  EXPECT_EQ(client().command("EXISTS f"), integer(0));
}

// Each layer is asked at every lookup: there is an end to it.
TEST_P(BloomLimitsTest, AChainThatDoesNotExpandComesToAnEnd) {
  start();
  ASSERT_EQ(client().command("BF.RESERVE f 0.01 1 EXPANSION 1"), ok());
  Reply reply;
  int added = 0;
  for (int i = 0; i < 3000; ++i) {
    reply = client().call("BF.ADD", "f", std::to_string(i));
    if (reply.is_error()) break;
    added += static_cast<int>(reply.integer);
  }
  EXPECT_EQ(reply, error("ERR Maximum expansions reached"));
  EXPECT_EQ(client().command("BF.CARD f"), integer(added));
  EXPECT_EQ(client().command("BF.INFO f FILTERS"), array({integer(1024)}));
  for (int i = 0; i < added; ++i) {
    ASSERT_EQ(client().call("BF.EXISTS", "f", std::to_string(i)), integer(1));
  }
  const std::string text = client().command("DUMP f").text;
  EXPECT_EQ(client().call("RESTORE", "g", "0", text), ok()) << "what was saved can be loaded";
}

}  // namespace
}  // namespace iris::harness
