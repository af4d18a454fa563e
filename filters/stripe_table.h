// The locks of all filters' cells: one table of 1,024 spin locks for the whole process.
//
// A filter's cells are cut into chunks. The chunk of an item is guarded by one stripe of the table,
// so writers of one hot filter run side by side, and a million small filters need no lock of their
// own. Chunks of different filters may share a stripe: that costs a little waiting and is never
// wrong.
//
//      filter id --mix--> base          chunks 0 1 2 3 ...
//                           |                  | | | |
//      stripes  . . . . . . [] [] [] [] . . .  (base + chunk) mod 1,024
//
// So a filter's chunks lie on consecutive stripes, and a filter of 1,024 chunks or more uses all.
//
// Invariants
//   1. Who holds several stripes took them in ascending order, each once: StripeSet is a bitmap, so
//      its order and the lack of duplicates need no sorting. Nobody takes a stripe while holding a
//      StripeGuard or a StripeSetGuard.
//   2. A stripe is held for well under a microsecond: check, append a record to the log's buffer,
//      set bits. Nobody waits for a disk, a socket or the world lock under it. That is why it spins
//      instead of sleeping (spin_lock.h).
//   3. Each lock has a cache line of its own, else neighbours would disturb each other.
//   4. While only one thread works on filters (shared() is false), guards take nothing:
//      some 5 to 10 % less time for an add. That changes only while nobody works on any filter.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "filters/spin_lock.h"

namespace iris::filters {

// Cells that are copied, saved and, in a spectral filter, extended together. A multiple of every
// block size.
inline constexpr uint64_t kChunkBytes = 64 * 1024;

class StripeTable {
 public:
  static constexpr uint32_t kStripes = 1024;

  StripeTable() = default;
  StripeTable(const StripeTable&) = delete;
  StripeTable& operator=(const StripeTable&) = delete;

  static uint32_t index_of(uint64_t filter_id, uint64_t chunk) {
    // Ids are handed out in sequence; the multiplication (golden ratio) spreads them.
    const uint64_t base = (filter_id * 0x9e3779b97f4a7c15ULL) >> 54;
    return static_cast<uint32_t>((base + chunk) % kStripes);
  }

  // Whether more than one thread may work on filters (invariant 4).
  bool shared() const { return shared_; }
  void set_shared(bool shared) { shared_ = shared; }

  void lock(uint32_t index) { stripes_[index].lock.lock(); }
  [[nodiscard]] bool try_lock(uint32_t index) { return stripes_[index].lock.try_lock(); }
  void unlock(uint32_t index) { stripes_[index].lock.unlock(); }

  // For who reads without taking it (spin_lock.h).
  std::optional<uint32_t> moment(uint32_t index) const { return stripes_[index].lock.moment(); }
  bool unchanged_since(uint32_t index, uint32_t moment) const {
    return stripes_[index].lock.unchanged_since(moment);
  }
  [[nodiscard]] bool lock_unchanged_since(uint32_t index, uint32_t moment) {
    return stripes_[index].lock.lock_unchanged_since(moment);
  }

  // Asks for the lock's cache line, to write it: another core may have it.
  [[gnu::always_inline]] void prefetch(uint32_t index) {
#if defined(__x86_64__)
    // What GCC makes of __builtin_prefetch for any x86-64 asks for a copy to read. This one is for
    // writing, and does nothing where it is not known.
    asm volatile("prefetchw %0" : : "m"(stripes_[index]));
#else
    __builtin_prefetch(&stripes_[index], 1);
#endif
  }

 private:
  struct alignas(64) Stripe {
    SpinLock lock;
  };

  bool shared_ = true;  // unless somebody knows better
  std::array<Stripe, kStripes> stripes_;
};

// One stripe, for one item; none if the table is not shared.
class StripeGuard {
 public:
  StripeGuard(StripeTable& table, uint32_t index) : table_(table), index_(index) {
    if (table_.shared()) table_.lock(index_);
  }
  // Taken already, of a table that is shared.
  StripeGuard(StripeTable& table, uint32_t index, std::adopt_lock_t)
      : table_(table), index_(index) {}
  ~StripeGuard() {
    if (table_.shared()) table_.unlock(index_);
  }
  StripeGuard(const StripeGuard&) = delete;
  StripeGuard& operator=(const StripeGuard&) = delete;

 private:
  StripeTable& table_;
  const uint32_t index_;
};

// Which stripes to take: those of a slice of items, or those of a whole filter.
class StripeSet {
 public:
  void add(uint32_t index) { words_[index / 64] |= uint64_t{1} << (index % 64); }

  // All stripes that guard a filter of `chunks` chunks.
  void add_filter(uint64_t filter_id, uint64_t chunks);

  bool has(uint32_t index) const { return (words_[index / 64] >> (index % 64) & 1) != 0; }
  uint32_t size() const;

  // Calls `visit(index)` in ascending order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (uint32_t word = 0; word < words_.size(); ++word) {
      for (uint64_t rest = words_[word]; rest != 0; rest &= rest - 1) {
        visit(word * 64 + static_cast<uint32_t>(std::countr_zero(rest)));
      }
    }
  }

 private:
  std::array<uint64_t, StripeTable::kStripes / 64> words_{};
};

// All stripes of a set, taken in ascending order (invariant 1); none if the table is not shared.
class StripeSetGuard {
 public:
  StripeSetGuard(StripeTable& table, const StripeSet& set) : table_(table), set_(set) {
    if (table_.shared()) set_.for_each([this](uint32_t index) { table_.lock(index); });
  }
  ~StripeSetGuard() {
    if (table_.shared()) set_.for_each([this](uint32_t index) { table_.unlock(index); });
  }
  StripeSetGuard(const StripeSetGuard&) = delete;
  StripeSetGuard& operator=(const StripeSetGuard&) = delete;

 private:
  StripeTable& table_;
  const StripeSet set_;
};

}  // namespace iris::filters
