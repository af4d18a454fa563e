#include "filters/item_counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace iris::filters {
namespace {

// Takes until there is nothing left, one to three at a time; returns how many it got.
uint64_t take_all(ItemCounter& counter) {
  uint64_t got = 0;
  for (uint64_t wanted = 1;; wanted = wanted % 3 + 1) {
    const uint64_t some = counter.take(wanted);
    EXPECT_LE(some, wanted);
    if (some == 0) return got;
    got += some;
  }
}

class ItemCounterTest : public ::testing::TestWithParam<bool> {};

TEST_P(ItemCounterTest, GivesOutEveryPlaceAndNoMore) {
  for (const uint64_t capacity : {0u, 1u, 2u, 5u, 100u, 3000u, 100000u}) {
    ItemCounter counter(capacity, GetParam());
    EXPECT_EQ(counter.count(), 0u);
    EXPECT_EQ(take_all(counter), capacity);
    EXPECT_EQ(counter.count(), capacity);
    EXPECT_EQ(counter.take(1), 0u);
  }
}

TEST_P(ItemCounterTest, CountsWhatWasTakenAndNotWhatLiesInAPurse) {
  ItemCounter counter(1000000, GetParam());
  uint64_t taken = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t wanted = i % 10 == 0 ? ItemCounter::kMostWanted : i % 7 + 1;
    taken += counter.take(wanted);
    ASSERT_EQ(counter.count(), taken);
  }
}

TEST_P(ItemCounterTest, GoesOnFromWhatWasSet) {
  ItemCounter counter(1000, GetParam());
  ASSERT_EQ(counter.take(10), 10u);
  counter.set(900);
  EXPECT_EQ(counter.count(), 900u);
  EXPECT_EQ(take_all(counter), 100u);
  counter.set(5000);  // by a merge
  EXPECT_EQ(counter.count(), 5000u);
  EXPECT_EQ(counter.take(1), 0u);
}

// A file may say so, and a layer of explicit dimensions takes more all the same.
TEST_P(ItemCounterTest, GoesOnFromAnyNumber) {
  constexpr uint64_t kHuge = uint64_t{1} << 52;
  for (const uint64_t loaded : {kHuge - 1, kHuge, 5 * kHuge}) {
    ItemCounter counter(UINT64_MAX, GetParam());
    counter.set(loaded);
    EXPECT_EQ(counter.count(), loaded);
    EXPECT_EQ(counter.take(3), 3u);
    EXPECT_EQ(counter.count(), loaded + 3);
  }
}

TEST_P(ItemCounterTest, LosesNoPlaceAmongThreads) {
  constexpr int kRounds = 200;
  constexpr size_t kThreads = 4;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t capacity = 1000 + static_cast<uint64_t>(round) * 37;
    ItemCounter counter(capacity, GetParam());
    std::atomic<uint64_t> got{0};
    std::atomic<size_t> running{kThreads};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        got += take_all(counter);
        --running;
      });
    }
    // A number that falls would be an item that was there and is gone.
    for (uint64_t last = 0; running > 0;) {
      const uint64_t now = counter.count();
      ASSERT_GE(now, last);
      ASSERT_LE(now, capacity);
      last = now;
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(got, capacity);
    ASSERT_EQ(counter.count(), capacity);
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutPurses, ItemCounterTest, ::testing::Bool());

}  // namespace
}  // namespace iris::filters
