// The next count of an item some of whose cells are full or get full, in a block that holds its
// high parts itself: the whole new block, computed at once.
//
// The way of SpectralLayer that fits every block goes from cell to cell, and how many of them are
// full, where their high parts lie and which move is different each time: five or six branches that
// no predictor knows, 60 ns and more. Two instructions of newer x86 machines (BMI2) do it for all
// cells together. `pext` gathers the bits of a word that a mask selects, `pdep` scatters them:
//
//      full cells of the block     . 1 . . 1 1 . . 1        the masks, and
//      those of the item           . x . . . x . . .        what is to be gathered
//      gathered: by rank             1 0 1 0                the high parts to raise
//      scattered to bytes          01 00 01 00              to be added to the 12 bytes
//
// And a cell that gets full is a byte of 0 between the others: old full cells gathered by the new
// ones tell which bytes of the new 12 come from the old ones, and the old ones are scattered there.
//
// Where the machine has no such instructions, or slow ones (AMD before Zen 3), the other way is all
// there is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "filters/spectral_block.h"

namespace iris::filters {

struct InlineIncrement {
  uint64_t before;  // the count of the item
  uint64_t after;
  int64_t nonzero_change;  // cells that were zero
  // The block afterwards.
  BlockDigits digits;
  std::array<std::byte, kInlineBytes> highs;
  uint32_t link;
};

// Whether this machine is one for increment_inline().
bool can_increment_inline();
inline const bool kIncrementsInline = can_increment_inline();

// False if the block is not one for it: a high part has two bytes or would get them, or they lie or
// would have to lie elsewhere. At least one of `cells` is full or gets full.
[[nodiscard]] bool increment_inline(const SpectralBlock& block, const CellSet& cells,
                                    InlineIncrement& result);

}  // namespace iris::filters
