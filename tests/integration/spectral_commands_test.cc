// The CF commands one by one: replies in RESP2 and RESP3, error texts and their order, keys that
// are missing or of another kind, and what is refused without a change.
#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

constexpr std::string_view kMost = "9223372036854775807";
constexpr int64_t kMostNumber = INT64_MAX;
const Reply kWrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const Reply kNotFound = error("ERR not found");
const Reply kOverflow = error("ERR increment would overflow");
const Reply kBadAmount = error("ERR value is not an integer or out of range");
const Reply kNoDecrements = error("ERR decrements are not supported by a filter with policy MI");

class SpectralCommandsTest : public ServerTest {
 public:
  Reply digest(std::string_view key) { return client().call("DEBUG", "DIGEST-VALUE", key); }
};
IRIS_WITH_1_AND_4_THREADS(SpectralCommandsTest);

TEST_P(SpectralCommandsTest, IncrCountAndDecrAnswerTheEstimate) {
  start();
  RespClient resp3 = connect_resp3();
  EXPECT_EQ(client().command("CF.COUNT f a"), integer(0));
  EXPECT_EQ(client().command("CF.INCR f a"), integer(1));
  EXPECT_EQ(client().command("CF.INCR f a 41"), integer(42));
  EXPECT_EQ(resp3.command("CF.INCR f a"), integer(43));
  EXPECT_EQ(resp3.command("CF.COUNT f a"), integer(43));
  EXPECT_EQ(client().command("CF.DECR f a"), integer(42));
  EXPECT_EQ(client().command("CF.DECR f a 41"), integer(1));
  EXPECT_EQ(client().command("CF.DECR f a 2"), error("ERR decrement exceeds the item's count"));
  EXPECT_EQ(client().command("CF.COUNT f a"), integer(1));
  EXPECT_EQ(client().command("CF.DECR f a"), integer(0));
  EXPECT_EQ(client().command("CF.DECR f a"), nil());
  EXPECT_EQ(resp3.command("CF.DECR f a"), null());
  EXPECT_EQ(client().command("CF.DECR missing a"), kNotFound);
  EXPECT_EQ(client().command("EXISTS missing"), integer(0));
}

TEST_P(SpectralCommandsTest, AmountsAreFromOneToTheLargestInteger) {
  start();
  for (const std::string_view amount : {"0", "-1", "x", "", "1.5", "9223372036854775808"}) {
    EXPECT_EQ(client().call("CF.INCR", "f", "a", amount), kBadAmount) << amount;
    EXPECT_EQ(client().call("CF.DECR", "f", "a", amount), kBadAmount) << amount;
    EXPECT_EQ(client().call("CF.INCRBY", "f", "b", "1", "a", amount), kBadAmount) << amount;
  }
  EXPECT_EQ(client().command("EXISTS f"), integer(0));
  EXPECT_EQ(client().command("CF.INCR f a 1 2"),
            error("ERR wrong number of arguments for 'cf.incr' command"));
  EXPECT_EQ(client().command("CF.DECR f a 1 2"),
            error("ERR wrong number of arguments for 'cf.decr' command"));
  EXPECT_EQ(client().command("CF.INCRBY f a 1 b"),
            error("ERR wrong number of arguments for 'cf.incrby' command"));
}

TEST_P(SpectralCommandsTest, AnIncrementThatWouldOverflowChangesNothing) {
  start();
  EXPECT_EQ(client().call("CF.INCR", "f", "a", kMost), integer(kMostNumber));
  const Reply before = digest("f");
  EXPECT_EQ(client().command("CF.INCR f a"), kOverflow);
  EXPECT_EQ(client().command("CF.INCR f b"), kOverflow) << "the sum of all counts is limited";
  EXPECT_EQ(client().command("CF.ADD f b"), kOverflow);
  EXPECT_EQ(client().command("CF.INCRBY f b 1"), kOverflow);
  EXPECT_EQ(client().command("CF.INSERT f ITEMS b"), array({kOverflow}));
  EXPECT_EQ(digest("f"), before);
  EXPECT_EQ(client().command("CF.COUNT f a"), integer(kMostNumber));
  EXPECT_EQ(client().call("CF.DECR", "f", "a", kMost), integer(0));
  EXPECT_EQ(client().command("CF.INCR f b"), integer(1));
}

