// One block of a spectral filter: 128 small counters, and room for the few that are larger, in one
// cache line.
//
// An item picks one block of a layer and k distinct cells in it. A cell's counter is kept in two
// parts: a digit of 3 bits, and, only for a counter that has outgrown its digit, a high part
// (spectral_extension.h). High parts lie in the block itself as long as all of them fit there.
//
//      byte  0         16        32        48      60     64
//            +---------+---------+---------+-------+------+
//            | plane 0 | plane 1 | plane 2 | highs | link |
//            +---------+---------+---------+-------+------+
//              plane p has bit p of all 128 digits
//
//   digit 0..6   the count itself
//   digit 7      the cell is full: the count is 7 plus its high part, which may be 0
//
// A saturating digit, and not the low digit of an odometer: the minimum over an item's cells, which
// is its count, is then known from the planes alone as soon as one of them is below 7, and only the
// cells at 7 ever ask for a high part. An odometer would have to look there for every cell of a
// block that has any, and with skewed counts nearly all blocks have.
//
// The digits are cut into bit planes, so the k cells of an item are one set of bits and are read,
// compared, incremented or decremented all at once with a dozen word operations: no loop over the
// cells, no digit that straddles two bytes.
//
// 160 digits and no room for high parts take 11 % to 22 % less memory on the streams of
// bench/spectral_accuracy, and were tried first. But then every increment of a counter above 6 goes
// to a second cache line, planes of 160 bits take three words instead of two, and drawing one of
// 160 cells takes a multiplication: an increment took 1.5 times as long where the mean count is 1,
// and 1.9 times where it is 2. 4 bits (120 cells) take more memory than this and still leave the
// line as soon as one counter passes 15.
//
// Invariants
//   1. The cells of an item in a block are distinct, so an increment counts once in each.
//   2. There is a high part for each full cell and for no other.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace iris::filters {

inline constexpr uint32_t kDigitBits = 3;
inline constexpr uint32_t kDigitMax = (1U << kDigitBits) - 1;
inline constexpr uint32_t kBlockCells = 128;
inline constexpr uint32_t kPlaneBytes = kBlockCells / 8;
inline constexpr uint32_t kDigitBytes = kDigitBits * kPlaneBytes;
inline constexpr uint32_t kInlineBytes = 64 - kDigitBytes - sizeof(uint32_t);

// No more cells than this for an item in one block: the best number for the lowest error rate that
// is accepted lies below it (spectral_sizing.h).
inline constexpr uint32_t kMaxBlockHashes = 24;

// Set bits. Not every x86-64 has an instruction for it, and what the compiler calls instead looks
// bytes up in a table.
inline uint32_t count_bits(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<uint32_t>(word * 0x0101010101010101 >> 56);
}

// A set of cells of one block. Left uninitialised on purpose where it is built in place.
struct CellSet {
  std::array<uint64_t, 2> words;

  static CellSet none() { return {{0, 0}}; }
  bool has(uint32_t cell) const { return (words[cell / 64] >> (cell % 64) & 1) != 0; }
  void add(uint32_t cell) { words[cell / 64] |= uint64_t{1} << (cell % 64); }
  bool empty() const { return (words[0] | words[1]) == 0; }
  uint32_t size() const { return count_bits(words[0]) + count_bits(words[1]); }

  bool operator==(const CellSet&) const = default;

  // Calls `visit(cell)` in ascending order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (uint32_t word = 0; word < words.size(); ++word) {
      for (uint64_t rest = words[word]; rest != 0; rest &= rest - 1) {
        visit(word * 64 + static_cast<uint32_t>(std::countr_zero(rest)));
      }
    }
  }

  friend CellSet operator&(const CellSet& a, const CellSet& b) {
    return {{a.words[0] & b.words[0], a.words[1] & b.words[1]}};
  }
  friend CellSet operator|(const CellSet& a, const CellSet& b) {
    return {{a.words[0] | b.words[0], a.words[1] | b.words[1]}};
  }
  friend CellSet operator^(const CellSet& a, const CellSet& b) {
    return {{a.words[0] ^ b.words[0], a.words[1] ^ b.words[1]}};
  }
  // a without b.
  friend CellSet operator-(const CellSet& a, const CellSet& b) {
    return {{a.words[0] & ~b.words[0], a.words[1] & ~b.words[1]}};
  }
};

// The k distinct cells of the item whose second hash half is `bits`.
CellSet choose_cells(uint64_t bits, uint32_t hashes);

