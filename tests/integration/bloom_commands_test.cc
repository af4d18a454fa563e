// BF.RESERVE, BF.ADD, BF.MADD, BF.INSERT, BF.EXISTS, BF.MEXISTS: replies and error texts in both
// protocols, as RedisBloom's clients know them.
#include <random>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr std::string_view kFull = "ERR non scaling filter is full";
constexpr std::string_view kRateRange = "ERR error rate must be in the range (0.000000, 1.000000)";
constexpr std::string_view kCapacityRange = "ERR capacity must be in the range [1, 1099511627776]";
constexpr std::string_view kExpansionRange = "ERR expansion must be in the range [0, 32768]";

Reply arity_error(std::string_view command) {
  return error("ERR wrong number of arguments for '" + std::string(command) + "' command");
}

class BloomCommandsTest : public ServerTest {
 public:
  // The only other type of key is a spectral filter. False if this server has none yet.
  bool make_other_type(std::string_view key) {
    return client().call("CF.RESERVE", key, "1000") == ok();
  }
};
IRIS_WITH_1_AND_4_THREADS(BloomCommandsTest);

TEST_P(BloomCommandsTest, AddingAndLookingUpAnswerIntegersInResp2) {
  start();
  EXPECT_EQ(client().command("BF.RESERVE f 0.01 100"), ok());
  EXPECT_EQ(client().command("BF.ADD f a"), integer(1));
  EXPECT_EQ(client().command("BF.ADD f a"), integer(0));
  EXPECT_EQ(client().command("BF.MADD f a b"), array({integer(0), integer(1)}));
  EXPECT_EQ(client().command("BF.INSERT f ITEMS b c c"),
            array({integer(0), integer(1), integer(0)}));
  EXPECT_EQ(client().command("BF.EXISTS f a"), integer(1));
  EXPECT_EQ(client().command("BF.EXISTS f absent"), integer(0));
  EXPECT_EQ(client().command("BF.MEXISTS f a absent c"),
            array({integer(1), integer(0), integer(1)}));
}

TEST_P(BloomCommandsTest, AddingAndLookingUpAnswerBooleansInResp3) {
  start();
  RespClient resp3 = connect_resp3();
  EXPECT_EQ(resp3.command("BF.RESERVE f 0.01 100"), ok());
  EXPECT_EQ(resp3.command("BF.ADD f a"), boolean(true));
  EXPECT_EQ(resp3.command("BF.ADD f a"), boolean(false));
  EXPECT_EQ(resp3.command("BF.MADD f a b"), array({boolean(false), boolean(true)}));
  EXPECT_EQ(resp3.command("BF.INSERT f ITEMS b c"), array({boolean(false), boolean(true)}));
  EXPECT_EQ(resp3.command("BF.EXISTS f a"), boolean(true));
  EXPECT_EQ(resp3.command("BF.EXISTS f absent"), boolean(false));
  EXPECT_EQ(resp3.command("BF.MEXISTS f a absent"), array({boolean(true), boolean(false)}));
}

TEST_P(BloomCommandsTest, LookupsInAMissingKeyFindNothingAndMakeNoKey) {
  start();
  EXPECT_EQ(client().command("BF.EXISTS missing a"), integer(0));
  EXPECT_EQ(client().command("BF.MEXISTS missing a b"), array({integer(0), integer(0)}));
  EXPECT_EQ(client().command("BF.INSERT missing NOCREATE ITEMS a"), error("ERR not found"));
  EXPECT_EQ(client().command("DBSIZE"), integer(0));
  RespClient resp3 = connect_resp3();
  EXPECT_EQ(resp3.command("BF.EXISTS missing a"), boolean(false));
  EXPECT_EQ(resp3.command("BF.MEXISTS missing a b"), array({boolean(false), boolean(false)}));
}

TEST_P(BloomCommandsTest, AdditionsMakeAMissingFilterWithTheDefaults) {
  start();
  EXPECT_EQ(client().command("BF.ADD a x"), integer(1));
  EXPECT_EQ(client().command("BF.MADD b x y"), array({integer(1), integer(1)}));
  EXPECT_EQ(client().command("BF.INSERT c ITEMS x"), array({integer(1)}));
  for (const std::string key : {"a", "b", "c"}) {
    EXPECT_EQ(client().call("BF.INFO", key, "CAPACITY"), array({integer(100)})) << key;
    EXPECT_EQ(client().call("BF.INFO", key, "EXPANSION"), array({integer(2)})) << key;
    EXPECT_EQ(client().call("TYPE", key), simple("bloom")) << key;
  }
}