TEST_P(SpectralCommandsTest, IncrbyIsAllOrNothing) {
  start();
  EXPECT_EQ(client().command("CF.INCRBY f a 1 b 20 a 300"),
            array({integer(1), integer(20), integer(301)}));
  const Reply before = digest("f");
  EXPECT_EQ(client().call("CF.INCRBY", "f", "c", "5", "a", kMost), kOverflow);
  EXPECT_EQ(client().command("CF.INCRBY f c 5 a 0"), kBadAmount);
  EXPECT_EQ(digest("f"), before);
  EXPECT_EQ(client().command("CF.MCOUNT f a b c"), array({integer(301), integer(20), integer(0)}));

  ASSERT_EQ(client().command("CF.RESERVE small 4 EXPANSION 0 ERROR 0.000001"), ok());
  EXPECT_EQ(client().command("CF.INCRBY small 1 1 2 1 3 1 4 1 5 1"), error("Filter is full"));
  EXPECT_EQ(client().command("CF.MCOUNT small 1 5"), array({integer(0), integer(0)}));
}

TEST_P(SpectralCommandsTest, IncrbyGrowsTheFilterForAllItsItemsAtOnce) {
  start();
  ASSERT_EQ(client().command("CF.RESERVE f 4"), ok());
  std::vector<std::string> items;
  for (int i = 0; i < 1000; ++i) items.push_back(std::to_string(i));
  std::vector<std::string_view> request = {"CF.INCRBY", "f"};
  for (const std::string& item : items) {
    request.push_back(item);
    request.push_back("7");
  }
  EXPECT_EQ(client().call_args(request).size(), items.size());
  EXPECT_EQ(client().command("CF.INFO f").at("Number of filters"), integer(2));
  EXPECT_EQ(client().command("CF.INFO f").at("Number of items inserted"), integer(7000));
}

TEST_P(SpectralCommandsTest, ManyCountsAndLookupsTakeTurns) {
  start();
  std::vector<std::string> items;
  for (int i = 0; i < 5000; ++i) items.push_back(std::to_string(i));
  const auto call_with = [&](std::vector<std::string_view> request) {
    request.insert(request.end(), items.begin(), items.end());
    return client().call_args(request);
  };
  EXPECT_EQ(call_with({"CF.MCOUNT", "f"}), array(std::vector<Reply>(5000, integer(0))));
  EXPECT_EQ(call_with({"CF.INSERT", "f", "CAPACITY", "10000", "ITEMS"}),
            array(std::vector<Reply>(5000, integer(1))));
  EXPECT_EQ(call_with({"CF.MEXISTS", "f"}), array(std::vector<Reply>(5000, integer(1))));
  EXPECT_EQ(call_with({"CF.INSERTNX", "f", "ITEMS"}), array(std::vector<Reply>(5000, integer(0))));
  int64_t sum = 0;
  const Reply counts = call_with({"CF.MCOUNT", "f"});
  for (const Reply& count : counts.elements) sum += count.integer;
  EXPECT_GE(sum, 5000);
  EXPECT_LE(sum, 5200);
}

TEST_P(SpectralCommandsTest, CuckooVerbsAnswerAsClientsExpect) {
  start();
  RespClient resp3 = connect_resp3();
  EXPECT_EQ(client().command("CF.ADD f a"), integer(1));
  EXPECT_EQ(resp3.command("CF.ADD f a"), boolean(true));
  EXPECT_EQ(client().command("CF.ADDNX f a"), integer(0));
  EXPECT_EQ(resp3.command("CF.ADDNX f a"), boolean(false));
  EXPECT_EQ(resp3.command("CF.ADDNX f b"), boolean(true));
  EXPECT_EQ(client().command("CF.MCOUNT f a b"), array({integer(2), integer(1)}));
  EXPECT_EQ(client().command("CF.EXISTS f a"), integer(1));
  EXPECT_EQ(resp3.command("CF.EXISTS f x"), boolean(false));
  EXPECT_EQ(client().command("CF.MEXISTS f a x"), array({integer(1), integer(0)}));
  EXPECT_EQ(resp3.command("CF.MEXISTS f a x"), array({boolean(true), boolean(false)}));
  EXPECT_EQ(client().command("CF.DEL f b"), integer(1));
  EXPECT_EQ(client().command("CF.DEL f b"), integer(0));
  EXPECT_EQ(resp3.command("CF.DEL f a"), boolean(true));
  EXPECT_EQ(resp3.command("CF.DEL f b"), boolean(false));
  EXPECT_EQ(client().command("CF.DEL missing b"), error("Not found"));
  EXPECT_EQ(client().command("CF.COMPACT f"), ok());
  EXPECT_EQ(client().command("CF.COMPACT missing"), error("Cuckoo filter was not found"));
}

