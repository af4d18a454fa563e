// A number that several threads raise together, up to a limit: the items of a layer, the sum of a
// filter's counts.
//
// One word that every change writes would be the one cache line that all cores fight for: two
// threads that only add were 1.1 times as fast as one, and two that only count 0.85 times. So what
// is left below the limit is handed out some at a time, into purses, and each thread pays from the
// purse that it was given:
//
//     room   --- 17 times what is wanted ->  purse 0   left | used
//            ----------------------------->  purse 1   left | used
//                                            ...
//     count() = base + all used
//
// A purse is one word, what is left above what was used, so that paying is one compare-and-swap.
// Who finds too little left below the limit collects what lies in the purses: none of it is lost.
// What is large, or was loaded or merged, goes to the base, apart from them: it may be more than a
// purse can count. A small layer or filter has one purse for all threads; spread() makes it 16.
//
// Threads: all but set() and spread() are concurrent.
//
// Invariants
//   1. By take() and take_all() the room never falls below 0, and count() never falls.
//   2. limit = room + all left + count() - all that was freed, but for what a thread is just
//      carrying to its purse. Who looks for the last of it in that moment may miss it; so near the
//      end nothing is carried that was not asked for.
//   3. Who sees the change of one thread sees all changes that this thread saw before it: count()
//      reads the base first, and only the base is ever lowered.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace iris::filters {

class BoundedCounter {
 public:
  // The most for take().
  static constexpr uint64_t kMostWanted = 1024;
  // Where there is no limit, kNoLimit; a greater one is the same.
  static constexpr uint64_t kNoLimit = INT64_MAX;

  explicit BoundedCounter(uint64_t limit) { set(0, limit, 0); }

  // Raises the number by up to `wanted`; returns by how much.
  [[nodiscard]] uint64_t take(uint64_t wanted) { return pay(wanted) ? wanted : take_more(wanted); }
  // By `wanted`, which may be any number, or not at all.
  [[nodiscard]] bool take_all(uint64_t wanted) { return pay(wanted) || take_all_more(wanted); }
  // Leaves the number as it is, and lets it grow by so much more.
  void free(uint64_t amount) { change_room(static_cast<int64_t>(amount)); }
  // Moves it, and with it the room, wherever the limit is.
  void change(int64_t by);

  uint64_t count() const;
  // Sets it, with so much of the limit taken: by a merge even more than all.
  void set(uint64_t count, uint64_t limit, uint64_t taken);

  // A line for each thread, a kilobyte in all: for what is large. Without the memory it goes on as
  // it is.
  void spread();
  bool is_spread() const { return spread_ != nullptr; }
  static constexpr uint64_t spread_bytes() { return sizeof(Spread); }

 private:
  static constexpr size_t kPurses = 16;
  static constexpr uint64_t kSpare = 16;  // times what was wanted
  static constexpr uint32_t kUsedBits = 48;
  static constexpr uint64_t kMostUsed = uint64_t{1} << (kUsedBits - 1);

  struct Shared {
    std::atomic<int64_t> room{0};  // below the limit, and not in a purse
    std::atomic<uint64_t> base{0};
  };
  struct alignas(64) Purse {
    std::atomic<uint64_t> word{0};
  };
  struct Spread {
    alignas(64) Shared shared;
    std::array<Purse, kPurses> purses;
  };

  static uint64_t left(uint64_t word) { return word >> kUsedBits; }
  static uint64_t used(uint64_t word) { return word & ((uint64_t{1} << kUsedBits) - 1); }
  // What a word changes by when so much is paid from it, and when it is put in.
  static uint64_t paid(uint64_t amount) { return amount - (amount << kUsedBits); }
  static uint64_t put_in(uint64_t amount) { return amount << kUsedBits; }

  bool pay(uint64_t wanted) {
    std::atomic<uint64_t>& purse = own_purse();
    uint64_t word = purse.load(std::memory_order_relaxed);
    while (left(word) >= wanted) {
      if (purse.compare_exchange_weak(word, word + paid(wanted), std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  Shared& shared() const { return spread_ == nullptr ? shared_ : spread_->shared; }
  std::atomic<uint64_t>& own_purse() { return spread_ == nullptr ? purse_ : own_spread_purse(); }
  std::atomic<uint64_t>& own_spread_purse();
  template <typename Visit>
  void for_each_purse(Visit&& visit) const;

  uint64_t take_more(uint64_t wanted);
  bool take_all_more(uint64_t wanted);
  void change_room(int64_t by) { shared().room.fetch_add(by, std::memory_order_relaxed); }
  uint64_t take_shared(uint64_t least, uint64_t most);
  uint64_t spare_for(uint64_t wanted) const;
  uint64_t collect(uint64_t wanted);
  void book(uint64_t taken, uint64_t unused);

  std::unique_ptr<Spread> spread_;
  // While it is not spread.
  mutable Shared shared_;
  mutable std::atomic<uint64_t> purse_{0};
};

}  // namespace iris::filters
