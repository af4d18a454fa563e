// Spectral filters out of a server and in again: CF.SCANDUMP and CF.LOADCHUNK, DUMP and RESTORE,
// COPY. Equal filters have equal digests.
#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

const Reply kNotLoaded = error("Couldn't load chunk!");
const Reply kBadPosition = error("Invalid position");

struct Piece {
  std::string position;
  std::string data;
};

class SpectralDumpTest : public ServerTest {
 public:
  Reply digest(std::string_view key) { return client().call("DEBUG", "DIGEST-VALUE", key)[0]; }

  std::vector<Piece> pieces_of(std::string_view key) {
    std::vector<Piece> pieces;
    std::string position = "0";
    while (true) {
      const Reply step = client().call("CF.SCANDUMP", key, position);
      if (step.size() != 2 || step[0] == integer(0)) {
        EXPECT_EQ(step, array({integer(0), nil()}));
        return pieces;
      }
      position = std::to_string(step[0].integer);
      pieces.push_back({position, step[1].text});
    }
  }

  // A small layer and one of several pieces, with some large counters.
  void make_filter(std::string_view key, std::string_view policy) {
    ASSERT_EQ(client().call("CF.RESERVE", key, "1000", "EXPANSION", "500", "POLICY", policy), ok());
    for (int i = 0; i < 40'000; ++i) {
      client().send_command({"CF.INCR", key, std::to_string(i), i % 100 == 0 ? "1000000" : "1"});
      if (i % 1000 == 999) {
        for (const Reply& reply : client().read_replies(1000)) {
          ASSERT_EQ(reply.type, Reply::Type::kInteger);
        }
      }
    }
  }
};
IRIS_WITH_1_AND_4_THREADS(SpectralDumpTest);

TEST_P(SpectralDumpTest, AFilterLoadedFromItsPiecesIsEqual) {
  start();
  for (const std::string policy : {"MS", "MI"}) {
    make_filter(policy, policy);
    ASSERT_FALSE(HasFatalFailure());
    const std::vector<Piece> pieces = pieces_of(policy);
    ASSERT_GT(pieces.size(), 3u);
    const std::string copy = policy + "-copy";
    EXPECT_EQ(client().call("CF.LOADCHUNK", copy, pieces[1].position, pieces[1].data),
              error("ERR not found"));
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (i > 0) {
        EXPECT_TRUE(client().call("CF.COUNT", copy, "0").is_error("ERR")) << "half a filter";
        EXPECT_TRUE(client().call("CF.INCR", copy, "0").is_error("ERR"));
        EXPECT_TRUE(client().call("DUMP", copy).is_error("ERR"));
        EXPECT_EQ(client().call("TYPE", copy), simple("spectral"));
      }
      ASSERT_EQ(client().call("CF.LOADCHUNK", copy, pieces[i].position, pieces[i].data), ok());
    }
    EXPECT_EQ(digest(copy), digest(policy));
    EXPECT_GE(client().call("CF.COUNT", copy, "100").integer, 1'000'000);
    EXPECT_EQ(client().call("CF.LOADCHUNK", copy, "1", pieces[0].data), error("ERR item exists"));
    EXPECT_EQ(client().call("CF.LOADCHUNK", copy, "2", pieces[1].data), kNotLoaded);
  }
}

