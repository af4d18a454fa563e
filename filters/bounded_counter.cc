#include "filters/bounded_counter.h"

#include <new>
#include <utility>

namespace iris::filters {

std::atomic<uint64_t>& BoundedCounter::own_spread_purse() {
  static std::atomic<size_t> next{0};
  thread_local const size_t mine = next.fetch_add(1, std::memory_order_relaxed) % kPurses;
  return spread_->purses[mine].word;
}

template <typename Visit>
void BoundedCounter::for_each_purse(Visit&& visit) const {
  if (spread_ == nullptr) return visit(purse_);
  for (Purse& purse : spread_->purses) visit(purse.word);
}

// At least `least` and up to `most`, or nothing.
uint64_t BoundedCounter::take_shared(uint64_t least, uint64_t most) {
  int64_t room = shared().room.load(std::memory_order_relaxed);
  int64_t granted = 0;
  do {
    if (room <= 0 || static_cast<uint64_t>(room) < least) return 0;
    granted = static_cast<int64_t>(std::min(most, static_cast<uint64_t>(room)));
  } while (!shared().room.compare_exchange_weak(room, room - granted, std::memory_order_relaxed));
  return static_cast<uint64_t>(granted);
}

// How much to carry to the purse beside what is wanted.
uint64_t BoundedCounter::spare_for(uint64_t wanted) const {
  if (wanted > kMostWanted) return 0;
  const uint64_t spare = std::min(kSpare * wanted, kMostWanted);
  const uint64_t purses = spread_ == nullptr ? 1 : kPurses;
  const int64_t room = shared().room.load(std::memory_order_relaxed);
  return room > static_cast<int64_t>(4 * purses * spare) ? spare : 0;
}

// Counts what was taken, and puts what was not used into the purse.
void BoundedCounter::book(uint64_t taken, uint64_t unused) {
  std::atomic<uint64_t>& purse = own_purse();
  if (taken <= kMostWanted && used(purse.load(std::memory_order_relaxed)) < kMostUsed) {
    purse.fetch_add(taken + put_in(unused), std::memory_order_relaxed);
    return;
  }
  shared().base.fetch_add(taken, std::memory_order_relaxed);
  free(unused);
}

// Rare, and kept out of an add, which is compiled in one piece.
[[gnu::noinline]] uint64_t BoundedCounter::take_more(uint64_t wanted) {
  const uint64_t granted = take_shared(1, wanted + spare_for(wanted));
  uint64_t taken = std::min(granted, wanted);
  const uint64_t unused = granted - taken;
  if (taken < wanted) taken += collect(wanted - taken);
  if (taken != 0) book(taken, unused);
  return taken;
}

bool BoundedCounter::take_all_more(uint64_t wanted) {
  uint64_t granted = take_shared(wanted, wanted + spare_for(wanted));
  if (granted == 0) {
    free(collect(UINT64_MAX));
    granted = take_shared(wanted, wanted);
    if (granted == 0) return false;
  }
  book(wanted, granted - wanted);
  return true;
}

// What is left in any purse, up to `wanted`.
uint64_t BoundedCounter::collect(uint64_t wanted) {
  uint64_t found = 0;
  for_each_purse([&](std::atomic<uint64_t>& purse) {
    uint64_t word = purse.load(std::memory_order_relaxed);
    uint64_t some = std::min(left(word), wanted - found);
    while (some != 0 &&
           !purse.compare_exchange_weak(word, word - put_in(some), std::memory_order_relaxed)) {
      some = std::min(left(word), wanted - found);
    }
    found += some;
  });
  return found;
}

void BoundedCounter::change(int64_t by) {
  change_room(-by);
  shared().base.fetch_add(static_cast<uint64_t>(by), std::memory_order_release);
}

uint64_t BoundedCounter::count() const {
  uint64_t count = shared().base.load(std::memory_order_acquire);
  for_each_purse([&](const std::atomic<uint64_t>& purse) {
    count += used(purse.load(std::memory_order_relaxed));
  });
  return count;
}

void BoundedCounter::set(uint64_t count, uint64_t limit, uint64_t taken) {
  for_each_purse([](std::atomic<uint64_t>& purse) { purse.store(0, std::memory_order_relaxed); });
  shared().base.store(count, std::memory_order_relaxed);
  const auto most = static_cast<int64_t>(std::min(limit, kNoLimit));
  shared().room.store(most - static_cast<int64_t>(taken), std::memory_order_relaxed);
}

void BoundedCounter::spread() {
  if (spread_ != nullptr) return;
  free(collect(UINT64_MAX));
  std::unique_ptr<Spread> spread(new (std::nothrow) Spread);
  if (spread == nullptr) return;
  spread->shared.base = count();
  spread->shared.room = shared_.room.load();
  spread_ = std::move(spread);
}

}  // namespace iris::filters
