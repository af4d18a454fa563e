#include "protocol/large_allocator.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace iris::protocol {
namespace {

using Bytes = std::basic_string<char, std::char_traits<char>, LargeAllocator<char>>;

TEST(LargeAllocator, MapsFromTwoMegabytesOnAndGivesBackWhatItMapped) {
  const uint64_t before = LargeMemory::mapped_bytes();
  std::vector<uint64_t, LargeAllocator<uint64_t>> words;
  words.reserve(LargeMemory::kMappedFromBytes / 8 - 1);
  EXPECT_EQ(LargeMemory::mapped_bytes(), before);
  words.reserve(LargeMemory::kMappedFromBytes / 8);
  EXPECT_EQ(LargeMemory::mapped_bytes(), before + LargeMemory::kMappedFromBytes);
  words.assign(LargeMemory::kMappedFromBytes, 7);  // eight times as much
  EXPECT_EQ(LargeMemory::mapped_bytes(), before + 8 * LargeMemory::kMappedFromBytes);
  decltype(words)().swap(words);
  EXPECT_EQ(LargeMemory::mapped_bytes(), before);
}

TEST(LargeAllocator, BytesSurviveTheirMoves) {
  const uint64_t before = LargeMemory::mapped_bytes();
  {
    Bytes bytes;
    std::string expected;
    for (uint32_t i = 0; expected.size() < 3 * LargeMemory::kMappedFromBytes; ++i) {
      const std::string piece = std::to_string(i) + ",";
      bytes.append(piece);
      expected.append(piece);
    }
    EXPECT_TRUE(std::string_view(bytes) == expected);
    const Bytes moved = std::move(bytes);
    EXPECT_TRUE(std::string_view(moved) == expected);
    EXPECT_GE(LargeMemory::mapped_bytes(), before + expected.size());
  }
  EXPECT_EQ(LargeMemory::mapped_bytes(), before);
}

}  // namespace
}  // namespace iris::protocol
