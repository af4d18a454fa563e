// Filters out of the server and back: BF.SCANDUMP and BF.LOADCHUNK in every layout, in order and
// not, broken off, forged; DUMP, RESTORE and COPY. Contents are compared by DEBUG DIGEST-VALUE: a
// Bloom filter itself hides a lost bit.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

struct Piece {
  int64_t iterator;
  std::string data;
};

const std::vector<std::string> kLayouts = {"CLASSIC", "BLOCKED", "PAGED"};

class BloomDumpTest : public ServerTest {
 public:
  // A filter that grew, with items "0", "1", ...
  void make_filter(std::string_view key, std::string_view layout, size_t items = 500) {
    ASSERT_EQ(client().call("BF.RESERVE", key, "0.001", "100", "LAYOUT", layout), ok());
    for (size_t i = 0; i < items; ++i) {
      ASSERT_FALSE(client().call("BF.ADD", key, std::to_string(i)).is_error());
    }
  }
  std::string digest(std::string_view key) {
    return client().call("DEBUG", "DIGEST-VALUE", key)[0].text;
  }
  std::vector<Piece> dump(std::string_view key) {
    std::vector<Piece> pieces;
    int64_t iterator = 0;
    for (;;) {
      const Reply step = client().call("BF.SCANDUMP", key, std::to_string(iterator));
      if (step.size() != 2 || step[0].integer == 0) return pieces;
      iterator = step[0].integer;
      pieces.push_back({iterator, step[1].text});
    }
  }
  Reply load(std::string_view key, const Piece& piece) {
    return client().call("BF.LOADCHUNK", key, std::to_string(piece.iterator), piece.data);
  }
  // Nobody may look into the filter yet.
  void expect_unreadable(std::string_view key) {
    for (const std::vector<std::string_view>& request :
         std::vector<std::vector<std::string_view>>{{"BF.EXISTS", key, "1"},
                                                    {"BF.MEXISTS", key, "1", "absent"},
                                                    {"BF.ADD", key, "1"},
                                                    {"BF.MADD", key, "1", "2"},
                                                    {"BF.INSERT", key, "ITEMS", "1"},
                                                    {"BF.INFO", key},
                                                    {"BF.CARD", key},
                                                    {"BF.DEBUG", key},
                                                    {"BF.STATS", key},
                                                    {"BF.SCANDUMP", key, "0"},
                                                    {"BF.MERGE", "merged", key},
                                                    {"DUMP", key}}) {
      const Reply reply = client().call_args(request);
      EXPECT_TRUE(reply.is_error("ERR")) << request[0] << ' ' << ::testing::PrintToString(reply);
    }
    EXPECT_EQ(client().call("BF.RESERVE", key, "0.01", "10"), error("ERR item exists"));
    EXPECT_EQ(client().call("EXISTS", "merged"), integer(0));
  }
};
IRIS_WITH_1_AND_4_THREADS(BloomDumpTest);

TEST_P(BloomDumpTest, ADumpLoadsBackExactly) {
  start();
  for (const std::string& layout : kLayouts) {
    make_filter(layout, layout);
    const std::vector<Piece> pieces = dump(layout);
    ASSERT_GE(pieces.size(), 4U) << "a header and a piece for each of at least 3 layers";
    EXPECT_EQ(pieces[0].iterator, 1);
    for (const Piece& piece : pieces) EXPECT_EQ(load("copy", piece), ok()) << layout;
    EXPECT_EQ(digest("copy"), digest(layout));
    EXPECT_EQ(client().call("BF.DEBUG", "copy"), client().call("BF.DEBUG", layout));
    client().command("DEL copy");
  }
}

