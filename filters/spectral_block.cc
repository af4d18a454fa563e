#include "filters/spectral_block.h"

#include <array>

namespace iris::filters {
namespace {

// Cells are numbers of 7 bits, and a hash has 9 of them. Then it is stirred for more.
constexpr uint32_t kCellBits = 7;
static_assert(kBlockCells == 1U << kCellBits);
constexpr uint32_t kCellsPerStir = 64 / kCellBits;
constexpr uint64_t kStirMultiplier = 0x9e3779b97f4a7c15ULL;

// The set of each single cell, 2 KB: to look it up takes half as many instructions as to make it.
constexpr std::array<CellSet, kBlockCells> single_cells() {
  std::array<CellSet, kBlockCells> cells{};
  for (uint32_t i = 0; i < kBlockCells; ++i) cells[i].words[i / 64] = uint64_t{1} << (i % 64);
  return cells;
}
constexpr std::array<CellSet, kBlockCells> kSingleCells = single_cells();

// Draws until there are enough different ones.
[[gnu::noinline]] CellSet choose_distinct(uint64_t bits, uint32_t hashes) {
  CellSet cells = CellSet::none();
  uint64_t rest = bits;
  uint32_t drawn = 0;
  for (uint32_t chosen = 0; chosen < hashes;) {
    if (drawn == kCellsPerStir) {
      bits = (bits ^ bits >> 32) * kStirMultiplier + 1;
      rest = bits ^ bits >> 29;
      drawn = 0;
    }
    const auto cell = static_cast<uint32_t>(rest % kBlockCells);
    rest >>= kCellBits;
    ++drawn;
    if (cells.has(cell)) continue;
    cells.add(cell);
    ++chosen;
  }
  return cells;
}

}  // namespace

// Mostly the first ones differ, and then no branch depends on the hash.
CellSet choose_cells(uint64_t bits, uint32_t hashes) {
  if (hashes > kCellsPerStir) return choose_distinct(bits, hashes);
  CellSet cells = CellSet::none();
  CellSet twice = CellSet::none();
  uint64_t rest = bits;
  for (uint32_t i = 0; i < hashes; ++i) {
    const CellSet& cell = kSingleCells[rest % kBlockCells];
    twice = twice | (cells & cell);
    cells = cells | cell;
    rest >>= kCellBits;
  }
  return twice.empty() ? cells : choose_distinct(bits, hashes);
}

}  // namespace iris::filters
