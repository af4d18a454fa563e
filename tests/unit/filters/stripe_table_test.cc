#include "filters/stripe_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace iris::filters {
namespace {

TEST(StripeTable, ExcludesWritersOfOneStripe) {
  auto table = std::make_unique<StripeTable>();
  constexpr int kThreads = 4;
  constexpr uint64_t kRounds = 50'000;
  uint64_t counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kRounds; ++i) {
        StripeGuard guard(*table, StripeTable::index_of(7, 3));
        ++counter;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter, kThreads * kRounds);
}

TEST(StripeTable, WhoReadsWithoutAStripeLearnsThatItWasTaken) {
  auto table = std::make_unique<StripeTable>();
  const auto before = table->moment(5);
  ASSERT_TRUE(before);
  EXPECT_TRUE(table->unchanged_since(5, *before));
  {
    StripeGuard guard(*table, 5);
    EXPECT_FALSE(table->moment(5)) << "it is held";
    EXPECT_FALSE(table->unchanged_since(5, *before));
    EXPECT_FALSE(table->try_lock(5));
    EXPECT_TRUE(table->moment(6)) << "the others are not";
  }
  EXPECT_TRUE(table->moment(5));
  EXPECT_FALSE(table->unchanged_since(5, *before)) << "it was";
}

TEST(StripeTable, IsTakenAsItWasSeenOnlyIfNobodyHadItSince) {
  auto table = std::make_unique<StripeTable>();
  const auto seen = table->moment(5);
  ASSERT_TRUE(seen);
  ASSERT_TRUE(table->lock_unchanged_since(5, *seen));
  EXPECT_FALSE(table->moment(5)) << "it is held now";
  EXPECT_FALSE(table->lock_unchanged_since(5, *seen)) << "by somebody else";
  { const StripeGuard guard(*table, 5, std::adopt_lock); }
  EXPECT_TRUE(table->moment(5)) << "the guard has let it go";
  EXPECT_FALSE(table->lock_unchanged_since(5, *seen)) << "it was held meanwhile";
}

TEST(StripeTable, GuardsTakeNothingWhileItIsNotShared) {
  auto table = std::make_unique<StripeTable>();
  EXPECT_TRUE(table->shared()) << "unless it is told otherwise";
  const auto before = table->moment(5);
  ASSERT_TRUE(before);
  StripeSet set;
  set.add(5);
  table->set_shared(false);
  { const StripeGuard guard(*table, 5); }
  { const StripeSetGuard guard(*table, set); }
  EXPECT_TRUE(table->unchanged_since(5, *before));
  table->set_shared(true);
  { const StripeSetGuard guard(*table, set); }
  EXPECT_FALSE(table->unchanged_since(5, *before));
}

TEST(StripeTable, SetsThatOverlapNeverDeadlock) {
  auto table = std::make_unique<StripeTable>();
  std::vector<uint64_t> counters(StripeTable::kStripes, 0);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      uint64_t state = t + 1;
      for (int round = 0; round < 5'000; ++round) {
        StripeSet set;
        for (int i = 0; i < 16; ++i) {
          state = state * 6364136223846793005ULL + 1442695040888963407ULL;
          set.add(static_cast<uint32_t>(state >> 58));  // only 64 stripes, so that they collide
        }
        StripeSetGuard guard(*table, set);
        set.for_each([&](uint32_t index) { ++counters[index]; });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (uint32_t i = 0; i < StripeTable::kStripes; ++i) EXPECT_TRUE(table->try_lock(i)) << i;
}

TEST(StripeTable, SpreadsTheChunksOfAFilterOverConsecutiveStripes) {
  const uint32_t first = StripeTable::index_of(99, 0);
  EXPECT_EQ(StripeTable::index_of(99, 1), (first + 1) % StripeTable::kStripes);
  EXPECT_EQ(StripeTable::index_of(99, 1024), first);
  std::set<uint32_t> bases;
  for (uint64_t id = 0; id < 1000; ++id) bases.insert(StripeTable::index_of(id, 0));
  EXPECT_GT(bases.size(), 600u);
}

TEST(StripeSet, HoldsEachStripeOfAFilterOnce) {
  StripeSet three;
  three.add_filter(5, 3);
  three.add_filter(5, 3);
  EXPECT_EQ(three.size(), 3u);
  for (uint64_t chunk = 0; chunk < 3; ++chunk) {
    EXPECT_TRUE(three.has(StripeTable::index_of(5, chunk)));
  }
  StripeSet all;
  all.add_filter(5, uint64_t{1} << 50);
  EXPECT_EQ(all.size(), StripeTable::kStripes);
}

TEST(StripeSet, VisitsInAscendingOrder) {
  StripeSet set;
  for (const uint32_t index : {1023u, 0u, 64u, 63u, 512u, 64u}) set.add(index);
  std::vector<uint32_t> seen;
  set.for_each([&](uint32_t index) { seen.push_back(index); });
  EXPECT_EQ(seen, (std::vector<uint32_t>{0, 63, 64, 512, 1023}));
}

}  // namespace
}  // namespace iris::filters