TEST_P(BloomDumpTest, ADumpMovesToAnotherServer) {
  start();
  ServerProcess other({.directives = {"bf-layout classic"}, .threads = GetParam()});
  ASSERT_TRUE(other.start());
  RespClient there = other.connect();
  for (const std::string& layout : kLayouts) {
    make_filter(layout, layout);
    for (const Piece& piece : dump(layout)) {
      EXPECT_EQ(there.call("BF.LOADCHUNK", layout, std::to_string(piece.iterator), piece.data),
                ok());
    }
    EXPECT_EQ(there.call("DEBUG", "DIGEST-VALUE", layout)[0].text, digest(layout)) << layout;
    EXPECT_EQ(there.call("BF.MEXISTS", layout, "0", "499"), array({integer(1), integer(1)}));
    EXPECT_EQ(there.call("RESTORE", "r" + layout, "0", client().call("DUMP", layout).text), ok());
    EXPECT_EQ(there.call("DEBUG", "DIGEST-VALUE", "r" + layout)[0].text, digest(layout));
  }
}

TEST_P(BloomDumpTest, PiecesMayComeInAnyOrderAndTwice) {
  start();
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (const std::string& layout : kLayouts) {
    make_filter(layout, layout);
    std::vector<Piece> pieces = dump(layout);
    ASSERT_EQ(load("copy", pieces[0]), ok());
    std::shuffle(pieces.begin() + 1, pieces.end(), random);
    for (size_t i = 1; i < pieces.size(); ++i) {
      expect_unreadable("copy");
      EXPECT_EQ(load("copy", pieces[i]), ok());
      if (i + 1 < pieces.size()) {
        EXPECT_EQ(load("copy", pieces[i]), ok());
      }
    }
    EXPECT_EQ(digest("copy"), digest(layout));
    client().command("DEL copy");
  }
}

TEST_P(BloomDumpTest, ABrokenOffLoadCanBeStartedAgainOrDeleted) {
  start();
  make_filter("f", "BLOCKED");
  make_filter("g", "PAGED", 1000);
  const std::vector<Piece> first = dump("f"), second = dump("g");
  ASSERT_EQ(load("copy", first[0]), ok());
  ASSERT_EQ(load("copy", first[1]), ok());
  ASSERT_EQ(load("copy", second[0]), ok()) << "another dump begins";
  expect_unreadable("copy");
  for (size_t i = 1; i < second.size(); ++i) ASSERT_EQ(load("copy", second[i]), ok());
  EXPECT_EQ(digest("copy"), digest("g"));

  ASSERT_EQ(load("half", first[0]), ok());
  EXPECT_EQ(client().command("DEL half"), integer(1));
  EXPECT_EQ(load("half", first[1]), error("ERR not found"));
  EXPECT_EQ(client().command("BF.ADD half x"), integer(1));
}

TEST_P(BloomDumpTest, ALargeFilterComesInPiecesOfAtMost16MiB) {
  start();
  for (const std::string& layout : {std::string("CLASSIC"), std::string("PAGED")}) {
    // About 36 MB of cells.
    ASSERT_EQ(client().call("BF.RESERVE", "f", "0.01", "30000000", "NONSCALING", "LAYOUT", layout),
              ok());
    for (int i = 0; i < 1000; ++i) client().call("BF.ADD", "f", std::to_string(i));
    std::vector<Piece> pieces = dump("f");
    EXPECT_EQ(pieces.size(), 4U);
    for (const Piece& piece : pieces) EXPECT_LE(piece.data.size(), 16U << 20);
    std::reverse(pieces.begin() + 1, pieces.end());
    for (const Piece& piece : pieces) EXPECT_EQ(load("copy", piece), ok());
    EXPECT_EQ(digest("copy"), digest("f")) << layout;
    client().command("DEL f copy");
  }
}

