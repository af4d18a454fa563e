#include "filters/murmur_hash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace iris::filters {
namespace {

// SMHasher's verification: hash the keys {}, {0}, {0,1}, ... {0..254} with seeds 256, 255, ...,
// then hash the hashes. 0x1F0D3804 is the published value of MurmurHash64A (there: "Murmur2B").
TEST(MurmurHash, HasThePublishedVerificationValue) {
  std::string key, hashes;
  for (uint64_t i = 0; i < 256; ++i) {
    const uint64_t hash = murmur_hash_64a(key, 256 - i);
    hashes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    key.push_back(static_cast<char>(i));
  }
  EXPECT_EQ(static_cast<uint32_t>(murmur_hash_64a(hashes, 0)), 0x1F0D3804u);
}

TEST(MurmurHash, OfNothingWithSeedZeroIsZero) {
  EXPECT_EQ(murmur_hash_64a("", 0), 0u);
}

TEST(MurmurHash, ClassicPairSeedsTheSecondWithTheFirst) {
  const ItemHash hash = classic_item_hash("item");
  EXPECT_EQ(hash.low, murmur_hash_64a("item", 0xc6a4a7935bd1e995ULL));
  EXPECT_EQ(hash.high, murmur_hash_64a("item", hash.low));
}

}  // namespace
}  // namespace iris::filters
