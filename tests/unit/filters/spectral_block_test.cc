// Digits in bit planes against digits in an array.
#include "filters/spectral_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <random>

namespace iris::filters {
namespace {

using Digits = std::array<uint32_t, kBlockCells>;

SpectralBlock block_of(const Digits& digits) {
  SpectralBlock block{};
  BlockDigits planes = BlockDigits::load(block);
  for (uint32_t cell = 0; cell < kBlockCells; ++cell) planes.set(cell, digits[cell]);
  planes.store(block);
  return block;
}

Digits digits_of(const BlockDigits& planes) {
  Digits digits;
  for (uint32_t cell = 0; cell < kBlockCells; ++cell) digits[cell] = planes.get(cell);
  return digits;
}

TEST(SpectralBlock, DigitsAreReadBackAsTheyWereSet) {
  std::mt19937 random(1);
  Digits digits;
  for (uint32_t& digit : digits) digit = random() % (kDigitMax + 1);
  SpectralBlock block = block_of(digits);
  block.link = 0xdeadbeef;
  BlockDigits::load(block).store(block);
  EXPECT_EQ(digits_of(BlockDigits::load(block)), digits);
  EXPECT_EQ(block.link, 0xdeadbeef) << "planes and link must not overlap";
}

TEST(SpectralBlock, NumbersOfTheWholeBlockAreThoseOfItsCells) {
  const uint32_t seed = 4;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    Digits digits{};
    const uint64_t filled = random() % 8;
    for (uint64_t i = 0; i < filled; ++i) {
      digits[random() % kBlockCells] = static_cast<uint32_t>(random() % (kDigitMax + 1));
    }
    const BlockDigits planes = BlockDigits::load(block_of(digits));
    ASSERT_EQ(planes.largest(), *std::max_element(digits.begin(), digits.end()));
    ASSERT_EQ(planes.sum(), std::accumulate(digits.begin(), digits.end(), 0U));
    ASSERT_EQ(planes.nonzero_cells(), kBlockCells - std::count(digits.begin(), digits.end(), 0U));
  }
}

TEST(SpectralBlock, OperationsOnSetsOfCellsAreThoseOnEachCell) {
  const uint32_t seed = 2;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20000; ++round) {
    Digits digits;
    for (uint32_t& digit : digits) digit = static_cast<uint32_t>(random() % (kDigitMax + 1));
    const CellSet cells = choose_cells(random(), 1 + static_cast<uint32_t>(random() % 12));
    BlockDigits planes = BlockDigits::load(block_of(digits));
    uint32_t least = kDigitMax;
    uint32_t zeros = 0, nearly_full = 0;
    cells.for_each([&](uint32_t cell) {
      least = std::min(least, digits[cell]);
      zeros += digits[cell] == 0 ? 1 : 0;
      nearly_full += digits[cell] >= kDigitMax - 1 ? 1 : 0;
    });
    ASSERT_EQ(planes.minimum(cells).digit, least);
    planes.minimum(cells).cells.for_each([&](uint32_t cell) { ASSERT_EQ(digits[cell], least); });
    ASSERT_EQ(planes.zero(cells).size(), zeros);
    ASSERT_EQ(planes.nearly_full(cells).size(), nearly_full);
    const CellSet up = cells - planes.full();
    Digits expected = digits;
    up.for_each([&](uint32_t cell) { ++expected[cell]; });
    planes.increment(up);
    ASSERT_EQ(digits_of(planes), expected);
    planes.decrement(up);
    ASSERT_EQ(digits_of(planes), digits);
  }
}

TEST(SpectralBlock, CellsOfAnItemAreDistinctAndThereAreAsManyAsAsked) {
  std::mt19937_64 random(3);
  for (uint32_t hashes = 1; hashes <= kMaxBlockHashes; ++hashes) {
    for (int i = 0; i < 1000; ++i) {
      const CellSet cells = choose_cells(random(), hashes);
      ASSERT_EQ(cells.size(), hashes);
      cells.for_each([](uint32_t cell) { ASSERT_LT(cell, kBlockCells); });
    }
  }
  // Words with hardly any bits must not go on for ever either.
  for (const uint64_t bits : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    EXPECT_EQ(choose_cells(bits, kMaxBlockHashes).size(), kMaxBlockHashes);
  }
}

// Files hold cells, so the way from a hash to its cells can never change: enough different ones at
// once, some that come twice, and more than one hash has.
TEST(CellSet, TheCellsOfAHashAreFrozen) {
  struct Expected {
    uint64_t bits;
    uint32_t hashes;
    CellSet cells;
  };
  for (const Expected& expected : std::initializer_list<Expected>{
           {0x123456789abcdef, 5, {{0x800008000000, 0x100800000002000}}},
           {0xfedcba9876543210, 9, {{0x4400000010080, 0x4000401000090000}}},
           {0x123456789abcdef, 24, {{0xa001900808060003, 0x1a892001002a801}}},
           {0x0, 3, {{0x3, 0x20000000}}},
           {0x8102040810204081, 6, {{0x4000000003000002, 0x90000000000000}}}}) {
    EXPECT_EQ(choose_cells(expected.bits, expected.hashes), expected.cells) << expected.bits;
  }
}

// Each cell, and each pair of cells, must come equally often: chi-square over all cells and the
// 12,720 pairs, within 5 sigma of its mean. The draws without replacement make both a little
// narrower than chi-square, which is the safe side.
TEST(SpectralBlock, CellsAndPairsOfCellsComeEquallyOften) {
  constexpr uint32_t kItems = 1000000;
  for (const uint32_t hashes : {5U, 9U, 16U}) {
    std::mt19937_64 random(hashes);
    std::array<double, kBlockCells> cells{};
    std::vector<double> pairs(kBlockCells * kBlockCells);
    for (uint32_t i = 0; i < kItems; ++i) {
      const CellSet chosen = choose_cells(random(), hashes);
      chosen.for_each([&](uint32_t a) {
        ++cells[a];
        chosen.for_each([&](uint32_t b) {
          if (a < b) ++pairs[a * kBlockCells + b];
        });
      });
    }
    const auto bound = [](double freedom) { return freedom + 5 * std::sqrt(2 * freedom); };
    const double cell_mean = double{kItems} * hashes / kBlockCells;
    double chi_cells = 0;
    for (const double count : cells)
      chi_cells += (count - cell_mean) * (count - cell_mean) / cell_mean;
    EXPECT_LT(chi_cells, bound(kBlockCells - 1)) << hashes;
    const double pair_count = kBlockCells * (kBlockCells - 1) / 2.0;
    const double pair_mean = double{kItems} * hashes * (hashes - 1) / 2 / pair_count;
    double chi_pairs = 0;
    for (uint32_t a = 0; a < kBlockCells; ++a) {
      for (uint32_t b = a + 1; b < kBlockCells; ++b) {
        const double off = pairs[a * kBlockCells + b] - pair_mean;
        chi_pairs += off * off / pair_mean;
      }
    }
    EXPECT_LT(chi_pairs, bound(pair_count - 1)) << hashes;
  }
}

}  // namespace
}  // namespace iris::filters