TEST_P(BloomCommandsTest, DefaultsComeFromTheConfiguration) {
  start({"bf-initial-size 7", "bf-expansion-factor 3"});
  client().command("BF.ADD f x");
  EXPECT_EQ(client().command("BF.INFO f CAPACITY"), array({integer(7)}));
  EXPECT_EQ(client().command("BF.INFO f EXPANSION"), array({integer(3)}));
  EXPECT_EQ(client().command("CONFIG SET bf-expansion-factor 0"), ok());
  client().command("BF.ADD g x");
  EXPECT_EQ(client().command("BF.INFO g EXPANSION"), array({nil()}));
  EXPECT_TRUE(client().command("CONFIG SET bf-error-rate 1").is_error());
  EXPECT_TRUE(client().command("CONFIG SET bf-initial-size 0").is_error());
  EXPECT_TRUE(client().command("CONFIG SET bf-expansion-factor 32769").is_error());
}

TEST_P(BloomCommandsTest, WrongArityNamesTheCommandInLowerCase) {
  start();
  for (const auto& [line, name] : std::vector<std::pair<std::string, std::string>>{
           {"BF.RESERVE f 0.01", "bf.reserve"},
           {"BF.ADD f", "bf.add"},
           {"BF.ADD f a b", "bf.add"},
           {"BF.MADD f", "bf.madd"},
           {"BF.EXISTS f", "bf.exists"},
           {"BF.EXISTS f a b", "bf.exists"},
           {"BF.MEXISTS f", "bf.mexists"},
           {"BF.INSERT f ITEMS", "bf.insert"},
           {"BF.INSERT f NOCREATE ITEMS", "bf.insert"},
           {"BF.INSERT f CAPACITY 10", "bf.insert"},
           {"BF.INSERT f NOCREATE CAPACITY", "bf.insert"},
           {"BF.CARD f g", "bf.card"},
           {"BF.INFO", "bf.info"},
           {"BF.INFO f SIZE ITEMS", "bf.info"},
           {"BF.DEBUG f g", "bf.debug"},
           {"BF.SCANDUMP f", "bf.scandump"},
           {"BF.LOADCHUNK f 1", "bf.loadchunk"},
           {"BF.INITBYDIM f 100", "bf.initbydim"},
           {"BF.MERGE f", "bf.merge"},
           {"BF.STATS", "bf.stats"}}) {
    EXPECT_EQ(client().command(line), arity_error(name)) << line;
  }
  EXPECT_EQ(client().command("DBSIZE"), integer(0));
}

TEST_P(BloomCommandsTest, AKeyOfAnotherTypeIsLeftAlone) {
  start();
  ASSERT_TRUE(make_other_type("other"));
  for (const std::string line :
       {"BF.RESERVE other 0.01 100", "BF.ADD other a", "BF.MADD other a b",
        "BF.INSERT other ITEMS a", "BF.INSERT other NOCREATE ITEMS a", "BF.CARD other",
        "BF.INFO other", "BF.INFO other SIZE", "BF.DEBUG other", "BF.STATS other",
        "BF.SCANDUMP other 0", "BF.LOADCHUNK other 1 x", "BF.LOADCHUNK other 5 x",
        "BF.INITBYDIM other 100 3", "BF.MERGE other other", "BF.MERGE new other"}) {
    EXPECT_EQ(client().command(line), error(kWrongType)) << line;
  }
  EXPECT_EQ(client().command("BF.EXISTS other a"), integer(0));
  EXPECT_EQ(client().command("BF.MEXISTS other a b"), array({integer(0), integer(0)}));
  EXPECT_EQ(client().command("EXISTS new"), integer(0));
}

