// The classic layout is RedisBloom's, bit for bit: sizes, the header and the cells of a dump, the
// texts of LOADCHUNK. What is expected here was computed from RedisBloom's formulas, not by Iris.
#include <cmath>
#include <cstring>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

// Austin Appleby's MurmurHash64A, as RedisBloom uses it.
uint64_t murmur(std::string_view bytes, uint64_t seed) {
  constexpr uint64_t kM = 0xc6a4a7935bd1e995;
  uint64_t h = seed ^ (bytes.size() * kM);
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t k = 0;
    std::memcpy(&k, bytes.data() + i, 8);
    k *= kM;
    k ^= k >> 47;
    h = (h ^ k * kM) * kM;
  }
  if (i < bytes.size()) {
    uint64_t tail = 0;
    std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
    h = (h ^ tail) * kM;
  }
  h = (h ^ h >> 47) * kM;
  return h ^ h >> 47;
}

void set_bits(std::string& cells, uint64_t bits, uint32_t hashes, std::string_view item) {
  const uint64_t h1 = murmur(item, 0xc6a4a7935bd1e995);
  const uint64_t h2 = murmur(item, h1);
  for (uint32_t i = 0; i < hashes; ++i) {
    const uint64_t x = (h1 + i * h2) % bits;
    cells[x >> 3] = static_cast<char>(cells[x >> 3] | 1 << (x & 7));
  }
}

template <typename T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// RedisBloom's constants have 15 digits, and its headers show it.
constexpr double kLn2 = 0.693147180559945;
constexpr double kLn2Squared = 0.480453013918201;

// The header of a filter of one layer; bits per entry and hashes by RedisBloom's formula.
std::string one_layer_header(uint64_t items, uint64_t capacity, double rate, uint64_t bits,
                             bool scaling, uint32_t expansion) {
  const double bpe = -std::log(rate) / kLn2Squared;
  std::string header;
  append<uint64_t>(header, items);
  append<uint32_t>(header, 1);
  append<uint32_t>(header, scaling ? 5 : 13);
  append<uint32_t>(header, expansion);
  append<uint64_t>(header, bits / 8);
  append<uint64_t>(header, bits);
  append<uint64_t>(header, items);
  append<double>(header, rate);
  append<double>(header, bpe);
  append<uint32_t>(header, static_cast<uint32_t>(std::ceil(kLn2 * bpe)));
  append<uint64_t>(header, capacity);
  append<uint8_t>(header, 0);
  return header;
}

class BloomClassicTest : public ServerTest {
 public:
  void start_classic() { start({"bf-layout classic"}); }
};
IRIS_WITH_1_AND_4_THREADS(BloomClassicTest);

TEST_P(BloomClassicTest, SizesAreRedisBlooms) {
  start_classic();
  for (const auto& [shape, size] :
       std::vector<std::pair<std::string, int64_t>>{{"0.001 100", 296},
                                                    {"0.01 100", 240},
                                                    {"0.01 3 NONSCALING", 104},
                                                    {"0.001 2000", 4056}}) {
    client().command("DEL f");
    EXPECT_EQ(client().command("BF.RESERVE f " + shape), ok());
    EXPECT_EQ(client().command("BF.INFO f SIZE"), array({integer(size)})) << shape;
  }
}

TEST_P(BloomClassicTest, ALargeFilterTakesMemoryOnlyWhereItIsWritten) {
  IRIS_SKIP_UNDER_SANITIZERS();
  start_classic();
  const uint64_t before = server().rss_bytes();
  EXPECT_EQ(client().command("BF.RESERVE f 0.000001 300000000"), ok());
  EXPECT_EQ(client().command("BF.INFO f SIZE"), array({integer(1132420232)}));
  EXPECT_LT(server().rss_bytes(), before + (16 << 20));
}

TEST_P(BloomClassicTest, ADumpHasRedisBloomsHeaderAndBits) {
  start_classic();
  client().command("BF.RESERVE f 0.01 100");
  std::string cells(144, '\0');  // 240 - 32 - 64
  for (int i = 0; i < 50; ++i) {
    const std::string item = "item:" + std::to_string(i * 7919);
    ASSERT_EQ(client().call("BF.ADD", "f", item), integer(1));
    set_bits(cells, 144 * 8, 8, item);
  }
  const std::string header = one_layer_header(50, 100, 0.005, 144 * 8, true, 2);
  ASSERT_EQ(header.size(), 73U);
  EXPECT_EQ(client().command("BF.SCANDUMP f 0"), array({integer(1), bulk(header)}));
  EXPECT_EQ(client().command("BF.SCANDUMP f 1"), array({integer(145), bulk(cells)}));
  EXPECT_EQ(client().command("BF.SCANDUMP f 145"), array({integer(0), bulk("")}));
}

