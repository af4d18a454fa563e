#include "filters/item_counter.h"

namespace iris::filters {

std::atomic<uint64_t>& ItemCounter::own_purse() {
  static std::atomic<size_t> next{0};
  thread_local const size_t mine = next.fetch_add(1, std::memory_order_relaxed) % kPurses;
  return (*purses_)[mine].word;
}

uint64_t ItemCounter::take_shared(uint64_t wanted) {
  uint64_t taken = taken_.load(std::memory_order_relaxed);
  uint64_t granted = 0;
  do {
    if (taken >= capacity_) return 0;
    granted = std::min(wanted, capacity_ - taken);
  } while (!taken_.compare_exchange_weak(taken, taken + granted, std::memory_order_relaxed));
  return granted;
}

uint64_t ItemCounter::refill(std::atomic<uint64_t>& purse, uint64_t wanted) {
  const uint64_t taken = taken_.load(std::memory_order_relaxed);
  const bool plenty = taken < capacity_ && capacity_ - taken > kNearTheEnd;
  const uint64_t spare = plenty ? kSpare : 0;
  uint64_t granted = take_shared(wanted + spare);
  const uint64_t unused = granted - std::min(granted, wanted);
  granted -= unused;
  if (granted < wanted) granted += collect(wanted - granted);
  purse.fetch_add(granted + put_in(unused), std::memory_order_relaxed);
  return granted;
}

// What is left in any purse, up to `wanted`.
uint64_t ItemCounter::collect(uint64_t wanted) {
  uint64_t found = 0;
  for (Purse& purse : *purses_) {
    uint64_t word = purse.word.load(std::memory_order_relaxed);
    uint64_t some = std::min(left(word), wanted - found);
    while (some != 0 && !purse.word.compare_exchange_weak(word, word - put_in(some),
                                                          std::memory_order_relaxed)) {
      some = std::min(left(word), wanted - found);
    }
    found += some;
  }
  return found;
}

uint64_t ItemCounter::count() const {
  if (purses_ == nullptr) return taken_.load(std::memory_order_relaxed);
  uint64_t count = base_;
  for (const Purse& purse : *purses_) count += used(purse.word.load(std::memory_order_relaxed));
  return count;
}

void ItemCounter::set(uint64_t count) {
  taken_.store(count, std::memory_order_relaxed);
  if (purses_ == nullptr) return;
  for (Purse& purse : *purses_) purse.word.store(0, std::memory_order_relaxed);
  base_ = count;
}

}  // namespace iris::filters
