// Several increments as one step: all or nothing, and logged as one.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/unit/filters/spectral_test_support.h"

namespace iris::filters {
namespace {

using testing::filter_of;
using testing::item;
using testing::stripes;

std::vector<SpectralIncrement> slice_of(const SpectralFilter& filter, uint64_t first,
                                        uint64_t count, uint64_t amount) {
  std::vector<SpectralIncrement> items;
  for (uint64_t i = first; i < first + count; ++i) items.push_back({item(filter, i), amount});
  return items;
}

TEST(SpectralSlice, CountsAreThoseAfterEachIncrement) {
  for (const auto policy : {SpectralPolicy::kMinimumSelection, SpectralPolicy::kMinimalIncrease}) {
    auto filter = filter_of({.capacity = 1000, .policy = policy});
    const std::vector<SpectralIncrement> items = {
        {item(*filter, 1), 5}, {item(*filter, 2), 300}, {item(*filter, 1), 7}};
    std::vector<uint64_t> counts(3);
    EXPECT_EQ(filter->increment_all(items, counts, stripes()).status, SpectralStatus::kOk);
    EXPECT_EQ(counts[0], 5u);
    EXPECT_EQ(counts[1], 300u);
    EXPECT_GE(counts[2], 12u);
    EXPECT_EQ(filter->count(item(*filter, 1), stripes()), 12u);
    EXPECT_EQ(filter->sum(), 312u);
    EXPECT_EQ(filter->items(), 2u) << "an item that comes twice is one item";
  }
}

TEST(SpectralSlice, OneThatCannotBeDoneLeavesAllUndone) {
  auto filter = filter_of({.capacity = 10, .rate = 0.0001, .expansion = 0});
  std::vector<uint64_t> counts(20);
  ASSERT_EQ(filter->increment_all(slice_of(*filter, 0, 8, 3), counts, stripes()).status,
            SpectralStatus::kOk);
  const auto digest = filter->digest();
  const uint64_t changes = filter->change_count();
  const auto never = [](std::span<const SpectralChange>) { ADD_FAILURE() << "logged"; };

  EXPECT_EQ(filter->increment_all(slice_of(*filter, 5, 6, 1), counts, stripes(), never).status,
            SpectralStatus::kFull);
  std::vector<SpectralIncrement> items = slice_of(*filter, 0, 3, 1);
  items.push_back({item(*filter, 4), kMaxSpectralCount - 24});
  EXPECT_EQ(filter->increment_all(items, counts, stripes(), never).status,
            SpectralStatus::kOverflow);
  items.back().amount = kMaxSpectralCount;
  items.push_back({item(*filter, 5), kMaxSpectralCount});
  EXPECT_EQ(filter->increment_all(items, counts, stripes(), never).status,
            SpectralStatus::kOverflow);
  EXPECT_EQ(filter->digest(), digest);
  EXPECT_EQ(filter->change_count(), changes);
  EXPECT_EQ(filter->items(), 8u);
  EXPECT_EQ(filter->increment_all(slice_of(*filter, 5, 5, 1), counts, stripes()).status,
            SpectralStatus::kOk);
}

TEST(SpectralSlice, ASliceThatMayNotGrowLeavesAllUndone) {
  const auto never = [](uint64_t) { return false; };
  for (const auto policy : {SpectralPolicy::kMinimumSelection, SpectralPolicy::kMinimalIncrease}) {
    auto filter = filter_of({.capacity = 10000, .rate = 1e-6, .policy = policy});
    std::vector<uint64_t> counts(101);
    // Many small amounts need no memory, however large they are together.
    for (int i = 0; i < 6; ++i) {
      ASSERT_EQ(
          filter->increment_all(slice_of(*filter, 0, 100, 1), counts, stripes(), {}, never).status,
          SpectralStatus::kOk);
    }
    const testing::Unchanged unchanged(*filter);
    std::vector<SpectralIncrement> items = slice_of(*filter, 1000, 100, 1);
    items.push_back({item(*filter, 50), 1000000});
    EXPECT_EQ(filter->increment_all(items, counts, stripes(), testing::kNeverLogged, never).status,
              SpectralStatus::kNoMemory);
    unchanged.expect();
    EXPECT_EQ(filter->increment_all(items, counts, stripes()).status, SpectralStatus::kOk);
    EXPECT_EQ(counts.back(), 1000006u);
  }
}

// A slice needs what its items need one after another, and no more.
TEST(SpectralSlice, ASliceIsRefusedWhenItsItemsOneByOneAreAndOnlyThen) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const auto policy : {SpectralPolicy::kMinimumSelection, SpectralPolicy::kMinimalIncrease}) {
    uint64_t done = 0, refused = 0;
    for (int round = 0; round < 200; ++round) {
      const SpectralRequest request{
          .capacity = 3000, .rate = 1e-4, .expansion = 0, .policy = policy};
      auto filter = filter_of(request);
      auto single = filter_of(request);
      const uint64_t limit = filter->memory_bytes() + random() % 20000;
      std::vector<SpectralIncrement> items;
      for (uint64_t i = 0; i < 300; ++i) {
        items.push_back({item(*filter, random() % 1000), 1 + (random() >> (50 + random() % 14))});
      }
      std::vector<uint64_t> counts(items.size());
      const testing::Unchanged unchanged(*filter);
      const SpectralStatus status =
          filter->increment_all(items, counts, stripes(), {}, testing::limited_to(*filter, limit))
              .status;
      bool all = true;
      for (const SpectralIncrement& each : items) {
        all = all && single->increment(each.hash, each.amount, stripes(), {},
                                       testing::limited_to(*single, limit))
                             .status == SpectralStatus::kOk;
      }
      EXPECT_EQ(status, all ? SpectralStatus::kOk : SpectralStatus::kNoMemory);
      EXPECT_LE(filter->memory_bytes(), limit);
      if (!all) unchanged.expect();
      ++(all ? done : refused);
    }
    EXPECT_GT(done, 10u);
    EXPECT_GT(refused, 10u);
  }
}