struct alignas(64) SpectralBlock {
  std::array<uint64_t, kDigitBytes / sizeof(uint64_t)> digits;  // plane by plane
  std::array<std::byte, kInlineBytes> highs;
  uint32_t link;  // of spectral_extension.h; 0 while no counter of this block outgrew its digit
};
static_assert(sizeof(SpectralBlock) == 64);

// The digits of a block, in registers.
class BlockDigits {
 public:
  BlockDigits() = default;  // not initialised
  static BlockDigits load(const SpectralBlock& block) {
    BlockDigits digits;
    std::memcpy(&digits.planes_, &block.digits, kDigitBytes);
    return digits;
  }

  // Without the stripe, while others may write: the words may be of different moments.
  static BlockDigits load_shared(const SpectralBlock& block) {
    BlockDigits digits;
#pragma GCC unroll 6
    for (uint32_t i = 0; i < block.digits.size(); ++i) {
      std::atomic_ref word(const_cast<uint64_t&>(block.digits[i]));
      digits.planes_[i / 2].words[i % 2] = word.load(std::memory_order_acquire);
    }
    return digits;
  }

  void store(SpectralBlock& block) const {
#pragma GCC unroll 6
    for (uint32_t i = 0; i < block.digits.size(); ++i) {
      std::atomic_ref word(block.digits[i]);
      word.store(planes_[i / 2].words[i % 2], std::memory_order_release);
    }
  }

  CellSet zero(const CellSet& cells) const {
    return cells - (planes_[0] | planes_[1] | planes_[2]);
  }
  // All full cells of the block.
  CellSet full() const {
    return planes_[0] & planes_[1] & planes_[2];
  }
  // Those that are full, or will be after one more.
  CellSet nearly_full(const CellSet& cells) const {
    return cells & planes_[1] & planes_[2];
  }

  struct Minimum {
    uint32_t digit;
    CellSet cells;  // those that have it
  };

  // The smallest digit among `cells`, found from the highest bit down: the cells without the bit
  // are smaller, if there are any. Without branches: which way they go is in the counts, and no
  // predictor knows them.
  Minimum minimum(const CellSet& cells) const {
    Minimum result{0, cells};
#pragma GCC unroll 3
    for (uint32_t bit = kDigitBits; bit-- > 0;) {
      const uint64_t none = (result.cells - planes_[bit]).empty() ? 1 : 0;
      result.digit |= static_cast<uint32_t>(none) << bit;
      uint64_t some = none - 1;  // all bits, or none
      asm("" : "+r"(some));      // else the compiler makes a branch of it
      const CellSet larger = planes_[bit] & CellSet{{some, some}};
      result.cells = result.cells - larger;
    }
    return result;
  }

  // Adds one to each of `cells`, none of which may be full.
  void increment(const CellSet& cells) {
    CellSet carry = cells;
#pragma GCC unroll 3
    for (CellSet& plane : planes_) {
      const CellSet next = plane & carry;
      plane = plane ^ carry;
      carry = next;
    }
  }

  // Takes one from each of `cells`, none of which may be zero.
  void decrement(const CellSet& cells) {
    CellSet borrow = cells;
#pragma GCC unroll 3
    for (CellSet& plane : planes_) {
      const CellSet next = borrow - plane;
      plane = plane ^ borrow;
      borrow = next;
    }
  }

  uint32_t get(uint32_t cell) const {
    uint32_t digit = 0;
    for (uint32_t bit = 0; bit < kDigitBits; ++bit) {
      digit |= static_cast<uint32_t>(planes_[bit].has(cell)) << bit;
    }
    return digit;
  }

  void set(uint32_t cell, uint32_t digit) {
    const uint64_t mask = uint64_t{1} << (cell % 64);
    for (uint32_t bit = 0; bit < kDigitBits; ++bit) {
      uint64_t& word = planes_[bit].words[cell / 64];
      word = (digit >> bit & 1) != 0 ? word | mask : word & ~mask;
    }
  }

  // The sum of all digits of the block, and the largest of them.
  uint32_t sum() const {
    return planes_[0].size() + 2 * planes_[1].size() + 4 * planes_[2].size();
  }
  uint32_t largest() const {
    uint32_t digit = 0;
    CellSet candidates = planes_[0] | planes_[1] | planes_[2];
    for (uint32_t bit = kDigitBits; bit-- > 0;) {
      const CellSet larger = candidates & planes_[bit];
      if (larger.empty()) continue;
      digit |= 1U << bit;
      candidates = larger;
    }
    return digit;
  }

  // How many cells of the whole block count anything.
  uint32_t nonzero_cells() const {
    return (planes_[0] | planes_[1] | planes_[2]).size();
  }

 private:
  std::array<CellSet, kDigitBits> planes_;
};

}  // namespace iris::filters
