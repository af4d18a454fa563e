// How many items a layer holds, counted up to its capacity by several threads at once.
//
// One number that every add of a new item changes would be the one cache line that all cores fight
// for: two threads that only add were 1.1 times as fast as one. So a large layer hands out places
// some at a time, into purses, and each thread pays from the purse that it was given:
//
//     places taken  <-- 17 at a time --  purse 0   left | used
//                   <-----------------   purse 1   left | used      count() = base + all used
//                                        ...
//
// A purse is one word, what is left above what was used, so that paying is one compare-and-swap. A
// thread that finds all places taken collects what is left in the other purses: no place is lost.
// What was loaded or merged is the base, apart from them: it may be larger than a purse can count.
//
// Threads: take() and count() are concurrent, the rest is for who has the layer alone.
//
// Invariants
//   1. count() never falls, and by take() it never passes the capacity.
//   2. Places taken = base + all used + all left, but for those that a thread is just carrying to its
//      purse. Who looks for the last place in that moment may miss them; so near the end places are
//      handed out one by one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace iris::filters {

class ItemCounter {
 public:
  // The most that may be taken at a time.
  static constexpr uint64_t kMostWanted = 1024;

  // `purses`: whether the layer is worth them.
  ItemCounter(uint64_t capacity, bool purses)
      : capacity_(capacity), purses_(purses ? std::make_unique<Purses>() : nullptr) {}

  // Takes places for up to `wanted` items; returns how many it got.
  [[nodiscard]] uint64_t take(uint64_t wanted) {
    if (purses_ == nullptr) return take_shared(wanted);
    std::atomic<uint64_t>& purse = own_purse();
    uint64_t word = purse.load(std::memory_order_relaxed);
    while (left(word) >= wanted) {
      if (purse.compare_exchange_weak(word, word + paid(wanted), std::memory_order_relaxed)) {
        return wanted;
      }
    }
    return refill(purse, wanted);
  }

  uint64_t count() const;
  void set(uint64_t count);

  // What purses take.
  static uint64_t purse_bytes() { return sizeof(Purses); }

 private:
  static constexpr size_t kPurses = 16;
  static constexpr uint64_t kSpare = 16;
  static constexpr uint64_t kNearTheEnd = 4 * kPurses * kSpare + kMostWanted;
  static constexpr uint32_t kUsedBits = 52;

  struct alignas(64) Purse {
    std::atomic<uint64_t> word{0};
  };
  using Purses = std::array<Purse, kPurses>;

  static uint64_t left(uint64_t word) { return word >> kUsedBits; }
  static uint64_t used(uint64_t word) { return word & ((uint64_t{1} << kUsedBits) - 1); }
  // What a word changes by when so many places are paid from it, and when they are put in.
  static uint64_t paid(uint64_t places) { return places - (places << kUsedBits); }
  static uint64_t put_in(uint64_t places) { return places << kUsedBits; }

  std::atomic<uint64_t>& own_purse();
  uint64_t take_shared(uint64_t wanted);
  uint64_t refill(std::atomic<uint64_t>& purse, uint64_t wanted);
  uint64_t collect(uint64_t wanted);

  const uint64_t capacity_;
  uint64_t base_ = 0;
  std::atomic<uint64_t> taken_{0};
  const std::unique_ptr<Purses> purses_;
};

}  // namespace iris::filters