TEST_P(BloomCommandsTest, ReserveAnswersTheFirstMistakeInItsOrder) {
  start();
  const std::vector<std::pair<std::string, std::string_view>> mistakes = {
      {"x x EXPANSION", "ERR bad error rate"},
      {"2 x EXPANSION", kRateRange},
      {"0.01 x EXPANSION", "ERR bad capacity"},
      {"0.01 0 EXPANSION", kCapacityRange},
      {"0.01 10 EXPANSION", "ERR no expansion"},
      {"0.01 10 EXPANSION x NONSCALING", "ERR bad expansion"},
      {"0.01 10 EXPANSION 32769 NONSCALING", kExpansionRange},
      {"0.01 10 EXPANSION 2 NONSCALING", "Nonscaling filters cannot expand"},
      {"0.01 10 NONSCALING EXPANSION 2", "Nonscaling filters cannot expand"},
      {"0.01 10 SOMETHING", "ERR syntax error"},
      {"0.01 10 LAYOUT", "ERR syntax error"},
      {"0.01 10 LAYOUT round", "ERR layout must be one of AUTO, BLOCKED, PAGED, CLASSIC"},
  };
  for (const auto& [args, text] : mistakes) {
    EXPECT_EQ(client().command("BF.RESERVE f " + args), error(text)) << args;
  }
  EXPECT_EQ(client().command("EXISTS f"), integer(0));
  EXPECT_EQ(client().command("BF.RESERVE f 0.01 10"), ok());
  for (const auto& [args, text] : mistakes) {
    EXPECT_EQ(client().command("BF.RESERVE f " + args), error(text)) << "before the key: " << args;
  }
  EXPECT_EQ(client().command("BF.RESERVE f 0.01 10"), error("ERR item exists"));
}

TEST_P(BloomCommandsTest, ReserveTakesItsOptionsInAnyOrderAndCase) {
  start();
  EXPECT_EQ(client().command("BF.RESERVE a 0.01 10 expansion 3 layout paged"), ok());
  EXPECT_EQ(client().command("BF.RESERVE b 0.01 10 LAYOUT CLASSIC NONSCALING"), ok());
  EXPECT_EQ(client().command("BF.RESERVE c 0.01 10 EXPANSION 0"), ok());
  EXPECT_EQ(client().command("BF.RESERVE d 0.01 10 NONSCALING EXPANSION 0"), ok());
  EXPECT_EQ(client().command("BF.RESERVE e 0.01 10 LAYOUT blocked EXPANSION 32768"), ok());
  EXPECT_EQ(client().command("BF.INFO a EXPANSION"), array({integer(3)}));
  for (const std::string key : {"b", "c", "d"}) {
    EXPECT_EQ(client().call("BF.INFO", key, "EXPANSION"), array({nil()})) << key;
  }
  EXPECT_EQ(client().command("BF.STATS a").at("layout"), bulk("paged"));
  EXPECT_EQ(client().command("BF.STATS b").at("layout"), bulk("classic"));
  EXPECT_EQ(client().command("BF.STATS e").at("layout"), bulk("blocked"));
}

TEST_P(BloomCommandsTest, InsertKnowsRedisBloomsAbbreviationsInAnyOrder) {
  start();
  EXPECT_EQ(client().command("BF.INSERT a ER 0.001 EX 4 C 500 I x y"),
            array({integer(1), integer(1)}));
  EXPECT_EQ(client().command("BF.INFO a CAPACITY"), array({integer(500)}));
  EXPECT_EQ(client().command("BF.INFO a EXPANSION"), array({integer(4)}));
  EXPECT_EQ(client().command("BF.INSERT b NONSCALING CAP 20 ERROR 0.1 items x"),
            array({integer(1)}));
  EXPECT_EQ(client().command("BF.INFO b EXPANSION"), array({nil()}));
  EXPECT_EQ(client().command("BF.INSERT c NOC ITEM x"), error("ERR not found"));
  EXPECT_EQ(client().command("BF.INSERT d ITEMS ITEMS CAPACITY"), array({integer(1), integer(1)}))
      << "after ITEMS all are items";
  EXPECT_EQ(client().command("BF.EXISTS d CAPACITY"), integer(1));
}

TEST_P(BloomCommandsTest, InsertRefusesWhatItDoesNotUnderstand) {
  start();
  for (const auto& [args, text] : std::vector<std::pair<std::string, std::string_view>>{
           {"CAPACITY x ITEMS a", "Bad capacity"},
           {"ERROR x ITEMS a", "Bad error rate"},
           {"EXPANSION x ITEMS a", "Bad expansion"},
           {"SOMETHING ITEMS a", "Unknown argument received"},
           {"CAPACITYY 5 ITEMS a", "Unknown argument received"},
           {"CAPACITY 0 ITEMS a", kCapacityRange},
           {"ERROR 0 ITEMS a", kRateRange},
           {"EXPANSION 32769 ITEMS a", kExpansionRange},
           {"NONSCALING EXPANSION 2 ITEMS a", "Nonscaling filters cannot expand"}}) {
    EXPECT_EQ(client().command("BF.INSERT f " + args), error(text)) << args;
  }
  EXPECT_EQ(client().command("EXISTS f"), integer(0));
}

