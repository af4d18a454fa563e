// What a Bloom filter tells about itself (BF.INFO, BF.CARD, BF.DEBUG, BF.STATS, and the commands
// for any key), and the two commands of Iris's own that make filters: BF.INITBYDIM and BF.MERGE.
#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kNotFound = "ERR not found";

class BloomInfoTest : public ServerTest {
 public:
  Reply digest(std::string_view key) { return client().call("DEBUG", "DIGEST-VALUE", key); }
};
IRIS_WITH_1_AND_4_THREADS(BloomInfoTest);

TEST_P(BloomInfoTest, InfoHasRedisBloomsFieldsAndNoOther) {
  start({"bf-layout classic"});
  client().command("BF.RESERVE f 0.001 100");
  client().command("BF.MADD f a b c");
  const std::vector<std::pair<Reply, Reply>> fields = {
      {bulk("Capacity"), integer(100)},
      {bulk("Size"), integer(296)},
      {bulk("Number of filters"), integer(1)},
      {bulk("Number of items inserted"), integer(3)},
      {bulk("Expansion rate"), integer(2)}};
  std::vector<Reply> flat;
  for (const auto& [name, value] : fields) flat.insert(flat.end(), {name, value});
  EXPECT_EQ(client().command("BF.INFO f"), array(flat));
  RespClient resp3 = connect_resp3();
  EXPECT_EQ(resp3.command("BF.INFO f"), map(fields));
  const std::vector<std::string> options = {"capacity", "SIZE", "Filters", "ITEMS", "EXPANSION"};
  for (size_t i = 0; i < options.size(); ++i) {
    EXPECT_EQ(client().call("BF.INFO", "f", options[i]), array({fields[i].second})) << options[i];
    EXPECT_EQ(resp3.call("BF.INFO", "f", options[i]), map({fields[i]})) << options[i];
  }
  EXPECT_EQ(client().command("BF.INFO f NOTHING"), error("Invalid information value"));
}

TEST_P(BloomInfoTest, AFilterThatDoesNotScaleHasNoExpansionRate) {
  start();
  client().command("BF.RESERVE f 0.01 10 NONSCALING");
  EXPECT_EQ(client().command("BF.INFO f").at("Expansion rate"), nil());
  EXPECT_EQ(client().command("BF.INFO f EXPANSION"), array({nil()}));
  RespClient resp3 = connect_resp3();
  EXPECT_EQ(resp3.command("BF.INFO f").at("Expansion rate"), null());
  EXPECT_EQ(resp3.command("BF.INFO f EXPANSION"), map({{bulk("Expansion rate"), null()}}));
}

TEST_P(BloomInfoTest, AMissingKeyIsNotFoundOrEmpty) {
  start();
  EXPECT_EQ(client().command("BF.CARD missing"), integer(0));
  for (const std::string line : {"BF.INFO missing", "BF.INFO missing SIZE", "BF.INFO missing WHAT",
                                 "BF.DEBUG missing", "BF.STATS missing", "BF.SCANDUMP missing 0",
                                 "BF.MERGE missing missing", "BF.LOADCHUNK missing 2 x"}) {
    EXPECT_EQ(client().command(line), error(kNotFound)) << line;
  }
  EXPECT_EQ(client().command("DBSIZE"), integer(0));
}

TEST_P(BloomInfoTest, DebugHasALineForEachLayer) {
  start({"bf-layout classic"});
  client().command("BF.RESERVE bf 0.01 10");
  for (int i = 0; i < 100; ++i) client().call("BF.ADD", "bf", std::to_string(i));
  // RedisBloom's own vector: one of the hundred is a false positive.
  const std::vector<std::string> lines = {
      "size:99", "bytes:16 bits:128 hashes:8 hashwidth:64 capacity:10 size:10 ratio:0.005",
      "bytes:32 bits:256 hashes:9 hashwidth:64 capacity:20 size:20 ratio:0.0025",
      "bytes:72 bits:576 hashes:10 hashwidth:64 capacity:40 size:40 ratio:0.00125",
      "bytes:160 bits:1280 hashes:11 hashwidth:64 capacity:80 size:29 ratio:0.000625"};
  EXPECT_EQ(client().command("BF.DEBUG bf"), bulks(lines));
  EXPECT_EQ(connect_resp3().command("BF.DEBUG bf"), bulks(lines));
  EXPECT_EQ(client().command("BF.CARD bf"), integer(99));
  EXPECT_EQ(client().command("BF.INFO bf FILTERS"), array({integer(4)}));
  EXPECT_EQ(client().command("BF.INFO bf CAPACITY"), array({integer(150)}));
  EXPECT_EQ(client().command("BF.INFO bf SIZE"), array({integer(32 + 4 * 64 + 280)}));
}

