// Where an item's bits lie, and how they are tested and set: the inner loop of every Bloom command.
//
//   blocked, paged   low half of the hash -> block (multiply by the number of blocks, take the high
//                    word); high half -> cells inside it, cut into slices of 9 or 12 bits. 64 bits
//                    give 7 or 5 positions; the next ones come from the word multiplied and folded.
//                    So the first 7 of 512 are plain independent hash bits. Double hashing with a
//                    small stride would be cheaper and would show as a higher error rate: 512
//                    cells are few.
//   classic          (low + i * high) mod bits, wrapping at 2^64: RedisBloom's, bit for bit
//   explicit         low + i * high, multiplied and folded, then scaled to the length: independent
//                    for any length, also for a textbook's 18 bits where double hashing degenerates
//
// Bit x is bit x % 64 of 64-bit word x / 64, which on a little-endian machine is RedisBloom's bit
// x % 8 of byte x / 8.
//
// Invariants
//   1. Words are read with acquire and written with release, so a reader that sees an item's bit
//      also sees everything its writer did before, the log's record first of all. On x86 both are
//      plain moves.
//   2. Who sets bits holds the stripe of their chunk (stripe_table.h), so a load and a store will
//      do; no bit is ever cleared. Readers hold nothing.
//   3. A probe that finds a bit unset may stop; all bits of an added item are set, so there is no
//      false negative.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <utility>

#include "filters/item_hash.h"

namespace iris::filters {

// Cells that one stripe guards. Small, so that a filter of 10 MB has more stripes than two threads
// with a batch of adds each would meet at.
inline constexpr uint64_t kBloomChunkBytes = 8 * 1024;

namespace probes {

static_assert(std::endian::native == std::endian::little,
              "dumps are little-endian images of cells");

__extension__ typedef unsigned __int128 Uint128;

inline uint64_t multiply_high(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<Uint128>(a) * b >> 64);
}

inline uint64_t multiply_fold(uint64_t a, uint64_t b) {
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
}

// Odd constants with about half of their bits set (wyhash's), to stir a word that is used up.
inline constexpr uint64_t kStir = 0xa0761d6478bd642fULL;
inline constexpr uint64_t kFold = 0xe7037ed1a0b428dbULL;

inline uint64_t next_word(uint64_t word) {
  return multiply_fold(word ^ kStir, kFold);
}

inline uint64_t load_word(uint64_t* word) {
  return std::atomic_ref<uint64_t>(*word).load(std::memory_order_acquire);
}

// The statement without instructions is an effect that GCC can see. Without it a function that only
// prefetches is taken for one that does nothing, and its calls are dropped.
inline void prefetch_word(uint64_t* word) {
  __builtin_prefetch(word);
  asm volatile("" : : "r"(word));
}

[[gnu::always_inline]] inline void set_bits(uint64_t* word, uint64_t mask) {
  std::atomic_ref<uint64_t> cell(*word);
  // Stored even if nothing changes: whether it does is a coin toss that no branch predictor wins.
  cell.store(cell.load(std::memory_order_relaxed) | mask, std::memory_order_release);
}

// Where one item's bits lie in one layer. All kinds have the same members:
//
//   present()    whether all of them are set
//   set()        sets them; the caller holds the stripe of chunk()
//   chunk()      which chunk of the cells they are in
//   prefetch()   asks for the lines that present() reads first

// In one block of 2^kBlockLog2 cells.
template <unsigned kBlockLog2>
class BlockedItem {
 public:
  BlockedItem(uint64_t* words, const ItemHash& hash, uint64_t bits, uint32_t hashes)
      : index_(multiply_high(hash.low, bits >> kBlockLog2)),
        block_(words + index_ * kBlockWords),
        source_(hash.high),
        hashes_(hashes) {}

  // All bits of a hash word are tested without a branch between them, and the number of tests is
  // known to the compiler. Which bit is unset is random, so a branch on each would be mispredicted
  // once a miss: 17 ns instead of 7 in cache, k = 6. Building a mask of the line and comparing took
  // 11 ns. Beyond the cache they are all alike.
  bool present() const {
    uint64_t* const block = block_;
    uint64_t source = source_;
    uint32_t left = hashes_;
    for (; left > kPositionsAWord; left -= kPositionsAWord) {
      if (!all_set(block, source, Cells<kPositionsAWord>())) return false;
      source = next_word(source);
    }
    return with_cells(left, [=](auto cells) { return all_set(block, source, cells); });
  }

  void set() const {
    uint64_t* const block = block_;
    uint64_t source = source_;
    uint32_t left = hashes_;
    for (; left > kPositionsAWord; left -= kPositionsAWord) {
      set_all(block, source, Cells<kPositionsAWord>());
      source = next_word(source);
    }
    with_cells(left, [=](auto cells) { set_all(block, source, cells); });
  }

  uint64_t chunk() const { return index_ / (kBloomChunkBytes / kBlockBytes); }

