#include "filters/spectral_block.h"

#include "filters/check.h"

namespace iris::filters {
namespace {

__extension__ typedef unsigned __int128 uint128;

// Cells are the digits of `bits` / 2^64 written in base 160: each multiplication brings the next
// one above the point. They are as good as independent while hash bits are left: 7 digits use 51 of
// the 64, and the last still has thousands of values to fall on. Then the rest is stirred again.
constexpr uint32_t kCellsPerStir = 7;
constexpr uint64_t kStirMultiplier = 0x9e3779b97f4a7c15ULL;

}  // namespace

CellSet choose_cells(uint64_t bits, uint32_t hashes) {
  CellSet cells = CellSet::none();
  uint64_t rest = bits;
  uint32_t drawn = 0;
  for (uint32_t chosen = 0; chosen < hashes;) {
    if (drawn == kCellsPerStir) {
      bits = (bits ^ bits >> 32) * kStirMultiplier + 1;
      rest = bits ^ bits >> 29;
      drawn = 0;
    }
    const uint128 product = static_cast<uint128>(rest) * kBlockCells;
    const auto cell = static_cast<uint32_t>(product >> 64);
    rest = static_cast<uint64_t>(product);
    ++drawn;
    if (cells.has(cell)) continue;
    cells.add(cell);
    ++chosen;
  }
  return cells;
}

}  // namespace iris::filters