TEST_P(SpectralCommandsTest, AFullFilterOfFixedSizeRefusesOnlyWhatIsNew) {
  start();
  RespClient resp3 = connect_resp3();
  ASSERT_EQ(client().command("CF.RESERVE f 4 EXPANSION 0 ERROR 0.000001"), ok());
  EXPECT_EQ(client().command("CF.INSERT f ITEMS 1 2 3 4 new 1"),
            array({integer(1), integer(1), integer(1), integer(1), integer(-1), integer(1)}));
  EXPECT_EQ(resp3.command("CF.INSERT f ITEMS 1 new 2"),
            array({boolean(true), boolean(false), boolean(true)}));
  for (RespClient* each : {&client(), &resp3}) {
    EXPECT_EQ(each->command("CF.INSERTNX f ITEMS 1 new"), array({integer(0), integer(-1)}));
    EXPECT_EQ(each->command("CF.ADD f new"), error("Filter is full"));
    EXPECT_EQ(each->command("CF.ADDNX f new"), error("Filter is full"));
    EXPECT_EQ(each->command("CF.INCR f new 5"), error("Filter is full"));
  }
  EXPECT_EQ(client().command("CF.COUNT f 1"), integer(3));
}

TEST_P(SpectralCommandsTest, InsertReadsItsOptions) {
  start();
  const Reply arity = error("ERR wrong number of arguments for 'cf.insert' command");
  EXPECT_EQ(client().command("CF.INSERT f NOCREATE ITEMS a"), kNotFound);
  EXPECT_EQ(client().command("CF.INSERTNX f NOCREATE ITEMS a"), kNotFound);
  EXPECT_EQ(client().command("CF.INSERT f CAPACITY x ITEMS a"), error("Bad capacity"));
  EXPECT_EQ(client().command("CF.INSERT f CAPACITY 0 ITEMS a"),
            error("Capacity must be in the range [2 * BUCKETSIZE, 1099511627776]"));
  EXPECT_EQ(client().command("CF.INSERT f WHAT ITEMS a"), error("Unknown argument received"));
  EXPECT_EQ(client().command("CF.INSERT f NOCREATE ITEMS"), arity);
  EXPECT_EQ(client().command("CF.INSERT f NOCREATE CAPACITY"), arity);
  EXPECT_EQ(client().command("CF.INSERT f CAPACITY 100"), arity);
  EXPECT_EQ(client().command("EXISTS f"), integer(0));
  EXPECT_EQ(client().command("CF.INSERT f capacity 100 items items nocreate"),
            array({integer(1), integer(1)}));
  EXPECT_EQ(client().command("CF.INFO f").at("Number of buckets"), integer(64));
  EXPECT_EQ(client().command("CF.INSERTNX f NOCREATE ITEMS items"), array({integer(0)}));
}