TEST_P(BloomInfoTest, StatsTellLayoutFillAndRates) {
  start();
  client().command("BF.RESERVE f 0.01 1000 LAYOUT BLOCKED");
  for (int i = 0; i < 500; ++i) client().send_command({"BF.ADD", "f", std::to_string(i)});
  client().read_replies(500);
  RespClient resp3 = connect_resp3();
  const Reply stats = resp3.command("BF.STATS f");
  ASSERT_EQ(stats.type, Reply::Type::kMap);
  EXPECT_EQ(stats.at("layout"), bulk("blocked"));
  EXPECT_GT(stats.at("bits").integer, 9000);
  EXPECT_GT(stats.at("hashes").integer, 3);
  EXPECT_GT(stats.at("bits per item").real, 9);
  EXPECT_GT(stats.at("fill ratio").real, 0.1);
  EXPECT_LT(stats.at("fill ratio").real, 0.5);
  EXPECT_EQ(stats.at("error rate promised"), real(0.01));
  EXPECT_GT(stats.at("error rate now").real, 0);
  EXPECT_LT(stats.at("error rate now").real, 0.01);
  EXPECT_EQ(client().command("BF.STATS f").type, Reply::Type::kArray);
  EXPECT_EQ(client().command("BF.STATS f").size(), stats.size());
}

TEST_P(BloomInfoTest, GenericCommandsKnowAFilter) {
  start();
  client().command("BF.RESERVE f 0.01 100000 LAYOUT BLOCKED");
  EXPECT_EQ(client().command("TYPE f"), simple("bloom"));
  EXPECT_EQ(client().command("OBJECT ENCODING f").type, Reply::Type::kBulk);
  const int64_t size = client().command("BF.INFO f SIZE")[0].integer;
  const int64_t usage = client().command("MEMORY USAGE f").integer;
  EXPECT_GE(usage, size - 100);
  EXPECT_LE(usage, size + size / 10 + 4096);
}

TEST_P(BloomInfoTest, InitbydimMakesTheTextbookFilter) {
  start();
  EXPECT_EQ(client().command("BF.INITBYDIM f 100 3"), ok());
  EXPECT_EQ(client().command("BF.INITBYDIM f 100 3"), error("ERR item exists"));
  EXPECT_EQ(client().command("BF.STATS f").at("bits"), integer(100));
  EXPECT_EQ(client().command("BF.STATS f").at("hashes"), integer(3));
  EXPECT_EQ(client().command("BF.INFO f EXPANSION"), array({nil()}));
  // Never full, never growing: in the end it says yes to everything.
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(client().call("BF.ADD", "f", std::to_string(i)).is_error());
  }
  EXPECT_EQ(client().command("BF.INFO f FILTERS"), array({integer(1)}));
  EXPECT_EQ(client().command("BF.EXISTS f absent"), integer(1));
  EXPECT_EQ(client().command("BF.STATS f").at("fill ratio").text, "1");
}

