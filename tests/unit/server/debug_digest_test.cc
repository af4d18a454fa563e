#include "server/commands/debug_digest.h"

#include <gtest/gtest.h>

namespace iris::server {
namespace {

constexpr Value::Digest kOne = {1};
constexpr Value::Digest kTwo = {2};

std::string digest_of_one(size_t db, std::string_view key, int64_t expire_at_ms,
                          const Value::Digest& value) {
  DataDigest digest;
  digest.add(db, key, expire_at_ms, value);
  return digest.hex();
}

TEST(DataDigest, NothingIsAllZeros) {
  EXPECT_EQ(DataDigest().hex(), std::string(40, '0'));
  EXPECT_EQ(missing_digest_hex(), std::string(40, '0'));
}

TEST(DataDigest, TheOrderOfKeysDoesNotMatter) {
  DataDigest forwards;
  forwards.add(0, "a", -1, kOne);
  forwards.add(1, "b", 5, kTwo);
  DataDigest backwards;
  backwards.add(1, "b", 5, kTwo);
  backwards.add(0, "a", -1, kOne);
  EXPECT_EQ(forwards.hex(), backwards.hex());
  EXPECT_EQ(forwards.hex().size(), 40u);
}

TEST(DataDigest, EveryPartOfAKeyCounts) {
  const std::string digest = digest_of_one(0, "a", -1, kOne);
  EXPECT_NE(digest, digest_of_one(1, "a", -1, kOne));
  EXPECT_NE(digest, digest_of_one(0, "b", -1, kOne));
  EXPECT_NE(digest, digest_of_one(0, "a", 1000, kOne));
  EXPECT_NE(digest, digest_of_one(0, "a", -1, kTwo));
}

TEST(DataDigest, ValuesThatChangePlacesChangeIt) {
  DataDigest one;
  one.add(0, "a", -1, kOne);
  one.add(0, "b", -1, kTwo);
  DataDigest other;
  other.add(0, "a", -1, kTwo);
  other.add(0, "b", -1, kOne);
  EXPECT_NE(one.hex(), other.hex());
}

// The digest is compared between servers, perhaps of different builds and machines.
TEST(DataDigest, IsTheSameOnEveryMachine) {
  EXPECT_EQ(digest_of_one(0, "key", -1, kOne), "65626454640e2a329575ac0bbc8ce6e03cf0a0c0");
  EXPECT_EQ(value_digest_hex(kOne), "f3623bb758fcfd6cd9244cfecb3a94d8250b0a47");
}

}  // namespace
}  // namespace iris::server