TEST(SpectralSlice, ASliceLargerThanTheNextLayerGetsALargerOne) {
  auto filter = filter_of({.capacity = 10});
  const auto items = slice_of(*filter, 0, 1000, 1);
  std::vector<uint64_t> counts(1000);
  const auto result = filter->increment_all(items, counts, stripes());
  ASSERT_EQ(result.status, SpectralStatus::kNeedsLayer);
  EXPECT_EQ(filter->sum(), 0u);
  ASSERT_EQ(filter->grow(result.count), GrowError::kNone);
  EXPECT_EQ(filter->increment_all(items, counts, stripes()).status, SpectralStatus::kOk);
  EXPECT_EQ(filter->layer_count(), 2u);
  EXPECT_EQ(filter->sum(), 1000u);
}

// Large amounts in one small filter: every piece of every arena grows and widens under promises
// that were made before.
TEST(SpectralSlice, ManyLargeIncrementsFindTheirPromisedRoom) {
  const uint64_t seed = 5;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  auto filter = filter_of({.capacity = 20000, .rate = 0.01});
  std::vector<uint64_t> truth(20000);
  for (int round = 0; round < 60; ++round) {
    std::vector<SpectralIncrement> items;
    std::vector<uint64_t> numbers;
    const uint64_t size = 1 + random() % 1500;
    for (uint64_t i = 0; i < size; ++i) {
      numbers.push_back(random() % truth.size());
      items.push_back({item(*filter, numbers.back()), 1 + (random() >> (24 + random() % 40))});
    }
    std::vector<uint64_t> counts(items.size());
    ASSERT_EQ(filter->increment_all(items, counts, stripes()).status, SpectralStatus::kOk);
    for (uint64_t i = 0; i < size; ++i) {
      truth[numbers[i]] += items[i].amount;
      ASSERT_GE(counts[i], truth[numbers[i]]);
    }
  }
  for (uint64_t i = 0; i < truth.size(); ++i) {
    ASSERT_GE(filter->count(item(*filter, i), stripes()), truth[i]);
  }
  for (uint64_t i = 0; i < truth.size(); ++i) {
    if (truth[i] == 0) continue;
    ASSERT_EQ(filter->decrement(item(*filter, i), truth[i], stripes()).status, SpectralStatus::kOk);
  }
  EXPECT_EQ(filter->digest(), filter_of({.capacity = 20000, .rate = 0.01})->digest());
}

