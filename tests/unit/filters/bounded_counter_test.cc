#include "filters/bounded_counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "filters/stripe_table.h"

namespace iris::filters {
namespace {

// Takes until there is nothing left, one to three at a time; returns how many it got.
uint64_t take_until_refused(BoundedCounter& counter) {
  uint64_t got = 0;
  for (uint64_t wanted = 1;; wanted = wanted % 3 + 1) {
    if (counter.take(wanted)) {
      got += wanted;
    } else if (wanted == 1) {
      return got;
    }
  }
}

// By another thread, which leaves something in its purse.
void take_elsewhere(BoundedCounter& counter, uint64_t wanted) {
  std::thread([&] { EXPECT_TRUE(counter.take(wanted)); }).join();
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
    EXPECT_EQ(take_until_refused(counter), capacity);
    EXPECT_EQ(counter.count(), capacity);
    EXPECT_FALSE(counter.take(1));
    EXPECT_FALSE(counter.gather_helps(1));
  }
}

TEST_P(BoundedCounterTest, CountsWhatWasTakenAndNotWhatLiesInAPurse) {
  const auto made = counter_of(1000000);
  BoundedCounter& counter = *made;
  uint64_t taken = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t wanted = i % 10 == 0 ? 900 : i % 7 + 1;
    ASSERT_TRUE(counter.take(wanted)) << i;
    taken += wanted;
    ASSERT_EQ(counter.count(), taken);
    if (i % 100 == 0) counter.gather();
    ASSERT_EQ(counter.count(), taken);
  }
}

TEST_P(BoundedCounterTest, GoesOnFromWhatWasSet) {
  const auto made = counter_of(1000);
  BoundedCounter& counter = *made;
  ASSERT_TRUE(counter.take(10));
  counter.set(900, 1000, 900);
  EXPECT_EQ(counter.count(), 900u);
  EXPECT_EQ(take_until_refused(counter), 100u);
  counter.set(5000, 1000, 5000);  // by a merge
  EXPECT_EQ(counter.count(), 5000u);
  EXPECT_FALSE(counter.take(1));
  EXPECT_FALSE(counter.gather_helps(1));
}

// A file may say so, and a layer of explicit dimensions takes more all the same.
TEST_P(BoundedCounterTest, GoesOnFromAnyNumber) {
  constexpr uint64_t kHuge = uint64_t{1} << 52;
  for (const uint64_t loaded : {kHuge - 1, kHuge, 5 * kHuge}) {
    const auto made = counter_of(UINT64_MAX);
    BoundedCounter& counter = *made;
    counter.set(loaded, UINT64_MAX, loaded);
    EXPECT_EQ(counter.count(), loaded);
    EXPECT_TRUE(counter.take(3));
    EXPECT_EQ(counter.count(), loaded + 3);
  }
}

TEST_P(BoundedCounterTest, TakesAllOrNothing) {
  for (const uint64_t limit : {uint64_t{50000}, uint64_t{1} << 50, (uint64_t{1} << 63) - 1}) {
    const auto made = counter_of(limit);
    BoundedCounter& counter = *made;
    EXPECT_TRUE(counter.take(1));
    EXPECT_FALSE(counter.take(limit));
    EXPECT_EQ(counter.count(), 1u);
    EXPECT_TRUE(counter.take(limit - 3)) << "what lies in a purse is found";
    EXPECT_FALSE(counter.take(3));
    EXPECT_TRUE(counter.take(2));
    EXPECT_EQ(counter.count(), limit);
    EXPECT_FALSE(counter.take(1));
    counter.free(limit);
    EXPECT_EQ(counter.count(), limit) << "freed is not uncounted";
    EXPECT_TRUE(counter.take(limit));
    EXPECT_EQ(counter.count(), 2 * limit);
  }
}

TEST_P(BoundedCounterTest, ChangesPassTheLimitAndComeBack) {
  const auto made = counter_of(100);
  BoundedCounter& counter = *made;
  EXPECT_TRUE(counter.take(60));
  counter.change(50);
  EXPECT_EQ(counter.count(), 110u);
  EXPECT_FALSE(counter.take(1));
  counter.change(-90);
  EXPECT_EQ(counter.count(), 20u);
  EXPECT_EQ(take_until_refused(counter), 80u);
}

TEST(BoundedCounter, KeepsItsNumberWhenItIsSpread) {
  BoundedCounter counter(100000);
  ASSERT_TRUE(counter.take(7));
  ASSERT_TRUE(counter.take(40000));
  counter.spread();
  EXPECT_TRUE(counter.is_spread());
  EXPECT_EQ(counter.count(), 40007u);
  EXPECT_EQ(take_until_refused(counter), 100000u - 40007u);
}

TEST(BoundedCounter, GathersWhatOthersHaveLeft) {
  constexpr uint64_t kLimit = 100000;
  BoundedCounter counter(kLimit);
  counter.spread();
  ASSERT_TRUE(counter.take(1));  // so this thread has a slot, and the others do not get it
  for (const uint64_t wanted : {1u, 5u, 1000u}) take_elsewhere(counter, wanted);
  const uint64_t rest = kLimit - counter.count();
  EXPECT_FALSE(counter.gather_helps(1)) << "there is room without it";
  EXPECT_TRUE(counter.gather_helps(rest));
  EXPECT_FALSE(counter.gather_helps(rest + 1));
  EXPECT_FALSE(counter.take(rest)) << "some of it lies in a purse";
  counter.gather();
  EXPECT_EQ(counter.count(), kLimit - rest);
  EXPECT_FALSE(counter.gather_helps(rest));
  EXPECT_TRUE(counter.take(rest));
  EXPECT_EQ(counter.count(), kLimit);
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
        if (!made->take(kAmount)) ++refused;
        if (made->take(kThreads * kAmount)) ++refused;  // never all of it: this one has some
        made->free(kAmount);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(made->count(), kThreads * kAmount * 20000);
}

// As a filter does it: one stripe to take, all of them to gather.
uint64_t take_and_gather(BoundedCounter& counter, StripeTable& stripes, const StripeSet& all,
                         uint32_t stripe) {
  uint64_t got = 0;
  for (uint64_t wanted = 1;; wanted = wanted % 3 + 1) {
    bool taken = false;
    {
      const StripeGuard guard(stripes, stripe);
      taken = counter.take(wanted);
    }
    if (taken) {
      got += wanted;
    } else if (counter.gather_helps(wanted)) {
      const StripeSetGuard guard(stripes, all);
      counter.gather();
    } else if (wanted == 1) {
      return got;
    }
  }
}

// More of them than have a purse.
TEST_P(BoundedCounterTest, LosesNoPlaceAmongThreads) {
  constexpr uint64_t kRounds = 100;
  static StripeTable stripes;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint32_t thread_count = round % 10 == 0 ? kThreadSlots + 4 : 4;
    const uint64_t capacity = 1000 + round * 1000;
    const auto made = counter_of(capacity);
    BoundedCounter& counter = *made;
    StripeSet all;
    for (uint32_t t = 0; t < thread_count; ++t) all.add(t);
    std::atomic<uint64_t> got{0};
    std::atomic<size_t> running{thread_count};
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < thread_count; ++t) {
      threads.emplace_back([&, t] {
        got += take_and_gather(counter, stripes, all, t);
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
