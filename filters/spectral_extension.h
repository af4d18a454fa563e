// Where counters that have outgrown their digit keep the rest: in their block, or, when that is too
// small, in the arena of the block's chunk.
//
// The high parts of a block's full cells (digit 7) lie together, in ascending order of cells, all
// of the width that the largest needs. Which cells they belong to is not written down: the n-th
// high part is that of the n-th full cell, and a count of bits in the block's planes finds it.
//
//      block.link  = count << 22 | width << 20 | offset         offset in units of 8 bytes
//                                    |
//      up to 12 bytes in all         |     in the block: the offset means nothing
//      more                          v
//      arena  ...  [high | high | high | ... | pad] ...         1, 2, 4 or 8 bytes each
//
// A list of (cell, high part) without those that are 0 was the alternative. It is larger (a byte an
// entry, and counts of exactly 7 are few) and has to be searched.
//
// A chunk (64 KB, 1,024 blocks) has one arena, a single allocation, filled from the bottom up. A
// piece that changes its size is written anew at the end and leaves a hole; when the end is reached
// the pieces are slid down over the holes, in place. So there are no free lists, no fragmentation
// for good, and nothing can fail once the capacity is there: take() is the only step that may be
// refused, before anything has changed. A slide costs some 20 microseconds and comes after at least
// an eighth of the arena has been written anew.
//
// Memory is booked before it is taken. Booked bytes count as the arena's at once, so that of two
// threads that ask for the last memory below a limit neither passes it by not seeing the other.
//
// Invariants
//   1. Everything here is called under the stripe of the chunk (or by who has the filter alone).
//   2. live <= used <= capacity <= booked, in units; live is the sum of the pieces' sizes.
//   3. A block has as many high parts as full cells; no full cells, link 0.
//   4. After book(n) and take(), capacity >= live + n: pieces that grow by n units in all will find
//      room.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "filters/spectral_block.h"

namespace iris::filters {

// What a block's link says.
struct ExtensionLink {
  uint32_t offset_units;
  uint32_t width_bytes;
  uint32_t count;

  static constexpr uint32_t kUnitBytes = 8;
  static constexpr uint32_t kMaxUnits = kBlockCells * 8 / kUnitBytes;

  static ExtensionLink unpack(uint32_t link) {
    return {link & kOffsetMask, 1U << (link >> kOffsetBits & 3), link >> (kOffsetBits + 2)};
  }
  uint32_t pack() const {
    const auto width_code = static_cast<uint32_t>(std::countr_zero(width_bytes));
    return count << (kOffsetBits + 2) | width_code << kOffsetBits | offset_units;
  }
  uint32_t bytes() const { return count * width_bytes; }
  // Of the arena: none for what fits into the block.
  uint32_t units() const { return units_for(count, width_bytes); }
  static uint32_t units_for(uint32_t count, uint32_t width_bytes) {
    return count * width_bytes <= kInlineBytes ? 0 : arena_units(count, width_bytes);
  }
  // What they would take there.
  static uint32_t arena_units(uint32_t count, uint32_t width_bytes) {
    return (count * width_bytes + kUnitBytes - 1) / kUnitBytes;
  }
  // The smallest width that holds `high`.
  static uint32_t width_for(uint64_t high) {
    return high <= 0xff ? 1 : high <= 0xffff ? 2 : high <= 0xffffffff ? 4 : 8;
  }

 private:
  static constexpr uint32_t kOffsetBits = 20;
  static constexpr uint32_t kOffsetMask = (1U << kOffsetBits) - 1;
};

// The full cells of a block, and each one's place among them.
class FullCells {
 public:
  explicit FullCells(const CellSet& set) : set_(set), before_{0, count_bits(set.words[0])} {}

  const CellSet& set() const { return set_; }
  bool has(uint32_t cell) const { return set_.has(cell); }
  uint32_t rank(uint32_t cell) const {
    const uint64_t below = (uint64_t{1} << (cell % 64)) - 1;
    return before_[cell / 64] + count_bits(set_.words[cell / 64] & below);
  }
  uint32_t size() const { return before_[1] + count_bits(set_.words[1]); }

 private:
  CellSet set_;
  std::array<uint32_t, 2> before_;
};

// What becomes of a block: which cells were full, which will be, and the new high parts of those
// that change, in ascending order of cells. The other full cells keep theirs.
struct HighChange {
  FullCells before;
  FullCells after;
  std::span<const uint8_t> cells;  // all of them in `after`
  std::span<const uint64_t> highs;
};

class ExtensionArena {
 public:
  // The blocks of the arena's chunk; they are passed in since the layer owns them.
  using Blocks = std::span<SpectralBlock>;

