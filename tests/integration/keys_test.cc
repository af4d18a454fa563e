// Commands on keys whatever they hold: DEL UNLINK EXISTS TYPE RENAME COPY TOUCH RANDOMKEY KEYS, and
// those on whole databases: DBSIZE FLUSHDB FLUSHALL SWAPDB MOVE.
#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kNoSuchKey = "ERR no such key";
constexpr std::string_view kDbRange = "ERR DB index is out of range";

class KeysTest : public ServerTest {
 public:
  void make(std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) ASSERT_EQ(make_key(client(), key), ok()) << key;
  }
  // A fingerprint of the content, to see that it moved along with its name.
  Reply content(std::string_view key) {
    return is_reference() ? client().call("GET", key) : client().call("DEBUG", "DIGEST-VALUE", key);
  }
};
IRIS_WITH_1_AND_4_THREADS(KeysTest);

TEST_P(KeysTest, DelAndUnlinkCountWhatTheyRemoved) {
  start();
  make({"a", "b", "c", "d"});
  EXPECT_EQ(client().command("DEL a missing b a"), integer(2));
  EXPECT_EQ(client().command("UNLINK c c"), integer(1));
  EXPECT_EQ(client().command("EXISTS a b c d"), integer(1));
  EXPECT_EQ(client().command("DBSIZE"), integer(1));
}

TEST_P(KeysTest, ExistsAndTouchCountAKeyAsOftenAsItIsNamed) {
  start();
  make({"a"});
  EXPECT_EQ(client().command("EXISTS a a missing"), integer(2));
  EXPECT_EQ(client().command("TOUCH a a missing"), integer(2));
}

TEST_P(KeysTest, TypeIsASimpleString) {
  start();
  make({"a"});
  EXPECT_EQ(client().command("TYPE a"), simple(made_type()));
  EXPECT_EQ(client().command("TYPE missing"), simple("none"));
}

TEST_P(KeysTest, RenameMovesTheContent) {
  start();
  make({"a", "old"});
  touch_content(client(), "a", "item");
  const Reply before = content("a");
  EXPECT_EQ(client().command("RENAME a b"), ok());
  EXPECT_EQ(client().command("EXISTS a"), integer(0));
  EXPECT_EQ(content("b"), before);
  EXPECT_EQ(client().command("RENAME b old"), ok()) << "the destination is replaced";
  EXPECT_EQ(content("old"), before);
  EXPECT_EQ(client().command("RENAME missing x"), error(kNoSuchKey));
  EXPECT_EQ(client().command("RENAME old old"), ok());
  EXPECT_EQ(client().command("DBSIZE"), integer(1));
}

TEST_P(KeysTest, RenamenxKeepsAnExistingDestination) {
  start();
  make({"a", "b"});
  EXPECT_EQ(client().command("RENAMENX a b"), integer(0));
  EXPECT_EQ(client().command("RENAMENX a a"), integer(0));
  EXPECT_EQ(client().command("RENAMENX a c"), integer(1));
  EXPECT_EQ(client().command("RENAMENX missing x"), error(kNoSuchKey));
  EXPECT_THAT(client().command("KEYS *").strings(), UnorderedElementsAre("b", "c"));
}

TEST_P(KeysTest, RenameTakesTheExpiryAlong) {
  start();
  make({"a", "b"});
  client().command("EXPIRE a 1000");
  EXPECT_EQ(client().command("RENAME a c"), ok());
  EXPECT_GT(client().command("TTL c").integer, 900);
  EXPECT_EQ(client().command("RENAME b c"), ok());
  EXPECT_EQ(client().command("TTL c"), integer(-1)) << "that of the replaced key is gone";
}

TEST_P(KeysTest, CopyMakesAnIndependentTwin) {
  start();
  make({"a", "c"});
  touch_content(client(), "a", "item");
  EXPECT_EQ(client().command("COPY a b"), integer(1));
  EXPECT_EQ(content("a"), content("b"));
  touch_content(client(), "b", "another");
  EXPECT_NE(content("a"), content("b"));
  EXPECT_EQ(client().command("COPY a c"), integer(0));
  EXPECT_EQ(client().command("COPY a c REPLACE"), integer(1));
  EXPECT_EQ(content("a"), content("c"));
  EXPECT_EQ(client().command("COPY missing x"), integer(0));
  EXPECT_EQ(client().command("COPY a a"), error("ERR source and destination objects are the same"));
  EXPECT_EQ(client().command("COPY a x DB 16"), error(kDbRange));
  EXPECT_EQ(client().command("COPY a x NOPE"), error("ERR syntax error"));
}

TEST_P(KeysTest, CopyReachesAnotherDatabaseWithTheExpiry) {
  start();
  make({"a"});
  client().command("EXPIRE a 1000");
  EXPECT_EQ(client().command("COPY a a DB 3"), integer(1));
  client().command("SELECT 3");
  EXPECT_GT(client().command("TTL a").integer, 900);
}