TEST_P(SpectralCommandsTest, ReserveSaysTheFirstErrorInRedisBloomsOrder) {
  start();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"x MAXITERATIONS x", "Bad capacity"},
      {"1 EXPANSION x BUCKETSIZE x MAXITERATIONS x", "Couldn't parse MAXITERATIONS"},
      {"1 EXPANSION x BUCKETSIZE x MAXITERATIONS 0",
       "MAXITERATIONS: value must be in the range [1, 65535]"},
      {"1 EXPANSION x BUCKETSIZE x MAXITERATIONS 1", "Couldn't parse BUCKETSIZE"},
      {"1 EXPANSION x BUCKETSIZE 256", "BUCKETSIZE: value must be in the range [1, 255]"},
      {"1 EXPANSION x BUCKETSIZE 255", "Couldn't parse EXPANSION"},
      {"1 EXPANSION 32769", "EXPANSION: value must be in the range [0, 32768]"},
      {"3", "Capacity must be in the range [2 * BUCKETSIZE, 1099511627776]"},
      {"509 BUCKETSIZE 255", "Capacity must be in the range [2 * BUCKETSIZE, 1099511627776]"},
      {"1099511627777", "Capacity must be in the range [2 * BUCKETSIZE, 1099511627776]"},
      {"100 ERROR x", "Bad error rate"},
      {"100 ERROR 0", "ERR error rate must be in the range (0.000000, 1.000000)"},
      {"100 ERROR 1", "ERR error rate must be in the range (0.000000, 1.000000)"},
      {"100 ERROR 0.0000001", "ERR error rate must be in the range [0.000001, 1.000000)"},
      {"100 POLICY XX", "ERR policy must be one of MS, MI"},
      {"100 WHAT 1", "ERR syntax error"},
      {"100 ERROR", "ERR wrong number of arguments for 'cf.reserve' command"},
  };
  for (const auto& [arguments, text] : cases) {
    EXPECT_EQ(client().command("CF.RESERVE f " + arguments), error(text)) << arguments;
  }
  EXPECT_EQ(client().command("EXISTS f"), integer(0));
  EXPECT_EQ(client().command("CF.RESERVE f 1000 policy ms expansion 4 error 0.001 bucketsize 8 "
                             "maxiterations 30"),
            ok());
  EXPECT_EQ(client().command("CF.RESERVE f 1000"), error("ERR item exists"));
}

TEST_P(SpectralCommandsTest, InfoHasTheFieldsThatClientsKnowAndNoOther) {
  start();
  RespClient resp3 = connect_resp3();
  ASSERT_EQ(client().command("CF.RESERVE f 1000 BUCKETSIZE 8 MAXITERATIONS 30 EXPANSION 4"), ok());
  client().command("CF.INCR f a 10");
  client().command("CF.DECR f a 3");
  const Reply flat = client().command("CF.INFO f");
  const Reply info = resp3.command("CF.INFO f");
  ASSERT_EQ(flat.size(), 16u);
  EXPECT_EQ(flat.type, Reply::Type::kArray);
  EXPECT_EQ(info.type, Reply::Type::kMap);
  EXPECT_EQ(flat.elements, info.elements);
  const int64_t size = flat.at("Size").integer;
  EXPECT_GT(size, 0);
  EXPECT_EQ(flat, array({bulk("Size"), integer(size), bulk("Number of buckets"), integer(128),
                         bulk("Number of filters"), integer(1), bulk("Number of items inserted"),
                         integer(7), bulk("Number of items deleted"), integer(3),
                         bulk("Bucket size"), integer(8), bulk("Expansion rate"), integer(4),
                         bulk("Max iterations"), integer(30)}));
  EXPECT_EQ(client().command("CF.DEBUG f"),
            bulk("bktsize:8 buckets:128 items:7 deletes:3 filters:1 max_iterations:30 "
                 "expansion:4"));
  for (const std::string command : {"CF.INFO", "CF.DEBUG", "CF.STATS"}) {
    EXPECT_EQ(client().command(command + " missing"), kNotFound);
  }
}

TEST_P(SpectralCommandsTest, StatsTellLayoutPolicyAndRates) {
  start();
  RespClient resp3 = connect_resp3();
  ASSERT_EQ(client().command("CF.RESERVE f 1000 POLICY MI ERROR 0.001"), ok());
  client().command("CF.INCR f a 1000000");
  const Reply stats = resp3.command("CF.STATS f");
  EXPECT_EQ(stats.type, Reply::Type::kMap);
  EXPECT_EQ(stats.at("layout"), bulk("blocked"));
  EXPECT_EQ(stats.at("policy"), bulk("MI"));
  EXPECT_EQ(stats.at("error rate promised"), real(0.001));
  EXPECT_EQ(stats.at("extended blocks"), integer(1));
  EXPECT_EQ(client().command("CF.STATS f").size(), 24u);

  ASSERT_EQ(client().command("CF.INITBYDIM d 1000 4"), ok());
  EXPECT_EQ(resp3.command("CF.STATS d").at("layout"), bulk("classic"));
  EXPECT_EQ(resp3.command("CF.STATS d").at("counters"), integer(1000));
  EXPECT_EQ(resp3.command("CF.STATS d").at("hashes"), integer(4));
}

