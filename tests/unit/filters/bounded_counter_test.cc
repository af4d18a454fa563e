#include "filters/bounded_counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace iris::filters {
namespace {

// Takes until there is nothing left, one to three at a time; returns how many it got.
uint64_t take_all(BoundedCounter& counter) {
  uint64_t got = 0;
  for (uint64_t wanted = 1;; wanted = wanted % 3 + 1) {
    const uint64_t some = counter.take(wanted);
    EXPECT_LE(some, wanted);
    if (some == 0) return got;
    got += some;
  }
}

// With one purse for all threads, or spread.
class BoundedCounterTest : public ::testing::TestWithParam<bool> {
 protected:
  static std::unique_ptr<BoundedCounter> counter_of(uint64_t limit) {
    auto counter = std::make_unique<BoundedCounter>(limit);
    if (GetParam()) counter->spread();
    return counter;
  }
};

TEST_P(BoundedCounterTest, GivesOutEveryPlaceAndNoMore) {
  for (const uint64_t capacity : {0u, 1u, 2u, 5u, 100u, 3000u, 100000u}) {
    const auto made = counter_of(capacity);
    BoundedCounter& counter = *made;
    EXPECT_EQ(counter.count(), 0u);
    EXPECT_EQ(take_all(counter), capacity);
    EXPECT_EQ(counter.count(), capacity);
    EXPECT_EQ(counter.take(1), 0u);
  }
}

TEST_P(BoundedCounterTest, CountsWhatWasTakenAndNotWhatLiesInAPurse) {
  const auto made = counter_of(1000000);
  BoundedCounter& counter = *made;
  uint64_t taken = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t wanted = i % 10 == 0 ? BoundedCounter::kMostWanted : i % 7 + 1;
    taken += counter.take(wanted);
    ASSERT_EQ(counter.count(), taken);
  }
}

TEST_P(BoundedCounterTest, GoesOnFromWhatWasSet) {
  const auto made = counter_of(1000);
  BoundedCounter& counter = *made;
  ASSERT_EQ(counter.take(10), 10u);
  counter.set(900, 1000, 900);
  EXPECT_EQ(counter.count(), 900u);
  EXPECT_EQ(take_all(counter), 100u);
  counter.set(5000, 1000, 5000);  // by a merge
  EXPECT_EQ(counter.count(), 5000u);
  EXPECT_EQ(counter.take(1), 0u);
}

// A file may say so, and a layer of explicit dimensions takes more all the same.
TEST_P(BoundedCounterTest, GoesOnFromAnyNumber) {
  constexpr uint64_t kHuge = uint64_t{1} << 52;
  for (const uint64_t loaded : {kHuge - 1, kHuge, 5 * kHuge}) {
    const auto made = counter_of(UINT64_MAX);
    BoundedCounter& counter = *made;
    counter.set(loaded, UINT64_MAX, loaded);
    EXPECT_EQ(counter.count(), loaded);
    EXPECT_EQ(counter.take(3), 3u);
    EXPECT_EQ(counter.count(), loaded + 3);
  }
}

TEST_P(BoundedCounterTest, TakesAllOrNothing) {
  for (const uint64_t limit : {uint64_t{5000}, uint64_t{1} << 50, (uint64_t{1} << 63) - 1}) {
    const auto made = counter_of(limit);
    BoundedCounter& counter = *made;
    EXPECT_TRUE(counter.take_all(1));
    EXPECT_FALSE(counter.take_all(limit));
    EXPECT_EQ(counter.count(), 1u);
    EXPECT_TRUE(counter.take_all(limit - 3)) << "what lies in a purse is found";
    EXPECT_FALSE(counter.take_all(3));
    EXPECT_TRUE(counter.take_all(2));
    EXPECT_EQ(counter.count(), limit);
    EXPECT_FALSE(counter.take_all(1));
    counter.free(limit);
    EXPECT_EQ(counter.count(), limit) << "freed is not uncounted";
    EXPECT_TRUE(counter.take_all(limit));
    EXPECT_EQ(counter.count(), 2 * limit);
  }
}

TEST_P(BoundedCounterTest, ChangesPassTheLimitAndComeBack) {
  const auto made = counter_of(100);
  BoundedCounter& counter = *made;
  EXPECT_EQ(counter.take(60), 60u);
  counter.change(50);
  EXPECT_EQ(counter.count(), 110u);
  EXPECT_EQ(counter.take(1), 0u);
  EXPECT_FALSE(counter.take_all(1));
  counter.change(-90);
  EXPECT_EQ(counter.count(), 20u);
  EXPECT_EQ(take_all(counter), 80u);
}

TEST(BoundedCounter, KeepsItsNumberWhenItIsSpread) {
  BoundedCounter counter(100000);
  ASSERT_TRUE(counter.take_all(7));
  ASSERT_TRUE(counter.take_all(40000));
  counter.spread();
  EXPECT_TRUE(counter.is_spread());
  EXPECT_EQ(counter.count(), 40007u);
  EXPECT_EQ(take_all(counter), 100000u - 40007u);
}

// Each takes and frees what it took, so there is always room for all but one.
TEST_P(BoundedCounterTest, RefusesNobodyForWhomThereIsRoom) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kAmount = uint64_t{1} << 40;
  const auto made = counter_of(kThreads * kAmount);
  std::atomic<uint64_t> refused{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        if (!made->take_all(kAmount)) ++refused;
        if (made->take_all(kThreads * kAmount)) ++refused;  // never all of it: this one has some
        made->free(kAmount);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(made->count(), kThreads * kAmount * 20000);
}

TEST_P(BoundedCounterTest, LosesNoPlaceAmongThreads) {
  constexpr int kRounds = 200;
  constexpr size_t kThreads = 4;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t capacity = 1000 + static_cast<uint64_t>(round) * 37;
    const auto made = counter_of(capacity);
    BoundedCounter& counter = *made;
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

INSTANTIATE_TEST_SUITE_P(OneAndSpread, BoundedCounterTest, ::testing::Bool());

}  // namespace
}  // namespace iris::filters