TEST_P(KeysTest, RandomkeyIsOneOfThem) {
  start();
  EXPECT_EQ(client().command("RANDOMKEY"), nil());
  make({"a", "b"});
  for (int i = 0; i < 20; ++i) EXPECT_THAT(client().command("RANDOMKEY").text, AnyOf("a", "b"));
}

TEST_P(KeysTest, KeysMatchesGlobs) {
  start();
  make({"hello", "hallo", "hxllo", "heello", "h[x", "other"});
  EXPECT_THAT(client().command("KEYS h?llo").strings(),
              UnorderedElementsAre("hello", "hallo", "hxllo"));
  EXPECT_THAT(client().command("KEYS h[ae]llo").strings(), UnorderedElementsAre("hello", "hallo"));
  EXPECT_THAT(client().command("KEYS h[^ae]llo").strings(), ElementsAre("hxllo"));
  EXPECT_THAT(client().command("KEYS h[a-f]llo").strings(), UnorderedElementsAre("hello", "hallo"));
  EXPECT_THAT(client().command("KEYS h*llo").strings(),
              UnorderedElementsAre("hello", "hallo", "hxllo", "heello"));
  EXPECT_THAT(client().command("KEYS h\\[x").strings(), ElementsAre("h[x"));
  EXPECT_EQ(client().command("KEYS nothing*"), array({}));
  EXPECT_EQ(client().command("KEYS *").size(), 6U);
}

TEST_P(KeysTest, KeysAreAnyBytes) {
  start();
  const std::string odd("\0\r\n\xff key", 8);
  make({odd, ""});
  EXPECT_EQ(client().call("EXISTS", odd, ""), integer(2));
  EXPECT_THAT(client().call("KEYS", "*").strings(), UnorderedElementsAre(odd, ""));
  EXPECT_EQ(client().call("DEL", odd), integer(1));
}

TEST_P(KeysTest, DatabasesAreApart) {
  start();
  make({"a"});
  EXPECT_EQ(client().command("SELECT 1"), ok());
  EXPECT_EQ(client().command("EXISTS a"), integer(0));
  make({"a", "b"});
  EXPECT_EQ(client().command("DBSIZE"), integer(2));
  EXPECT_EQ(client().command("FLUSHDB"), ok());
  EXPECT_EQ(client().command("DBSIZE"), integer(0));
  EXPECT_EQ(client().command("SELECT 0"), ok());
  EXPECT_EQ(client().command("DBSIZE"), integer(1));
}

TEST_P(KeysTest, FlushallEmptiesEveryDatabase) {
  start();
  make({"a"});
  client().command("SELECT 9");
  make({"b"});
  EXPECT_EQ(client().command("FLUSHALL ASYNC"), ok());
  EXPECT_EQ(client().command("DBSIZE"), integer(0));
  client().command("SELECT 0");
  EXPECT_EQ(client().command("DBSIZE"), integer(0));
  EXPECT_EQ(client().command("FLUSHALL SYNC"), ok());
  EXPECT_EQ(client().command("FLUSHDB NOW"), error("ERR syntax error"));
}

TEST_P(KeysTest, SwapdbSwapsForEveryone) {
  start();
  RespClient other = connect();
  other.command("SELECT 1");
  make({"a"});
  EXPECT_EQ(client().command("SWAPDB 0 1"), ok());
  EXPECT_EQ(client().command("EXISTS a"), integer(0));
  EXPECT_EQ(other.command("EXISTS a"), integer(1));
  EXPECT_EQ(client().command("SWAPDB 0 0"), ok());
  EXPECT_EQ(client().command("SWAPDB 0 16"), error(kDbRange));
  EXPECT_EQ(client().command("SWAPDB x 0"), error("ERR invalid first DB index"));
  EXPECT_EQ(client().command("SWAPDB 0 x"), error("ERR invalid second DB index"));
}

TEST_P(KeysTest, MoveLeavesAnExistingKeyAlone) {
  start();
  make({"a", "b"});
  EXPECT_EQ(client().command("MOVE a 1"), integer(1));
  EXPECT_EQ(client().command("MOVE a 1"), integer(0)) << "it is not here any more";
  make({"a"});
  EXPECT_EQ(client().command("MOVE a 1"), integer(0)) << "there is one there";
  EXPECT_EQ(client().command("MOVE a 0"), error("ERR source and destination objects are the same"));
  EXPECT_EQ(client().command("MOVE a 16"), error(kDbRange));
  EXPECT_EQ(client().command("MOVE a x"), error("ERR value is not an integer or out of range"));
}

}  // namespace
}  // namespace iris::harness