  // The high part of the full cell with this rank.
  uint64_t high(const SpectralBlock& block, uint32_t rank) const {
    const ExtensionLink link = ExtensionLink::unpack(block.link);
    const std::byte* const highs = piece(block, link);
    return link.width_bytes == 1 ? static_cast<uint64_t>(highs[rank])
                                 : wide_high(highs, link, rank);
  }

  // Overwrites one, with a value that fits().
  void set_high(SpectralBlock& block, uint32_t rank, uint64_t high) {
    const ExtensionLink link = ExtensionLink::unpack(block.link);
    std::byte* const highs = piece(block, link);
    if (link.width_bytes == 1) {
      highs[rank] = static_cast<std::byte>(high);
    } else {
      set_wide_high(highs, link, rank, high);
    }
  }
  static bool fits(const SpectralBlock& block, uint64_t high) {
    return ExtensionLink::width_for(high) <= ExtensionLink::unpack(block.link).width_bytes;
  }

  // By how many units assign() would let the block's piece grow at most; 0 if it would shrink.
  static uint32_t growth(const SpectralBlock& block, const HighChange& change);
  // By how many insert() of so many cells lets it grow.
  static uint32_t growth(const SpectralBlock& block, uint32_t more) {
    const ExtensionLink link = ExtensionLink::unpack(block.link);
    return ExtensionLink::units_for(link.count + more, link.width_bytes) - link.units();
  }

  // Books room for pieces of `block_count` blocks to grow by `units` in all, beside what was
  // promised before.
  void book(uint64_t units, size_t block_count);
  // The same, and keeps the room until trim(): for a slice of items that are written later.
  void promise(uint64_t units, size_t block_count);
  // Allocates what is booked. False if the memory cannot be had; then nothing has changed.
  [[nodiscard]] bool take() { return booked_ == capacity_ || resize(booked_); }
  // Forgets what is promised, and what is booked and was not taken.
  void unbook() {
    promised_ = 0;
    booked_ = capacity_;
  }

  // Neither can fail: the growth was booked and taken.
  void assign(Blocks blocks, SpectralBlock& block, const HighChange& change);
  // Gives cells that get full a high part of 0; `after` are all that are full then.
  void insert(Blocks blocks, SpectralBlock& block, const FullCells& after, const CellSet& filled);

  // Ends all promises, and gives memory back if much more is held than is used.
  void trim(Blocks blocks);
  // Gives back all that can be: every piece in its smallest width, and no room to grow.
  void compact(Blocks blocks);
  // Becomes a copy, for blocks that are copied links and all. False if the memory cannot be had.
  [[nodiscard]] bool copy_from(const ExtensionArena& other);

  // A block has got its first high parts, inside.
  void add_extended() { ++extended_blocks_; }
  // Blocks that have high parts, here or inside.
  uint32_t extended_blocks() const { return extended_blocks_; }
  // What the arena takes or is about to.
  uint64_t booked_bytes() const { return uint64_t{booked_} * ExtensionLink::kUnitBytes; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Highs;

  // Where the block's high parts are.
  const std::byte* piece(const SpectralBlock& block, const ExtensionLink& link) const {
    if (link.bytes() <= kInlineBytes) return block.highs.data();
    return memory_.get() + size_t{link.offset_units} * ExtensionLink::kUnitBytes;
  }
  std::byte* piece(SpectralBlock& block, const ExtensionLink& link) {
    return const_cast<std::byte*>(std::as_const(*this).piece(block, link));
  }
  static uint64_t wide_high(const std::byte* highs, const ExtensionLink& link, uint32_t rank);
  static void set_wide_high(std::byte* highs, const ExtensionLink& link, uint32_t rank,
                            uint64_t high);
  uint32_t move(Blocks blocks, SpectralBlock& block, const ExtensionLink& larger);
  void rewrite(Blocks blocks, SpectralBlock& block, const Highs& highs);
  void release(const ExtensionLink& link);
  uint32_t allocate(Blocks blocks, uint32_t units);
  void slide(Blocks blocks);
  bool resize(uint32_t capacity_units);

  std::unique_ptr<std::byte, Free> memory_;
  uint32_t capacity_ = 0;
  uint32_t booked_ = 0;
  uint32_t used_ = 0;
  uint32_t live_ = 0;
  uint32_t promised_ = 0;
  uint32_t extended_blocks_ = 0;
};

}  // namespace iris::filters
