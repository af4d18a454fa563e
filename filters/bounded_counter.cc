#include "filters/bounded_counter.h"

#include <algorithm>
#include <new>
#include <utility>

namespace iris::filters {

template <typename Visit>
void BoundedCounter::for_each_purse(Visit&& visit) const {
  if (spread_ == nullptr) return visit(common_purse_);
  for (size_t slot = 0; slot < unused_thread_slot(); ++slot) visit(spread_->purses[slot].word);
  visit(spread_->purses[kThreadSlots].word);
}

// At least `least` and up to `most`, or nothing.
uint64_t BoundedCounter::take_from_room(uint64_t least, uint64_t most) {
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
  if (wanted > kMostCarried) return 0;
  const uint64_t spare = std::min(kSpare * wanted, kMostCarried);
  const uint64_t purses = spread_ == nullptr ? 1 : unused_thread_slot() + 1;
  const int64_t room = shared().room.load(std::memory_order_relaxed);
  return room > static_cast<int64_t>(4 * purses * spare) ? spare : 0;
}

// Returns what was left in it.
uint64_t BoundedCounter::empty_purse() {
  const UsedPurse purse = used_purse();
  uint64_t word = purse.word.load(std::memory_order_relaxed);
  while (!change_purse(purse, word, used(word))) {
  }
  return left(word);
}

// False if it has counted all that it can.
bool BoundedCounter::put_into_purse(uint64_t spent, uint64_t unspent) {
  const UsedPurse purse = used_purse();
  uint64_t word = purse.word.load(std::memory_order_relaxed);
  do {
    if (used(word) >= kMostUsed) return false;
  } while (!change_purse(purse, word, word + spent + put_in(unspent)));
  return true;
}

// Rare, and kept out of an add, which is compiled in one piece.
[[gnu::noinline]] bool BoundedCounter::take_more(uint64_t wanted) {
  uint64_t granted = take_from_room(wanted, wanted + spare_for(wanted));
  if (granted == 0) {
    free(empty_purse());
    granted = take_from_room(wanted, wanted);
    if (granted == 0) return false;
  }
  const uint64_t unused = granted - wanted;
  if (wanted <= kMostCarried && put_into_purse(wanted, unused)) return true;
  shared().base.fetch_add(wanted, std::memory_order_relaxed);
  free(unused);
  return true;
}

bool BoundedCounter::gather_helps(uint64_t wanted) const {
  const int64_t room = shared().room.load(std::memory_order_relaxed);
  if (room >= 0 && static_cast<uint64_t>(room) >= wanted) return false;
  int64_t with_purses = room;
  for_each_purse([&](const std::atomic<uint64_t>& purse) {
    with_purses += static_cast<int64_t>(left(purse.load(std::memory_order_relaxed)));
  });
  return with_purses >= 0 && static_cast<uint64_t>(with_purses) >= wanted;
}

void BoundedCounter::gather() {
  for_each_purse([this](std::atomic<uint64_t>& purse) {
    const uint64_t word = purse.load(std::memory_order_relaxed);
    purse.store(used(word), std::memory_order_relaxed);
    free(left(word));
  });
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
  std::unique_ptr<Spread> spread(new (std::nothrow) Spread);
  if (spread == nullptr) return;
  gather();
  spread->shared.base = count();
  spread->shared.room = shared_.room.load();
  spread_ = std::move(spread);
}

}  // namespace iris::filters
