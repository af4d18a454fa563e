// A filter that a client was bringing in when the server was killed: it goes on where it was, and
// answers nothing before all of it is there.

#include <gtest/gtest.h>

#include <csignal>
#include <iostream>
#include <vector>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

struct Piece {
  std::string iterator;
  std::string data;
};

std::vector<Piece> dump(RespClient& client, const std::string& family, const std::string& key) {
  std::vector<Piece> pieces;
  std::string iterator = "0";
  for (;;) {
    const Reply step = client.call(family + ".SCANDUMP", key, iterator);
    if (step.size() != 2 || step[0].integer == 0) return pieces;
    iterator = std::to_string(step[0].integer);
    pieces.push_back({iterator, step[1].text});
  }
}

class InterruptedLoad : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, InterruptedLoad, ::testing::Values("BF", "CF"),
                         [](const auto& family) { return family.param; });

TEST_P(InterruptedLoad, GoesOnAfterARestartAndAnswersNothingBefore) {
  const std::string& family = GetParam();
  ServerProcess server({.directives = {"appendonly yes", "appendfsync always"}, .threads = 2});
  ASSERT_TRUE(server.start());
  RespClient client = server.connect();
  // Small, so that it grows: each layer is a piece.
  ASSERT_EQ(family == "BF" ? client.call("BF.RESERVE", "source", "0.01", "50")
                           : client.call("CF.RESERVE", "source", "50"),
            ok());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(client.call(family + ".ADD", "source", std::to_string(i)).is_error());
  }
  const std::vector<Piece> pieces = dump(client, family, "source");
  ASSERT_GE(pieces.size(), 3U);
  int kills = 0;
  const auto kill = [&] {
    server.kill(SIGKILL);
    EXPECT_EQ(server.wait_for_exit(), 128 + SIGKILL);
    ASSERT_TRUE(server.start());
    client = server.connect();
    ++kills;
  };
  // Killed after each piece; every second time what is loaded goes through a snapshot.
  for (size_t i = 0; i < pieces.size(); ++i) {
    ASSERT_EQ(client.call(family + ".LOADCHUNK", "target", pieces[i].iterator, pieces[i].data),
              ok());
    if (i % 2 == 1) {
      ASSERT_EQ(client.call("SAVE"), ok());
    }
    ASSERT_NO_FATAL_FAILURE(kill());
    if (i + 1 == pieces.size()) break;
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{family + ".EXISTS", "target", "1"},
                                               {family + ".MEXISTS", "target", "1", "2"},
                                               {family + ".ADD", "target", "1"},
                                               {family + ".INFO", "target"}}) {
      const Reply reply = client.call_args({words.begin(), words.end()});
      EXPECT_TRUE(reply.is_error()) << words[0] << ' ' << ::testing::PrintToString(reply);
    }
  }
  const Reply digests = client.call("DEBUG", "DIGEST-VALUE", "source", "target");
  ASSERT_EQ(digests.size(), 2U);
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_EQ(client.call(family + ".EXISTS", "target", "999"), integer(1));
  std::cout << family << ": pieces " << pieces.size() << ", kills " << kills << "\n";
}

}  // namespace
}  // namespace iris::harness