TEST_P(SpectralCommandsTest, ExplicitDimensionsNeverFillNorGrow) {
  start();
  EXPECT_EQ(client().command("CF.INITBYDIM d x 4"), error("ERR bad number of counters"));
  EXPECT_EQ(client().command("CF.INITBYDIM d 10 x"), error("ERR bad number of hashes"));
  EXPECT_EQ(client().command("CF.INITBYDIM d 0 4"),
            error("ERR counters must be in the range [1, 70368744177664]"));
  EXPECT_EQ(client().command("CF.INITBYDIM d 10 257"),
            error("ERR hashes must be in the range [1, 256]"));
  ASSERT_EQ(client().command("CF.INITBYDIM d 10 2"), ok());
  EXPECT_EQ(client().command("CF.INITBYDIM d 10 2"), error("ERR item exists"));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_GE(client().call("CF.INCR", "d", std::to_string(i)).integer, 1);
  }
  EXPECT_EQ(client().command("CF.INFO d").at("Number of filters"), integer(1));
  EXPECT_EQ(client().command("CF.INFO d").at("Number of items inserted"), integer(1000));
  EXPECT_EQ(client().command("OBJECT ENCODING d"), bulk("classic"));
}

TEST_P(SpectralCommandsTest, PolicyMiRefusesDecrementsAndChangesNothing) {
  start();
  ASSERT_EQ(client().command("CF.RESERVE f 1000 POLICY MI"), ok());
  EXPECT_EQ(client().command("CF.INCR f a 3"), integer(3));
  const Reply before = digest("f");
  EXPECT_EQ(client().command("CF.DECR f a"), kNoDecrements);
  EXPECT_EQ(client().command("CF.DECR f missing"), kNoDecrements);
  EXPECT_EQ(client().command("CF.DEL f a"), kNoDecrements);
  EXPECT_EQ(digest("f"), before);
  EXPECT_EQ(client().command("CF.INCRBY f a 1 b 2"), array({integer(4), integer(2)}));
}

TEST_P(SpectralCommandsTest, MergeAddsCountsAndNamesWhatDiffers) {
  start();
  const std::string cannot = "ERR filters cannot be merged: ";
  for (const std::string key : {"a", "b"}) {
    ASSERT_EQ(client().command("CF.RESERVE " + key + " 1000"), ok());
    ASSERT_EQ(client().command("CF.INCRBY " + key + " x 100 " + key + " 5").size(), 2u);
  }
  EXPECT_EQ(client().command("CF.MERGE sum a b"), ok());
  EXPECT_EQ(client().command("CF.MCOUNT sum x a b"), array({integer(200), integer(5), integer(5)}));
  EXPECT_EQ(client().command("PEXPIRE sum 100000"), integer(1));
  EXPECT_EQ(client().command("CF.MERGE sum a"), ok());
  EXPECT_EQ(client().command("CF.MERGE sum sum"), ok());
  EXPECT_EQ(client().command("CF.COUNT sum x"), integer(600));
  EXPECT_GT(client().command("PTTL sum").integer, 0);
  EXPECT_EQ(client().command("CF.INFO sum").at("Number of items inserted"),
            integer(2 * (105 + 105 + 105)));

  const Reply before = digest("sum");
  EXPECT_EQ(client().command("CF.MERGE sum missing"), kNotFound);
  client().command("CF.RESERVE mi 1000 POLICY MI");
  EXPECT_EQ(client().command("CF.MERGE sum mi"), error(cannot + "they differ in their policy"));
  client().command("CF.RESERVE large 100000");
  EXPECT_EQ(client().command("CF.MERGE sum large"),
            error(cannot + "they differ in their number of counters"));
  client().command("CF.RESERVE most 1000");
  client().call("CF.INCR", "most", "x", kMost);
  EXPECT_EQ(client().command("CF.MERGE sum most"), kOverflow);
  client().command("CF.RESERVE grown 4");
  client().command("CF.INSERT grown ITEMS 1 2 3 4 5 6 7 8 9");
  EXPECT_EQ(client().command("CF.MERGE sum grown"),
            error(cannot + "one of them has grown to more than one layer"));
  client().command("BF.ADD bloom x");
  EXPECT_EQ(client().command("CF.MERGE sum bloom"), kWrongType);
  EXPECT_EQ(client().command("CF.MERGE bloom a"), kWrongType);
  EXPECT_EQ(digest("sum"), before);
}