TEST_P(SpectralDumpTest, RestoreAndCopyMakeEqualFilters) {
  start();
  make_filter("f", "MS");
  ASSERT_FALSE(HasFatalFailure());
  client().command("CF.INITBYDIM d 1000 4");
  client().command("CF.INCR d x 1000");
  for (const std::string key : {"f", "d"}) {
    const std::string text = client().call("DUMP", key).text;
    ASSERT_EQ(client().call("RESTORE", key + "2", "0", text), ok());
    EXPECT_EQ(client().call("COPY", key, key + "3"), integer(1));
    EXPECT_EQ(digest(key + "2"), digest(key));
    EXPECT_EQ(digest(key + "3"), digest(key));
    client().call("CF.INCR", key + "3", "x");
    EXPECT_NE(digest(key + "3"), digest(key)) << "a copy has counts of its own";
    std::string damaged = text;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    EXPECT_EQ(client().call("RESTORE", "bad", "0", damaged),
              error("ERR DUMP payload version or checksum are wrong"));
    EXPECT_EQ(client().call("RESTORE", "bad", "0", text.substr(0, text.size() / 2)),
              error("ERR DUMP payload version or checksum are wrong"));
  }
  EXPECT_EQ(client().call("EXISTS", "bad"), integer(0));
  EXPECT_GT(client().call("MEMORY", "USAGE", "f").integer, 40'000);
}

TEST_P(SpectralDumpTest, AnEmptyFilterHasNoPieces) {
  start();
  RespClient resp3 = connect_resp3();
  ASSERT_EQ(client().command("CF.RESERVE f 100"), ok());
  EXPECT_EQ(client().command("CF.SCANDUMP f 0"), array({integer(0), nil()}));
  EXPECT_EQ(resp3.command("CF.SCANDUMP f 0"), array({integer(0), null()}));
  EXPECT_EQ(client().command("CF.SCANDUMP missing 0"), error("ERR not found"));
}

TEST_P(SpectralDumpTest, AnyPositionAndAnyBytesAreSafe) {
  start();
  client().command("CF.RESERVE f 100");
  client().command("CF.INCR f a 100000");
  const std::vector<Piece> pieces = pieces_of("f");
  ASSERT_EQ(pieces.size(), 2u);
  for (const std::string_view position : {"x", "-1", "", "9223372036854775808"}) {
    EXPECT_EQ(client().call("CF.SCANDUMP", "f", position), kBadPosition) << position;
    EXPECT_EQ(client().call("CF.LOADCHUNK", "g", position, "x"), kBadPosition) << position;
  }
  EXPECT_EQ(client().call("CF.LOADCHUNK", "g", "0", "x"), kBadPosition);
  EXPECT_EQ(client().command("CF.SCANDUMP f 9223372036854775807"), array({integer(0), nil()}));

  const std::string cuckoo_header(38, '\1');
  for (const std::string& header :
       {std::string(), std::string("x"), cuckoo_header, pieces[0].data + "x",
        pieces[0].data.substr(1), pieces[1].data}) {
    EXPECT_EQ(client().call("CF.LOADCHUNK", "g", "1", header), error("Invalid header"));
  }
  EXPECT_EQ(client().call("EXISTS", "g"), integer(0));
  ASSERT_EQ(client().call("CF.LOADCHUNK", "g", "1", pieces[0].data), ok());
  for (const std::string_view position : {"3", "9223372036854775807"}) {
    EXPECT_EQ(client().call("CF.LOADCHUNK", "g", position, pieces[1].data), kNotLoaded);
  }
  for (size_t i = 0; i < pieces[1].data.size(); ++i) {
    std::string damaged = pieces[1].data;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    ASSERT_EQ(client().call("CF.LOADCHUNK", "g", "2", damaged), kNotLoaded) << "byte " << i;
  }
  EXPECT_EQ(client().call("CF.LOADCHUNK", "g", "2", pieces[1].data), ok());
  EXPECT_EQ(digest("g"), digest("f"));
}

TEST_P(SpectralDumpTest, AHeaderCannotAskForMoreThanTheLimit) {
  start();
  client().command("CF.RESERVE f 1000000");
  client().command("CF.INCR f a");
  const std::string header = client().command("CF.SCANDUMP f 0")[1].text;
  client().command("CONFIG SET filter-max-memory 100kb");
  EXPECT_EQ(client().call("CF.LOADCHUNK", "g", "1", header), error("Couldn't create filter!"));
  EXPECT_EQ(client().call("EXISTS", "g"), integer(0));
}

}  // namespace
}  // namespace iris::harness