TEST_P(BloomCommandsTest, InsertIgnoresTheShapeWhenTheKeyExists) {
  start();
  client().command("BF.RESERVE f 0.01 10");
  EXPECT_EQ(client().command("BF.INSERT f CAPACITY 5000 ERROR 0.5 ITEMS a"), array({integer(1)}));
  EXPECT_EQ(client().command("BF.INFO f CAPACITY"), array({integer(10)}));
}

TEST_P(BloomCommandsTest, AFullFilterStopsTheCommandAtTheFirstNewItem) {
  start();
  // 1e-9: with so few items a false positive would have to be a miracle.
  client().command("BF.RESERVE f 0.000000001 3 NONSCALING");
  EXPECT_EQ(client().command("BF.MADD f a b a c b d e a"),
            array({integer(1), integer(1), integer(0), integer(1), integer(0), error(kFull)}));
  EXPECT_EQ(client().command("BF.ADD f d"), error(kFull));
  EXPECT_EQ(client().command("BF.ADD f a"), integer(0)) << "a known item needs no room";
  EXPECT_EQ(client().command("BF.INSERT f ITEMS a d b"), array({integer(0), error(kFull)}));
  EXPECT_EQ(client().command("BF.CARD f"), integer(3));
  RespClient resp3 = connect_resp3();
  EXPECT_EQ(resp3.command("BF.MADD f c d"), array({boolean(false), error(kFull)}));
  EXPECT_EQ(resp3.command("BF.MEXISTS f a d"), array({boolean(true), boolean(false)}));
}

// Known ones, new ones and ones that come twice, in requests of which some are planned ahead as a
// whole and others are not, while the filter grows.
TEST_P(BloomCommandsTest, ManyItemsAreAddedAsOneByOne) {
  start();
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  client().call("BF.RESERVE", "many", "0.01", "50");
  client().call("BF.RESERVE", "single", "0.01", "50");
  for (int request = 0; request < 200; ++request) {
    std::vector<std::string> items(1 + random() % 80);
    for (std::string& item : items) item = std::to_string(random() % 4000);
    std::vector<std::string_view> words = {"BF.MADD", "many"};
    words.insert(words.end(), items.begin(), items.end());
    const Reply reply = client().call_args(words);
    ASSERT_EQ(reply.size(), items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      ASSERT_EQ(reply[i], client().call("BF.ADD", "single", items[i])) << request << " " << i;
    }
    words[0] = "BF.MEXISTS";
    std::vector<std::string> strangers(items.size());
    for (size_t i = 0; i < items.size(); ++i) words.push_back(strangers[i] = items[i] + "?");
    const Reply found = client().call_args(words);
    for (size_t i = 2; i < words.size(); ++i) {
      ASSERT_EQ(found[i - 2], client().call("BF.EXISTS", "single", words[i])) << words[i];
    }
  }
  EXPECT_EQ(client().call("DEBUG", "DIGEST-VALUE", "many"),
            client().call("DEBUG", "DIGEST-VALUE", "single"));
}

// Long replies are kept as bytes and rendered later: the early end must survive that too.
TEST_P(BloomCommandsTest, AFullFilterEndsALongReplyToo) {
  start();
  constexpr size_t kCapacity = 20'000;
  client().call("BF.RESERVE", "f", "0.000000001", std::to_string(kCapacity), "NONSCALING");
  std::vector<std::string> items;
  for (size_t i = 0; i < kCapacity + 5000; ++i) items.push_back("item" + std::to_string(i));
  std::vector<std::string_view> request = {"BF.MADD", "f"};
  request.insert(request.end(), items.begin(), items.end());
  const Reply reply = client().call_args(request);
  ASSERT_EQ(reply.size(), kCapacity + 1);
  EXPECT_EQ(reply[0], integer(1));
  EXPECT_EQ(reply[kCapacity - 1], integer(1));
  EXPECT_EQ(reply[kCapacity], error(kFull));
  EXPECT_EQ(client().command("BF.CARD f"), integer(kCapacity));
}

}  // namespace
}  // namespace iris::harness