TEST_P(SpectralCommandsTest, KeysOfAnotherKindAreRefusedOrEmpty) {
  start();
  client().command("BF.ADD bloom x");
  client().command("CF.ADD spectral x");
  for (const std::string command : {"CF.INCR bloom x",         "CF.DECR bloom x",
                                    "CF.INCRBY bloom x 1",     "CF.RESERVE bloom 100",
                                    "CF.ADD bloom x",          "CF.ADDNX bloom x",
                                    "CF.INSERT bloom ITEMS x", "CF.INSERTNX bloom NOCREATE ITEMS x",
                                    "CF.DEL bloom x",          "CF.COMPACT bloom",
                                    "CF.INFO bloom",           "CF.DEBUG bloom",
                                    "CF.SCANDUMP bloom 0",     "CF.LOADCHUNK bloom 1 x",
                                    "CF.LOADCHUNK bloom 2 x",  "CF.STATS bloom",
                                    "CF.INITBYDIM bloom 10 2", "BF.ADD spectral x",
                                    "BF.INFO spectral",        "BF.RESERVE spectral 0.01 100"}) {
    EXPECT_EQ(client().command(command), kWrongType) << command;
  }
  EXPECT_EQ(client().command("CF.COUNT bloom x"), integer(0));
  EXPECT_EQ(client().command("CF.MCOUNT bloom x y"), array({integer(0), integer(0)}));
  EXPECT_EQ(client().command("CF.EXISTS bloom x"), integer(0));
  EXPECT_EQ(client().command("CF.MEXISTS bloom x"), array({integer(0)}));
  EXPECT_EQ(client().command("BF.EXISTS spectral x"), integer(0));
  EXPECT_EQ(client().command("TYPE spectral"), simple("spectral"));
  EXPECT_EQ(client().command("OBJECT ENCODING spectral"), bulk("blocked"));
  EXPECT_EQ(client().command("SCAN 0 TYPE spectral")[1], bulks({"spectral"}));
}

TEST_P(SpectralCommandsTest, FiltersThatAFirstAddMakesFollowTheConfiguration) {
  start(
      {"cf-initial-size 512", "cf-expansion-factor 0", "cf-bucket-size 4", "cf-max-iterations 7"});
  EXPECT_EQ(client().command("CF.INCR f a"), integer(1));
  const Reply info = client().command("CF.INFO f");
  EXPECT_EQ(info.at("Number of buckets"), integer(128));
  EXPECT_EQ(info.at("Bucket size"), integer(4));
  EXPECT_EQ(info.at("Expansion rate"), integer(0));
  EXPECT_EQ(info.at("Max iterations"), integer(7));
}

TEST_P(SpectralCommandsTest, TheLastExpansionIsSaid) {
  start({"cf-max-expansions 1"});
  // The seed is random, and a full filter takes one in so many for known: here too few to be seen.
  ASSERT_EQ(client().command("CF.RESERVE f 4 EXPANSION 1 ERROR 0.000001"), ok());
  Reply reply;
  for (int i = 0; i < 100 && !reply.is_error(); ++i) {
    reply = client().call("CF.ADD", "f", "item" + std::to_string(i));
  }
  EXPECT_EQ(reply, error("Maximum expansions reached"));
  EXPECT_EQ(client().command("CF.INSERT f ITEMS item0 never-seen"),
            array({integer(1), integer(-1)}));
}

TEST_P(SpectralCommandsTest, MemoryLimitsHoldForNewFiltersAndForGrowth) {
  start({"filter-max-memory 20kb"});
  const Reply no_memory = error("ERR Insufficient memory to create filter");
  EXPECT_EQ(client().command("CF.RESERVE large 1000000"), no_memory);
  EXPECT_EQ(client().command("CF.INSERT large CAPACITY 1000000 ITEMS a"), no_memory);
  EXPECT_EQ(client().command("CF.INITBYDIM large 1000000 4"), no_memory);
  EXPECT_EQ(client().command("CF.RESERVE huge 1099511627776"), no_memory);
  ASSERT_EQ(client().command("CF.RESERVE f 1000 EXPANSION 100"), ok());
  Reply reply;
  int added = 0;
  for (; added < 2000 && !reply.is_error(); ++added) {
    reply = client().call("CF.ADD", "f", std::to_string(added));
  }
  EXPECT_EQ(reply, error("ERR Insufficient memory"));
  EXPECT_GE(added, 1000);
  EXPECT_EQ(client().command("CF.INSERT f ITEMS 0 never-seen-1 never-seen-2 never-seen-3")[0],
            integer(1));
  EXPECT_EQ(client().command("CF.INFO f").at("Number of filters"), integer(1));

  client().command("CONFIG SET filter-max-memory 0");
  client().command("CONFIG SET maxmemory 100mb");
  EXPECT_EQ(client().command("CF.RESERVE large 100000000"),
            error("OOM command not allowed when used memory > 'maxmemory'."));
  EXPECT_EQ(client().command("CF.RESERVE small 1000"), ok());
}