TEST_P(BloomDumpTest, AnyIteratorOfScandumpIsSafe) {
  start();
  std::mt19937_64 random(5);
  for (const std::string& layout : kLayouts) {
    make_filter(layout, layout);
    std::vector<int64_t> iterators = {-1, 1, 2, 63, 64, 65, INT64_MAX, INT64_MIN, INT64_MAX - 1};
    for (int i = 0; i < 200; ++i) iterators.push_back(static_cast<int64_t>(random() % 5000));
    for (int i = 0; i < 50; ++i) iterators.push_back(static_cast<int64_t>(random()));
    for (const int64_t iterator : iterators) {
      const Reply step = client().call("BF.SCANDUMP", layout, std::to_string(iterator));
      ASSERT_EQ(step.size(), 2U) << iterator;
      EXPECT_EQ(step[0].integer == 0, step[1].text.empty()) << iterator;
    }
    EXPECT_EQ(client().call("BF.SCANDUMP", layout, "9223372036854775808"),
              error("Second argument must be numeric"));
  }
}

// A checksummed dump loads as it was or not at all, whatever happens to it on the way.
TEST_P(BloomDumpTest, AMutatedDumpNeverBecomesAnotherFilter) {
  start({"maxmemory 1gb"});
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const std::string& layout : {std::string("BLOCKED"), std::string("PAGED")}) {
    make_filter(layout, layout);
    const std::string original = digest(layout);
    const std::vector<Piece> pieces = dump(layout);
    for (int round = 0; round < (kSanitized ? 60 : 300); ++round) {
      std::vector<Piece> mutated = pieces;
      for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
        Piece& piece = mutated[random() % mutated.size()];
        const size_t at = random() % piece.data.size();
        switch (random() % 4) {
          case 0:
            piece.data[at] = static_cast<char>(piece.data[at] ^ 1 << random() % 8);
            break;
          case 1:
            piece.data.resize(at);
            break;
          case 2:
            piece.iterator = static_cast<int64_t>(random() >> random() % 64);
            break;
          default:
            piece.data.insert(at, 1 + random() % 9, 'x');
        }
        if (piece.data.empty()) break;
      }
      for (const Piece& piece : mutated) {
        ASSERT_NE(load("m", piece).type, Reply::Type::kNone) << "the server is gone";
      }
      // Either readable, and then the same to the last bit, or not readable at all.
      const Reply card = client().call("BF.CARD", "m");
      if (!card.is_error() && client().command("EXISTS m") == integer(1)) {
        EXPECT_EQ(digest("m"), original);
      }
      client().command("DEL m");
    }
  }
}

// Anybody can compute a checksum: what was forged with a right one must be refused or harmless.
TEST_P(BloomDumpTest, AForgedHeaderWithARightChecksumIsHarmless) {
  start({"maxmemory 256mb"});
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<uint64_t> nasty = {
      0, 1, 7, 64, 1ULL << 31, 0xffffffff, 1ULL << 32, 1ULL << 40, 1ULL << 61, 1ULL << 63, ~0ULL};
  int accepted = 0;
  for (const std::string& layout : kLayouts) {
    make_filter(layout, layout, 150);
    const std::string text = client().call("DUMP", layout).text;
    uint32_t layers = 0;
    std::memcpy(&layers, text.data() + 40, sizeof layers);
    const size_t header_bytes = 48 + 40 * layers + 8;
    for (int round = 0; round < (kSanitized ? 100 : 500); ++round) {
      std::string forged = text;
      const size_t at = 8 + random() % (header_bytes - 16);
      const uint64_t value = random() % 2 == 0 ? random() : nasty[random() % nasty.size()];
      std::memcpy(forged.data() + at, &value,
                  std::min<size_t>(1 + random() % 8, header_bytes - at));
      const auto seal = [&forged](size_t end) {
        const uint64_t checksum = XXH3_64bits(forged.data(), end);
        std::memcpy(forged.data() + end, &checksum, sizeof checksum);
      };
      seal(header_bytes - 8);
      seal(forged.size() - 8);
      const Reply reply = client().call("RESTORE", "r", "0", forged, "REPLACE");
      ASSERT_NE(reply.type, Reply::Type::kNone) << "the server is gone";
      ASSERT_NE(load("l", {1, forged.substr(0, header_bytes)}).type, Reply::Type::kNone);
      client().command("DEL l");
      if (reply != ok()) continue;
      ++accepted;
      // What was let in can be used, saved and loaded again.
      EXPECT_FALSE(client().command("BF.EXISTS r 1").is_error());
      ASSERT_NE(client().command("BF.ADD r another").type, Reply::Type::kNone);
      ASSERT_NE(client().command("BF.INFO r").type, Reply::Type::kNone);
      ASSERT_NE(client().command("BF.STATS r").type, Reply::Type::kNone);
      const Reply again = client().command("DUMP r");
      ASSERT_EQ(again.type, Reply::Type::kBulk);
      EXPECT_EQ(client().call("RESTORE", "s", "0", again.text, "REPLACE"), ok())
          << "a filter that cannot load what it saved";
      EXPECT_EQ(digest("s"), digest("r"));
    }
  }
  RecordProperty("forged_but_accepted", accepted);
}

