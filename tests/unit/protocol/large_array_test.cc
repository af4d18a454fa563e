#include "protocol/large_array.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace iris::protocol {
namespace {

constexpr size_t kMapped = LargeMemory::kMappedFromBytes;

std::string_view view(const LargeArray<char>& bytes) {
  return {bytes.begin(), bytes.size()};
}

TEST(LargeArray, MapsFromTwoMegabytesOnAndGivesBackWhatItMapped) {
  const uint64_t before = LargeMemory::mapped_bytes();
  LargeArray<uint64_t> words;
  for (uint64_t i = 0; i < kMapped / 16; ++i) words.push_back(i * 7);
  EXPECT_EQ(LargeMemory::mapped_bytes(), before);
  for (uint64_t i = words.size(); i < kMapped; ++i) words.push_back(i * 7);
  EXPECT_EQ(LargeMemory::mapped_bytes(), before + 8 * kMapped);
  EXPECT_EQ(words.capacity_bytes(), 8 * kMapped);
  for (uint64_t i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], i * 7);
  words.truncate(1);
  EXPECT_EQ(words.capacity_bytes(), 8 * kMapped);
  words.release();
  EXPECT_TRUE(words.empty());
  EXPECT_EQ(words.capacity_bytes(), 0u);
  EXPECT_EQ(LargeMemory::mapped_bytes(), before);
  words.push_back(9);
  EXPECT_EQ(words[0], 9u);
}

TEST(LargeArray, BytesSurviveItsGrowth) {
  const uint64_t before = LargeMemory::mapped_bytes();
  {
    LargeArray<char> bytes;
    std::string expected;
    for (uint32_t i = 0; expected.size() < 5 * kMapped; ++i) {
      const std::string piece = std::to_string(i) + ",";
      bytes.append(piece);
      expected.append(piece);
    }
    bytes.append({});
    EXPECT_TRUE(view(bytes) == expected);
    EXPECT_GE(LargeMemory::mapped_bytes(), before + expected.size());
    for (const size_t kept : {4 * kMapped, kMapped, size_t{9}, size_t{5}}) {
      bytes.keep_last(kept);
      EXPECT_TRUE(view(bytes) == std::string_view(expected).substr(expected.size() - kept));
    }
    EXPECT_EQ(LargeMemory::mapped_bytes(), before) << "five bytes keep no megabytes";
    bytes.append(expected);
  }
  EXPECT_EQ(LargeMemory::mapped_bytes(), before);
}

// More in one go than twice what was there.
TEST(LargeArray, GrowsByAnyAmount) {
  const std::string large(3 * kMapped + 1, 'x');
  LargeArray<char> bytes, other;
  bytes.append(std::string_view("first"));
  bytes.append(large);
  bytes.append(large);
  bytes.swap(other);
  EXPECT_TRUE(bytes.empty());
  EXPECT_TRUE(view(other) == "first" + large + large);
  std::memcpy(other.room(4), "last", 4);
  other.extend(4);
  EXPECT_TRUE(view(other) == "first" + large + large + "last");
}

}  // namespace
}  // namespace iris::protocol