// The counts themselves take memory when they are large, whatever the number of items.
TEST_P(SpectralCommandsTest, MemoryLimitsHoldForLargeCounts) {
  start();
  const Reply no_memory = error("ERR Insufficient memory");
  // So large that the few items do not share counters.
  ASSERT_EQ(client().command("CF.RESERVE f 1000000 ERROR 0.000001 EXPANSION 0"), ok());
  // Up to 262 the high parts take a byte each, and fit into the block.
  ASSERT_EQ(client().command("CF.INCR f 0 262"), integer(262));
  const int64_t size = client().command("CF.INFO f").at("Size").integer;
  client().call("CONFIG", "SET", "filter-max-memory", std::to_string(size));
  const Reply digest = client().command("DEBUG DIGEST-VALUE f");
  const Reply figures = client().command("CF.INFO f");
  EXPECT_EQ(client().command("CF.INCR f 0"), no_memory);
  EXPECT_EQ(client().command("CF.INCR f new 1000000"), no_memory);
  EXPECT_EQ(client().command("CF.ADD f 0"), no_memory);
  EXPECT_EQ(client().command("CF.INSERT f ITEMS 0"), array({no_memory}));
  EXPECT_EQ(client().command("CF.INCRBY f new1 1 new2 2 0 1 new3 3"), no_memory);
  EXPECT_EQ(client().command("DEBUG DIGEST-VALUE f"), digest);
  EXPECT_EQ(client().command("CF.INFO f"), figures);
  EXPECT_EQ(client().command("CF.MCOUNT f new new1 new2 new3 0"),
            array({integer(0), integer(0), integer(0), integer(0), integer(262)}));
  EXPECT_EQ(client().command("CF.ADD f new"), integer(1)) << "what needs no memory is done";
  EXPECT_EQ(client().command("CF.INCRBY f new1 3 new2 3"), array({integer(3), integer(3)}));
  EXPECT_EQ(client().command("CF.DECR f 0 2"), integer(260));

  const int64_t limit = size + 1500;
  client().call("CONFIG", "SET", "filter-max-memory", std::to_string(limit));
  int refused = 0;
  for (int i = 1; i < 500; ++i) {
    const Reply reply = client().call("CF.INCR", "f", std::to_string(i), "1000");
    ASSERT_TRUE(reply == no_memory || reply.integer >= 1000);
    refused += reply == no_memory ? 1 : 0;
    ASSERT_LE(client().command("CF.INFO f").at("Size").integer, limit);
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 499);
  client().command("CONFIG SET filter-max-memory 0");
  EXPECT_EQ(client().command("CF.INCR f 1 1000000").is_error(), false);
}

TEST_P(SpectralCommandsTest, AllWorksInsideATransaction) {
  start();
  client().command("CF.RESERVE f 4");
  client().command("WATCH f");
  client().command("MULTI");
  EXPECT_EQ(client().command("CF.INSERT f ITEMS 1 2 3 4 5 6 7 8 9 10"), queued());
  EXPECT_EQ(client().command("CF.INCR g x 5"), queued());
  EXPECT_EQ(client().command("CF.DECR g x 2"), queued());
  EXPECT_EQ(client().command("CF.COUNT g x"), queued());
  const Reply replies = client().command("EXEC");
  ASSERT_EQ(replies.size(), 4u);
  EXPECT_EQ(replies[0].size(), 10u);
  EXPECT_EQ(replies[3], integer(3));

  client().command("WATCH g");
  connect().command("CF.INCR g other");
  client().command("MULTI");
  client().command("CF.INCR g x");
  EXPECT_EQ(client().command("EXEC"), nil_array());
}

}  // namespace
}  // namespace iris::harness