TEST_P(BloomDumpTest, DumpRestoreAndCopyKeepEveryBit) {
  start();
  for (const std::string& layout : kLayouts) {
    make_filter(layout, layout);
    const std::string text = client().call("DUMP", layout).text;
    EXPECT_EQ(client().call("RESTORE", "r", "0", text), ok());
    EXPECT_EQ(client().call("RESTORE", "r", "0", text),
              error("BUSYKEY Target key name already exists."));
    EXPECT_EQ(client().call("RESTORE", "r", "5000", text, "REPLACE"), ok());
    EXPECT_GT(client().command("PTTL r").integer, 0);
    EXPECT_EQ(client().call("COPY", layout, "c"), integer(1));
    EXPECT_EQ(digest("r"), digest(layout));
    EXPECT_EQ(digest("c"), digest(layout));
    for (const std::string key : {"r", "c"}) client().call("BF.ADD", key, "one more " + key);
    EXPECT_NE(digest("r"), digest(layout));
    EXPECT_NE(digest("c"), digest("r"));
    client().command("DEL r c");
  }
  client().command("BF.INITBYDIM e 1001 3");
  client().command("BF.MADD e a b c");
  EXPECT_EQ(client().call("RESTORE", "r", "0", client().command("DUMP e").text), ok());
  EXPECT_EQ(digest("r"), digest("e"));
  for (const Piece& piece : dump("e")) EXPECT_EQ(load("l", piece), ok());
  EXPECT_EQ(digest("l"), digest("e"));
  EXPECT_EQ(client().command("DUMP missing"), nil());
}

TEST_P(BloomDumpTest, EveryFlippedBitOfADumpIsRefused) {
  start();
  for (const std::string& layout : kLayouts) {
    client().call("BF.RESERVE", layout, "0.01", "30", "LAYOUT", layout);
    client().call("BF.MADD", layout, "a", "b", "c");
    std::string text = client().call("DUMP", layout).text;
    const size_t step = kSanitized || text.size() > 400 ? 7 : 1;
    size_t sent = 0;
    for (size_t bit = 0; bit < text.size() * 8; bit += step, ++sent) {
      const auto flip = [&] { text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8); };
      flip();
      ASSERT_TRUE(client().send_command({"RESTORE", "r", "0", text}));
      flip();
    }
    for (const Reply& reply : client().read_replies(sent)) {
      ASSERT_EQ(reply, error("ERR DUMP payload version or checksum are wrong")) << layout;
    }
    for (const size_t length : {size_t{0}, size_t{1}, size_t{8}, size_t{50}, text.size() - 1}) {
      EXPECT_TRUE(client().call("RESTORE", "r", "0", text.substr(0, length)).is_error()) << length;
    }
    EXPECT_TRUE(client().call("RESTORE", "r", "0", text + "x").is_error());
    EXPECT_EQ(client().call("RESTORE", "r", "0", text), ok());
    client().command("DEL r");
  }
}

}  // namespace
}  // namespace iris::harness
