#include "filters/spectral_block.h"

#include "filters/check.h"

namespace iris::filters {
namespace {

// Cells are numbers of 7 bits, and a hash has 9 of them. Then it is stirred for more.
constexpr uint32_t kCellBits = 7;
static_assert(kBlockCells == 1U << kCellBits);
constexpr uint32_t kCellsPerStir = 64 / kCellBits;
constexpr uint64_t kStirMultiplier = 0x9e3779b97f4a7c15ULL;

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
  uint64_t low = 0;
  uint64_t high = 0;
  uint64_t twice = 0;
  uint64_t rest = bits;
  for (uint32_t i = 0; i < hashes; ++i) {
    const uint64_t bit = uint64_t{1} << (rest % 64);
    const uint64_t in_high = uint64_t{0} - (rest >> 6 & 1);
    const uint64_t high_bit = bit & in_high;
    const uint64_t low_bit = bit & ~in_high;
    twice |= (low & low_bit) | (high & high_bit);
    low |= low_bit;
    high |= high_bit;
    rest >>= kCellBits;
  }
  return twice == 0 ? CellSet{{low, high}} : choose_distinct(bits, hashes);
}

}  // namespace iris::filters
