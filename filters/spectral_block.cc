#include "filters/spectral_block.h"

#include <array>

namespace iris::filters {
namespace {

// Cells are numbers of 7 bits, and a hash has 9 of them. Then it is stirred for more.
constexpr uint32_t kCellBits = 7;
static_assert(kBlockCells == 1U << kCellBits);
constexpr uint32_t kCellsPerStir = 64 / kCellBits;
constexpr uint64_t kStirMultiplier = 0x9e3779b97f4a7c15ULL;

// The words of a set as one, which every machine here has registers for: a tenth less time for a
// count than with one word after the other.
using Pair = uint64_t __attribute__((vector_size(16)));

// The set of each single cell, 2 KB: to look it up takes half as many instructions as to make it.
constexpr std::array<Pair, kBlockCells> single_cells() {
  std::array<Pair, kBlockCells> cells{};
  for (uint32_t i = 0; i < kBlockCells; ++i) {
    const uint64_t cell = uint64_t{1} << (i % 64);
    cells[i] = i < 64 ? Pair{cell, 0} : Pair{0, cell};
  }
  return cells;
}
constexpr std::array<Pair, kBlockCells> kSingleCells = single_cells();

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
  Pair cells{};
  Pair twice{};
  uint64_t rest = bits;
  for (uint32_t i = 0; i < hashes; ++i) {
    const Pair cell = kSingleCells[rest % kBlockCells];
    twice |= cells & cell;
    cells |= cell;
    rest >>= kCellBits;
  }
  if ((twice[0] | twice[1]) != 0) return choose_distinct(bits, hashes);
  return {{cells[0], cells[1]}};
}

}  // namespace iris::filters