TEST_P(BloomClassicTest, ADumpOfRedisBloomLoads) {
  start();  // whatever the layout of new filters is
  std::string cells(40, '\0');
  for (const std::string_view item : {"a", "b", "", "a longer item"}) set_bits(cells, 320, 7, item);
  const std::string header = one_layer_header(4, 30, 0.01, 320, false, 0);
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "1", header), ok());
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "41", cells), ok());
  for (const std::string_view item : {"a", "b", "", "a longer item"}) {
    EXPECT_EQ(client().call("BF.EXISTS", "f", item), integer(1)) << item;
  }
  EXPECT_EQ(client().call("BF.EXISTS", "f", "absent"), integer(0));
  EXPECT_EQ(client().command("BF.CARD f"), integer(4));
  EXPECT_EQ(client().command("BF.INFO f CAPACITY"), array({integer(30)}));
  EXPECT_EQ(client().command("BF.INFO f EXPANSION"), array({nil()}));
  EXPECT_EQ(client().call("BF.ADD", "f", "new"), integer(1)) << "and it works on";
  EXPECT_EQ(client().command("BF.SCANDUMP f 0")[1].text.size(), header.size());
}

TEST_P(BloomClassicTest, PiecesOutsideOfTheFilterAreRefused) {
  start_classic();
  const std::string header = one_layer_header(0, 100, 0.005, 144 * 8, true, 2);
  ASSERT_EQ(client().call("BF.LOADCHUNK", "f", "1", header), ok());
  const std::string eight(8, '\0');
  const std::string_view no_link = "ERR invalid offset - no link found";
  const std::string_view too_big = "ERR invalid chunk - Too big for current filter";
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "1000", eight), error(no_link));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "2", eight), error(no_link));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "9223372036854775807", eight), error(no_link));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "-9223372036854775808", eight), error(no_link));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "0", eight), error(no_link));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "149", eight), error(too_big));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "146", std::string(145, '\0')), error(too_big));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "x", eight),
            error("Second argument must be numeric"));
  EXPECT_EQ(client().call("BF.SCANDUMP", "f", "x").is_error(), true);
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "145", ""), error("ERR received bad data"));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "145", std::string(144, '\0')), ok());
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "145", std::string(144, '\0')),
            error("ERR received bad data"))
      << "a finished filter takes no more";
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "1", header), error("ERR item exists"));
}

TEST_P(BloomClassicTest, AHeaderThatContradictsItselfIsRefused) {
  start_classic();
  const std::string good = one_layer_header(5, 100, 0.005, 144 * 8, true, 2);
  // Offset and new value of one field; the layer starts at 20.
  const auto with = [&](size_t offset, auto value) {
    std::string bad = good;
    std::memcpy(bad.data() + offset, &value, sizeof value);
    return bad;
  };
  const std::vector<std::pair<std::string, std::string>> forged = {
      {"items", with(0, uint64_t{6})},
      {"no layers", with(8, uint32_t{0})},
      {"more layers than are there", with(8, uint32_t{2})},
      {"layers times 53 wraps", with(8, uint32_t{0xffffffff})},
      {"option bits", with(12, uint32_t{5 | 64})},
      {"bytes", with(20, uint64_t{8})},
      {"bytes wrap to 0 bits", with(20, uint64_t{1} << 61)},
      {"bits", with(28, uint64_t{0})},
      {"error 0", with(44, 0.0)},
      {"error nan", with(44, std::nan(""))},
      {"error 1", with(44, 1.0)},
      {"bits per entry", with(52, -1.0)},
      {"bits per entry nan", with(52, std::nan(""))},
      {"no hashes", with(60, uint32_t{0})},
      {"too many hashes", with(60, uint32_t{1} << 31)},
      {"n2", with(72, uint8_t{64})},
      {"cut off", good.substr(0, 72)},
      {"one byte more", good + "x"},
      {"half of the fixed part", good.substr(0, 10)},
      {"nothing", ""},
  };
  for (const auto& [what, header] : forged) {
    EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "1", header), error("ERR received bad data"))
        << what;
  }
  EXPECT_EQ(client().command("EXISTS f"), integer(0));
  EXPECT_EQ(client().call("BF.LOADCHUNK", "f", "1", good), ok());
}

}  // namespace
}  // namespace iris::harness