  // A block of one line as a whole. Of a larger one the lines of the first hash word's positions:
  // an absent item is nearly always refused by them.
  [[gnu::always_inline]] void prefetch() const {
    if constexpr (kBlockBytes <= kLineBytes) {
      prefetch_word(block_);
    } else {
      uint64_t slices = source_;
      for (uint32_t i = 0; i < std::min(hashes_, kPositionsAWord); ++i, slices >>= kBlockLog2) {
        prefetch_word(block_ + (slices & kPositionMask) / 64);
      }
    }
  }

 private:
  static constexpr uint32_t kPositionsAWord = 64 / kBlockLog2;
  static constexpr uint64_t kPositionMask = (uint64_t{1} << kBlockLog2) - 1;
  static constexpr uint64_t kBlockWords = (uint64_t{1} << kBlockLog2) / 64;
  static constexpr uint64_t kBlockBytes = kBlockWords * sizeof(uint64_t);
  static constexpr uint64_t kLineBytes = 64;  // of the cache

  // A number of cells that is known to the compiler. More than a word has positions for do not
  // occur, but must compile.
  template <unsigned kCount>
  using Cells = std::make_integer_sequence<unsigned, std::min(kCount, kPositionsAWord)>;

  // What follows is inlined by force: a call costs as much as the loop that is saved.
  template <typename Visit>
  [[gnu::always_inline]] static auto with_cells(uint32_t count, Visit&& visit) {
    static_assert(kPositionsAWord <= 7);
    switch (count) {  // NOLINTBEGIN(bugprone-branch-clone): each calls another function
      case 1:
        return visit(Cells<1>());
      case 2:
        return visit(Cells<2>());
      case 3:
        return visit(Cells<3>());
      case 4:
        return visit(Cells<4>());
      case 5:
        return visit(Cells<5>());
      case 6:
        return visit(Cells<6>());
      default:
        return visit(Cells<7>());
    }  // NOLINTEND(bugprone-branch-clone)
  }

  template <unsigned... i>
  [[gnu::always_inline]] static bool all_set(uint64_t* block, uint64_t slices,
                                             std::integer_sequence<unsigned, i...>) {
    return (bit_at(block, slices >> (i * kBlockLog2)) & ... & 1) != 0;
  }

  template <unsigned... i>
  [[gnu::always_inline]] static void set_all(uint64_t* block, uint64_t slices,
                                             std::integer_sequence<unsigned, i...>) {
    (set_bit_at(block, slices >> (i * kBlockLog2)), ...);
  }

  // The lowest bits of `slices` are the position.
  [[gnu::always_inline]] static uint64_t bit_at(uint64_t* block, uint64_t slices) {
    const uint64_t position = slices & kPositionMask;
    return load_word(block + position / 64) >> (position % 64);
  }
  [[gnu::always_inline]] static void set_bit_at(uint64_t* block, uint64_t slices) {
    const uint64_t position = slices & kPositionMask;
    set_bits(block + position / 64, uint64_t{1} << (position % 64));
  }

  const uint64_t index_;
  uint64_t* const block_;
  const uint64_t source_;  // of positions
  const uint32_t hashes_;
};

struct ClassicPositions {
  static uint64_t position(const ItemHash& hash, uint32_t i, uint64_t bits) {
    return (hash.low + i * hash.high) % bits;
  }
};

struct ExplicitPositions {
  static uint64_t position(const ItemHash& hash, uint32_t i, uint64_t bits) {
    return multiply_high(multiply_fold((hash.low + i * hash.high) ^ kStir, kFold), bits);
  }
};

// Anywhere in the array: each cell is a cache miss of its own in a big filter, so a lookup stops at
// the first unset one, and an absent item sees two on average. The array is one chunk.
template <typename Positions>
class ScatteredItem {
 public:
  ScatteredItem(uint64_t* words, const ItemHash& hash, uint64_t bits, uint32_t hashes)
      : words_(words), hash_(hash), bits_(bits), hashes_(hashes) {}

  bool present() const {
    for (uint32_t i = 0; i < hashes_; ++i) {
      const uint64_t position = Positions::position(hash_, i, bits_);
      if ((load_word(words_ + position / 64) >> (position % 64) & 1) == 0) return false;
    }
    return true;
  }

  void set() const {
    for (uint32_t i = 0; i < hashes_; ++i) {
      const uint64_t position = Positions::position(hash_, i, bits_);
      set_bits(words_ + position / 64, uint64_t{1} << (position % 64));
    }
  }

  uint64_t chunk() const { return 0; }

  [[gnu::always_inline]] void prefetch() const {
    constexpr uint32_t kLines = 2;
    for (uint32_t i = 0; i < std::min(hashes_, kLines); ++i) {
      prefetch_word(words_ + Positions::position(hash_, i, bits_) / 64);
    }
  }

 private:
  uint64_t* const words_;
  const ItemHash hash_;
  const uint64_t bits_;
  const uint32_t hashes_;
};

}  // namespace probes
}  // namespace iris::filters