TEST_P(BloomInfoTest, InitbydimRefusesImpossibleDimensions) {
  start();
  const std::string bits_range = "ERR bits must be in the range [1, 70368744177664]";
  const std::string hashes_range = "ERR hashes must be in the range [1, 256]";
  for (const auto& [args, text] :
       std::vector<std::pair<std::string, std::string>>{{"x 3", "ERR bad number of bits"},
                                                        {"100 x", "ERR bad number of hashes"},
                                                        {"0 3", bits_range},
                                                        {"-1 3", bits_range},
                                                        {"9223372036854775807 3", bits_range},
                                                        {"100 0", hashes_range},
                                                        {"100 -1", hashes_range},
                                                        {"100 257", hashes_range}}) {
    EXPECT_EQ(client().command("BF.INITBYDIM f " + args), error(text)) << args;
  }
  EXPECT_EQ(client().command("EXISTS f"), integer(0));
}

TEST_P(BloomInfoTest, MergeIsTheUnion) {
  start();
  for (const std::string key : {"a", "b", "c"}) client().call("BF.RESERVE", key, "0.001", "100");
  client().command("BF.MADD a 1 2 3");
  client().command("BF.MADD b 3 4");
  EXPECT_EQ(client().command("BF.MERGE new a b"), ok()) << "a missing destination is made";
  EXPECT_EQ(client().command("BF.MEXISTS new 1 2 3 4"),
            array({integer(1), integer(1), integer(1), integer(1)}));
  EXPECT_EQ(client().command("BF.CARD new"), integer(5)) << "counts are added";
  client().command("BF.ADD c 9");
  EXPECT_EQ(client().command("BF.MERGE c a"), ok());
  EXPECT_EQ(client().command("BF.MEXISTS c 1 2 3 9"),
            array({integer(1), integer(1), integer(1), integer(1)}));
  EXPECT_EQ(client().command("BF.CARD c"), integer(4));
  EXPECT_EQ(client().command("BF.CARD a"), integer(3)) << "sources stay as they are";
  client().command("BF.ADD new 7");
  EXPECT_EQ(client().command("BF.EXISTS a 7"), integer(0)) << "the new filter is one of its own";
}

TEST_P(BloomInfoTest, MergeNamesWhatDiffersAndChangesNothing) {
  start();
  client().command("BF.RESERVE f 0.01 1000 LAYOUT BLOCKED");
  client().command("BF.ADD f x");
  client().command("BF.RESERVE layout 0.01 1000 LAYOUT PAGED");
  client().command("BF.RESERVE bits 0.01 5000 LAYOUT BLOCKED");
  client().command("BF.RESERVE layers 0.01 1000 LAYOUT BLOCKED");
  for (int i = 0; i < 1200; ++i) client().call("BF.ADD", "layers", std::to_string(i));
  client().command("BF.INITBYDIM three 1000 3");
  client().command("BF.INITBYDIM four 1000 4");
  client().command("BF.RESERVE same 0.01 1000 LAYOUT BLOCKED");
  const Reply before = digest("f");
  for (const std::string what : {"layout", "bits", "layers"}) {
    const Reply reply = client().call("BF.MERGE", "f", "same", what);
    EXPECT_TRUE(reply.is_error("ERR")) << what;
    EXPECT_THAT(reply.text, HasSubstr(what));
    EXPECT_EQ(digest("f"), before) << "all sources are checked first";
  }
  EXPECT_THAT(client().command("BF.MERGE three four").text, HasSubstr("hashes"));
  EXPECT_EQ(client().command("BF.MERGE new three four").is_error(), true);
  EXPECT_EQ(client().command("BF.MERGE new same missing"), error(kNotFound));
  EXPECT_EQ(client().command("EXISTS new"), integer(0));
  EXPECT_EQ(client().command("BF.MERGE missing-too missing"), error(kNotFound));
}

TEST_P(BloomInfoTest, InfoModulesCountsFilters) {
  start();
  client().command("BF.RESERVE a 0.01 100");
  client().command("BF.MADD a x y z");
  client().command("BF.ADD b x");
  EXPECT_EQ(info_integer(client(), "modules", "bf_bloom_num_objects"), 2);
  EXPECT_EQ(info_integer(client(), "modules", "bf_bloom_num_items_across_objects"), 4);
  EXPECT_EQ(info_integer(client(), "modules", "bf_bloom_capacity_across_objects"), 200);
}

}  // namespace
}  // namespace iris::harness
