// A number that several threads raise together, up to a limit: the items of a layer, the sum of a
// filter's counts.
//
// One word that every change writes would be the one cache line that all cores fight for: two
// threads that only add were 1.1 times as fast as one, and two that only count 0.85 times. So what
// is left below the limit is handed out some at a time, into purses, and each thread pays from its
// own (thread_slot.h), which nobody else writes: no locked instruction, some 5 ns each.
//
//     room   --- 65 times what is wanted ->  purse 0   left | used
//            ----------------------------->  purse 1   left | used
//                                            ...
//     count() = base + all used
//
// What is large, or was loaded or merged, goes to the base, apart from them: it may be more than a
// purse can count. Threads that have no purse of their own share one and pay from it by
// compare-and-swap: those beyond the 64th, and all of them in a small layer or filter, until
// spread().
//
// Who is refused may find that others have in their purses what it lacks (gather_helps()), and then
// takes all that guards the number, so that nobody is just paying, gathers and tries again. Near
// the limit nothing is put into purses any more, so that is rare.
//
// Threads: take() under one of the locks that guard the number, gather() under all of them. set()
// and spread() for who has it alone. The rest is concurrent.
//
// Invariants
//   1. By take() the room never falls below 0, and count() never falls.
//   2. limit = room + all left + count() - all that was freed, but for what a thread is just
//      carrying to or from its purse. Who looks for the last of it in that moment may miss it; so
//      near the limit nothing is carried that was not asked for.
//   3. Who sees the change of one thread sees all changes that this thread saw before it: count()
//      reads the base first, and only the base is ever lowered.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "filters/thread_slot.h"

namespace iris::filters {

class BoundedCounter {
 public:
  // Where there is no limit, kNoLimit; a greater one is the same.
  static constexpr uint64_t kNoLimit = INT64_MAX;

  explicit BoundedCounter(uint64_t limit) { set(0, limit, 0); }

  // Raises the number by `wanted`, or not at all.
  [[nodiscard]] bool take(uint64_t wanted) { return pay(wanted) || take_more(wanted); }
  // Leaves the number as it is, and lets it grow by so much more.
  void free(uint64_t amount) { change_room(static_cast<int64_t>(amount)); }
  // Moves it, and with it the room, wherever the limit is.
  void change(int64_t by);

  // Whether take() was refused only because of what others have in their purses.
  bool gather_helps(uint64_t wanted) const;
  void gather();

  uint64_t count() const;
  // Sets it, with so much of the limit taken: by a merge even more than all.
  void set(uint64_t count, uint64_t limit, uint64_t taken);

  // A line for each thread, 4 KB in all: for what is large. Without the memory it goes on as
  // it is.
  void spread();
  bool is_spread() const { return spread_ != nullptr; }
  static constexpr uint64_t spread_bytes() { return sizeof(Spread); }

 private:
  // So many times what was wanted is carried to the purse with it, up to kMostCarried.
  static constexpr uint64_t kSpare = 64;
  static constexpr uint64_t kMostCarried = 1024;
  static constexpr uint32_t kUsedBits = 48;
  static constexpr uint64_t kMostUsed = uint64_t{1} << (kUsedBits - 1);

  struct Shared {
    std::atomic<int64_t> room{0};  // below the limit, and not in a purse
    std::atomic<uint64_t> base{0};
  };
  // What is left above what was used: both change by one store, or one compare-and-swap.
  struct alignas(64) Purse {
    std::atomic<uint64_t> word{0};
  };
  struct Spread {
    alignas(64) Shared shared;
    std::array<Purse, kThreadSlots + 1> purses;  // the last is for who has no slot
  };

  static uint64_t left(uint64_t word) { return word >> kUsedBits; }
  static uint64_t used(uint64_t word) { return word & ((uint64_t{1} << kUsedBits) - 1); }
  // What a word changes by when so much is paid from it, and when it is put in.
  static uint64_t paid(uint64_t amount) { return amount - (amount << kUsedBits); }
  static uint64_t put_in(uint64_t amount) { return amount << kUsedBits; }

  // The purse that this thread pays from, and whether nobody else does.
  struct UsedPurse {
    std::atomic<uint64_t>& word;
    bool own;
  };
  UsedPurse used_purse() {
    if (spread_ == nullptr) return {common_purse_, false};
    const size_t slot = thread_slot();
    return {spread_->purses[slot].word, slot < kThreadSlots};
  }
  bool pay(uint64_t wanted) {
    const UsedPurse purse = used_purse();
    uint64_t word = purse.word.load(std::memory_order_relaxed);
    while (left(word) >= wanted) {
      if (change_purse(purse, word, word + paid(wanted))) return true;
    }
    return false;
  }
  // False, and `word` as it is now, if somebody else was faster.
  static bool change_purse(UsedPurse purse, uint64_t& word, uint64_t to) {
    if (!purse.own) {
      return purse.word.compare_exchange_weak(word, to, std::memory_order_relaxed);
    }
    purse.word.store(to, std::memory_order_relaxed);
    return true;
  }
  Shared& shared() const { return spread_ == nullptr ? shared_ : spread_->shared; }
  template <typename Visit>
  void for_each_purse(Visit&& visit) const;

  bool take_more(uint64_t wanted);
  uint64_t take_from_room(uint64_t least, uint64_t most);
  uint64_t spare_for(uint64_t wanted) const;
  uint64_t empty_purse();
  bool put_into_purse(uint64_t spent, uint64_t unspent);
  void change_room(int64_t by) { shared().room.fetch_add(by, std::memory_order_relaxed); }

  std::unique_ptr<Spread> spread_;
  // While it is not spread.
  mutable Shared shared_;
  mutable std::atomic<uint64_t> common_purse_{0};
};

}  // namespace iris::filters
