#include "protocol/large_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace iris::protocol {
namespace {

constexpr size_t kMapped = LargeBuffer::kMappedFromBytes;

TEST(LargeBuffer, MapsFromTwoMegabytesOnAndGivesBackWhatItMapped) {
  const uint64_t before = LargeBuffer::mapped_bytes();
  LargeBuffer bytes;
  bytes.append(std::string(kMapped - 1, 'a'));
  EXPECT_EQ(LargeBuffer::mapped_bytes(), before);
  bytes.append("b");
  EXPECT_EQ(LargeBuffer::mapped_bytes(), before + 2 * kMapped) << "it doubles";
  bytes.append(std::string(kMapped + 1, 'c'));
  EXPECT_EQ(LargeBuffer::mapped_bytes(), before + 4 * kMapped);
  bytes.keep_last(0);
  EXPECT_TRUE(bytes.empty());
  EXPECT_EQ(LargeBuffer::mapped_bytes(), before);
  bytes.append("again");
  EXPECT_EQ(bytes.view(), "again");
}

TEST(LargeBuffer, BytesSurviveItsGrowth) {
  const uint64_t before = LargeBuffer::mapped_bytes();
  {
    LargeBuffer bytes;
    std::string expected;
    for (uint32_t i = 0; expected.size() < 5 * kMapped; ++i) {
      const std::string piece = std::to_string(i) + ",";
      bytes.append(piece);
      expected.append(piece);
    }
    bytes.append("");
    EXPECT_TRUE(bytes.view() == expected);
    EXPECT_GE(LargeBuffer::mapped_bytes(), before + expected.size());
    for (const size_t kept : {4 * kMapped, kMapped, size_t{9}, size_t{5}}) {
      bytes.keep_last(kept);
      EXPECT_TRUE(bytes.view() == std::string_view(expected).substr(expected.size() - kept));
    }
    EXPECT_EQ(LargeBuffer::mapped_bytes(), before) << "five bytes keep no megabytes";
  }
  EXPECT_EQ(LargeBuffer::mapped_bytes(), before);
}

// More in one go than twice what was there.
TEST(LargeBuffer, GrowsByAnyAmount) {
  const std::string large(3 * kMapped + 1, 'x');
  LargeBuffer bytes;
  bytes.append("first");
  bytes.append(large);
  bytes.append(large);
  EXPECT_TRUE(bytes.view() == "first" + large + large);
}

}  // namespace
}  // namespace iris::protocol
