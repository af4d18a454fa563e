#include "bench/loadgen/item_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace iris::loadgen {
namespace {

std::string decimal(size_t width, uint64_t number) {
  std::string text(width, 'x');
  write_decimal(text.data(), width, number);
  return text;
}

std::string binary(size_t width, uint64_t number) {
  std::string bytes(width, 'x');
  write_binary(bytes.data(), width, number);
  return bytes;
}

TEST(ItemBytes, DecimalsHaveLeadingZerosAtEveryWidth) {
  EXPECT_EQ(decimal(1, 7), "7");
  EXPECT_EQ(decimal(2, 7), "07");
  EXPECT_EQ(decimal(5, 12345), "12345");
  EXPECT_EQ(decimal(5, 100), "00100");
  EXPECT_EQ(decimal(6, 100), "000100");
  EXPECT_EQ(decimal(12, 0), "000000000000");
  EXPECT_EQ(decimal(22, UINT64_MAX), "0018446744073709551615");
}

TEST(ItemBytes, DecimalsAreNumbersAgain) {
  for (uint64_t number = 0; number < 100'000; number += 7) {
    EXPECT_EQ(std::stoull(decimal(12, number)), number);
  }
}

TEST(ItemBytes, BinaryItemsDifferAtEveryWidth) {
  for (const size_t width : {1u, 2u, 3u, 8u, 11u, 16u}) {
    const uint64_t items = std::min<uint64_t>(binary_items(width), 65536);
    std::set<std::string> seen;
    for (uint64_t number = 0; number < items; ++number) seen.insert(binary(width, number));
    EXPECT_EQ(seen.size(), items) << "width " << width;
  }
}

TEST(ItemBytes, BinaryItemsHoldLineEndsAndZeros) {
  std::set<char> seen;
  for (uint64_t number = 0; number < 1000; ++number) {
    for (const char byte : binary(16, number)) seen.insert(byte);
  }
  EXPECT_EQ(seen.size(), 256u);
}

TEST(ItemBytes, AWidthTellsHowManyItemsItHas) {
  EXPECT_EQ(decimal_items(3), 1000u);
  EXPECT_EQ(decimal_items(19), 10'000'000'000'000'000'000u);
  EXPECT_EQ(decimal_items(20), UINT64_MAX);
  EXPECT_EQ(binary_items(2), 65536u);
  EXPECT_EQ(binary_items(8), UINT64_MAX);
  EXPECT_EQ(decimal_width(0), 1u);
  EXPECT_EQ(decimal_width(9), 1u);
  EXPECT_EQ(decimal_width(10), 2u);
}

}  // namespace
}  // namespace iris::loadgen