// High parts move from their block into the arena, and back when counts fall. Tiny filters, since
// the slack of a large arena would hide a promise that is too small.
TEST(SpectralSlice, PiecesThatOutgrowTheirBlocksFindTheirPromisedRoom) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1000; ++round) {
    const double rate = round % 2 == 0 ? 0.1 : 0.01;
    const auto capacity = static_cast<int64_t>(10 + random() % 90);
    auto filter = filter_of({.capacity = capacity, .rate = rate});
    std::vector<uint64_t> truth(static_cast<size_t>(capacity) / 2);
    for (int step = 0; step < 30; ++step) {
      std::vector<SpectralIncrement> items;
      const uint64_t amount = uint64_t{1} << random() % 10;
      const uint64_t size = uint64_t{1} << random() % 6;
      for (uint64_t i = 0; i < size; ++i) {
        const uint64_t number = random() % truth.size();
        items.push_back({item(*filter, number), amount});
        truth[number] += amount;
      }
      std::vector<uint64_t> counts(items.size());
      ASSERT_EQ(filter->increment_all(items, counts, stripes()).status, SpectralStatus::kOk);
      for (uint64_t i = 0; i < truth.size(); ++i) {
        if (truth[i] == 0 || random() % 4 != 0) continue;
        ASSERT_EQ(filter->decrement(item(*filter, i), truth[i], stripes()).status,
                  SpectralStatus::kOk);
        truth[i] = 0;
      }
    }
    for (uint64_t i = 0; i < truth.size(); ++i) {
      ASSERT_GE(filter->count(item(*filter, i), stripes()), truth[i]);
    }
  }
}

// The log's promise: the changes that the hook was given, done again on another filter, make it
// equal. Cells and totals are replayed apart, in another order, as after a snapshot.
TEST(SpectralSlice, ReplayedChangesMakeAnEqualFilter) {
  for (const auto policy : {SpectralPolicy::kMinimumSelection, SpectralPolicy::kMinimalIncrease}) {
    const uint64_t seed = 6;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto filter = filter_of({.capacity = 300, .rate = 0.1, .policy = policy});
    auto replica = filter_of({.capacity = 300, .rate = 0.1, .policy = policy});
    std::vector<SpectralChange> log;
    const auto hook = [&](std::span<const SpectralChange> changes) {
      log.insert(log.end(), changes.begin(), changes.end());
    };
    std::vector<uint64_t> counts(8);
    for (int round = 0; round < 20000; ++round) {
      const ItemHash hash = item(*filter, random() % 3000);
      SpectralResult result{};
      switch (random() % 4) {
        case 0:
          result = filter->increment_all(slice_of(*filter, random() % 3000, 8, random() % 9 + 1),
                                         counts, stripes(), hook);
          break;
        case 1:
          result = filter->add_if_absent(hash, stripes(), hook);
          break;
        case 2:
          result = filter->decrement(hash, 1 + random() % 3, stripes(), hook);
          break;
        default:
          result = filter->increment(hash, 1 + random() % 3, stripes(), hook);
      }
      if (result.status != SpectralStatus::kNeedsLayer) continue;
      ASSERT_EQ(filter->grow(result.count), GrowError::kNone);
      ASSERT_EQ(replica->add_layer(filter->layer(filter->layer_count() - 1).geometry()),
                GrowError::kNone);
    }
    for (const SpectralChange& change : log) ASSERT_TRUE(replica->replay_cells(change));
    for (const SpectralChange& change : log) ASSERT_TRUE(replica->replay_totals(change));
    EXPECT_EQ(replica->digest(), filter->digest());
    EXPECT_EQ(replica->change_count(), filter->change_count());
    EXPECT_EQ(replica->deleted(), filter->deleted());
  }
}

TEST(SpectralSlice, AReplayThatDoesNotFitIsRefused) {
  auto filter = filter_of({.capacity = 300});
  const ItemHash hash = item(*filter, 1);
  EXPECT_FALSE(filter->replay_cells({hash, 1, {SpectralEditKind::kAdd, 1}, 1, 0}));
  EXPECT_FALSE(filter->replay_cells({hash, 0, {SpectralEditKind::kSubtract, 1}, 1, 0}));
  EXPECT_FALSE(filter->replay_cells({hash, 0, {SpectralEditKind::kAdd, UINT64_MAX}, 1, 0}));
  EXPECT_FALSE(filter->replay_cells({hash, 0, {static_cast<SpectralEditKind>(9), 1}, 1, 0}));
  EXPECT_FALSE(filter->replay_totals({hash, 0, {SpectralEditKind::kSubtract, 1}, 1, 0}));
  EXPECT_FALSE(filter->replay_totals({hash, 0, {SpectralEditKind::kAdd, 1}, UINT64_MAX, 0}));
  EXPECT_FALSE(filter->replay_totals({hash, 0, {SpectralEditKind::kAdd, 1}, 1, -1}));
  EXPECT_FALSE(filter->replay_totals({hash, 0, {SpectralEditKind::kAdd, 1}, 1, INT64_MIN}));
  EXPECT_FALSE(filter->replay_totals({hash, 0, {SpectralEditKind::kAdd, 1}, 1, INT64_MAX}));
  EXPECT_EQ(filter->digest(), filter_of({.capacity = 300})->digest());
}

}  // namespace
}  // namespace iris::filters
