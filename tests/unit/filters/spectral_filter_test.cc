// What each operation answers, and that what is refused changes nothing.
#include "filters/spectral_filter.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/unit/filters/spectral_test_support.h"

namespace iris::filters {
namespace {

using testing::classic_of;
using testing::filter_of;
using testing::increment_growing;
using testing::item;
using testing::stripes;

constexpr auto kMI = SpectralPolicy::kMinimalIncrease;

TEST(SpectralFilter, CountsGoUpAndDown) {
  auto filter = filter_of({.capacity = 1000});
  const ItemHash hash = item(*filter, 1);
  EXPECT_EQ(filter->count(hash, stripes()), 0u);
  for (uint64_t i = 1; i <= 1000; ++i) {
    const auto result = filter->increment(hash, 1, stripes());
    ASSERT_EQ(result.status, SpectralStatus::kOk);
    ASSERT_EQ(result.count, i);
    ASSERT_EQ(filter->count(hash, stripes()), i);
  }
  EXPECT_EQ(filter->sum(), 1000u);
  EXPECT_EQ(filter->items(), 1u);
  EXPECT_EQ(filter->decrement(hash, 400, stripes()).count, 600u);
  for (uint64_t i = 600; i-- > 0;) {
    const auto result = filter->decrement(hash, 1, stripes());
    ASSERT_EQ(result.status, SpectralStatus::kOk);
    ASSERT_EQ(result.count, i);
  }
  EXPECT_EQ(filter->sum(), 0u);
  EXPECT_EQ(filter->items(), 0u);
  EXPECT_EQ(filter->deleted(), 1000u);
}

TEST(SpectralFilter, AProvablyWrongDecrementChangesNothing) {
  auto filter = filter_of({.capacity = 1000});
  const ItemHash hash = item(*filter, 1);
  EXPECT_EQ(filter->decrement(hash, 1, stripes()).status, SpectralStatus::kAbsent);
  (void)filter->increment(hash, 9, stripes());
  const auto digest = filter->digest();
  const uint64_t changes = filter->change_count();
  const auto result = filter->decrement(hash, 10, stripes());
  EXPECT_EQ(result.status, SpectralStatus::kExceeds);
  EXPECT_EQ(result.count, 9u);
  EXPECT_EQ(filter->decrement(hash, kMaxSpectralCount, stripes()).status, SpectralStatus::kExceeds);
  EXPECT_EQ(filter->decrement(item(*filter, 2), 1, stripes()).status, SpectralStatus::kAbsent);
  EXPECT_EQ(filter->digest(), digest);
  EXPECT_EQ(filter->change_count(), changes);
}

TEST(SpectralFilter, CountsReachTheLimitAndNeverWrap) {
  for (const SpectralPolicy policy : {SpectralPolicy::kMinimumSelection, kMI}) {
    auto filter = filter_of({.capacity = 1000, .policy = policy});
    const ItemHash hash = item(*filter, 1);
    const ItemHash other = item(*filter, 2);
    EXPECT_EQ(filter->increment(hash, kMaxSpectralCount - 1, stripes()).count,
              kMaxSpectralCount - 1);
    EXPECT_EQ(filter->increment(hash, 2, stripes()).status, SpectralStatus::kOverflow);
    EXPECT_EQ(filter->increment(other, 2, stripes()).status, SpectralStatus::kOverflow);
    EXPECT_EQ(filter->increment(hash, kMaxSpectralCount, stripes()).status,
              SpectralStatus::kOverflow);
    EXPECT_EQ(filter->items(), 1u) << "a refused new item must give its place back";
    EXPECT_EQ(filter->increment(hash, 1, stripes()).count, kMaxSpectralCount);
    EXPECT_EQ(filter->increment(hash, 1, stripes()).status, SpectralStatus::kOverflow);
    EXPECT_EQ(filter->increment(other, 1, stripes()).status, SpectralStatus::kOverflow);
    EXPECT_EQ(filter->count(hash, stripes()), kMaxSpectralCount);
    EXPECT_EQ(filter->count(other, stripes()), 0u);
    EXPECT_EQ(filter->sum(), kMaxSpectralCount);
  }
}

// Small counts need no memory, and then nobody is asked: their high parts fit into the block. Those
// of several cells with more than 16 bits each do not.
void expect_counts_without_growth(SpectralFilter& filter) {
  constexpr uint64_t kLarge = 1000000;
  uint64_t asked = 0;
  const auto never = [&](uint64_t more) {
    EXPECT_GT(more, 0u);
    ++asked;
    return false;
  };
  const ItemHash hash = item(filter, 1);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(filter.increment(hash, 1, stripes(), {}, never).status, SpectralStatus::kOk);
  }
  EXPECT_EQ(asked, 0u);
  const testing::Unchanged unchanged(filter);
  const auto& hook = testing::kNeverLogged;
  EXPECT_EQ(filter.increment(hash, kLarge, stripes(), hook, never).status,
            SpectralStatus::kNoMemory);
  EXPECT_EQ(filter.increment(item(filter, 2), kLarge, stripes(), hook, never).status,
            SpectralStatus::kNoMemory);
  EXPECT_EQ(asked, 2u);
  unchanged.expect();
  EXPECT_EQ(filter.count(hash, stripes()), 200u);
  ASSERT_EQ(filter.increment(hash, kLarge, stripes()).status, SpectralStatus::kOk);
  // And within what is there.
  ASSERT_EQ(filter.increment(hash, 100, stripes(), {}, never).status, SpectralStatus::kOk);
  ASSERT_EQ(filter.decrement(hash, kLarge + 100, stripes()).status, SpectralStatus::kOk);
  EXPECT_EQ(filter.count(hash, stripes()), 200u);
}

TEST(SpectralFilter, AnIncrementThatMayNotGrowChangesNothing) {
  expect_counts_without_growth(*filter_of({.capacity = 1000}));
  expect_counts_without_growth(*classic_of(100, 5));  // in one block
}

TEST(SpectralFilter, NoIncrementPassesALimitOfMemory) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const auto policy : {SpectralPolicy::kMinimumSelection, SpectralPolicy::kMinimalIncrease}) {
    auto filter = filter_of({.capacity = 20000, .expansion = 0, .policy = policy});
    const uint64_t limit = filter->memory_bytes() + 20000;
    const auto may_grow = testing::limited_to(*filter, limit);
    std::vector<uint64_t> truth(10000);
    uint64_t refused = 0;
    for (int n = 0; n < 200000; ++n) {
      const uint64_t i = random() % truth.size();
      const uint64_t amount = 1 + (random() >> (36 + random() % 28));
      const SpectralResult result =
          filter->increment(item(*filter, i), amount, stripes(), {}, may_grow);
      if (result.status == SpectralStatus::kOk) truth[i] += amount;
      refused += result.status == SpectralStatus::kNoMemory ? 1 : 0;
      ASSERT_LE(filter->memory_bytes(), limit);
    }
    EXPECT_GT(refused, 1000u);
    EXPECT_GT(filter->memory_bytes(), limit - 10000) << "and most of it is used";
    for (uint64_t i = 0; i < truth.size(); ++i) {
      ASSERT_GE(filter->count(item(*filter, i), stripes()), truth[i]);
    }
  }
}

TEST(SpectralFilter, AddIfAbsentCountsOnce) {
  auto filter = filter_of({.capacity = 4});
  EXPECT_EQ(filter->add_if_absent(item(*filter, 1), stripes()).status, SpectralStatus::kOk);
  EXPECT_EQ(filter->add_if_absent(item(*filter, 1), stripes()).status, SpectralStatus::kPresent);
  EXPECT_EQ(filter->sum(), 1u);
  for (uint64_t i = 2; i <= 20; ++i) increment_growing(*filter, item(*filter, i));
  EXPECT_GT(filter->layer_count(), 1u);
  EXPECT_EQ(filter->add_if_absent(item(*filter, 1), stripes()).status, SpectralStatus::kPresent)
      << "it is in an older layer";
}

TEST(SpectralFilter, AFixedSizeRefusesNewItemsBeyondItsCapacityOnly) {
  auto filter = filter_of({.capacity = 100, .rate = 0.0001, .expansion = 0});
  uint64_t accepted = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const auto result = filter->increment(item(*filter, i), 1, stripes());
    if (result.status == SpectralStatus::kOk) ++accepted;
  }
  EXPECT_GE(accepted, 100u);
  EXPECT_LE(accepted, 102u) << "but for those that look known";
  EXPECT_EQ(filter->increment(item(*filter, 0), 5, stripes()).count, 6u) << "known items count on";
  EXPECT_EQ(filter->increment(item(*filter, 9999), 1, stripes()).status, SpectralStatus::kFull);
  EXPECT_EQ(filter->grow(), GrowError::kNotScaling);
  // What is taken away makes room again.
  EXPECT_EQ(filter->decrement(item(*filter, 0), 6, stripes()).count, 0u);
  EXPECT_EQ(filter->increment(item(*filter, 9999), 1, stripes()).status, SpectralStatus::kOk);
}

TEST(SpectralFilter, AFullLayerAsksForTheNextUntilTheMostExpansions) {
  auto filter = filter_of({.capacity = 10, .expansion = 1, .max_expansions = 3});
  SpectralResult result{};
  for (uint64_t i = 0; i < 1000; ++i) {
    result = increment_growing(*filter, item(*filter, i));
    if (result.status != SpectralStatus::kOk) break;
  }
  EXPECT_EQ(result.status, SpectralStatus::kMaxExpansions);
  EXPECT_EQ(filter->layer_count(), 3u);
  EXPECT_EQ(filter->capacity(), 30u);
  EXPECT_EQ(filter->grow(), GrowError::kTooManyLayers);
}

TEST(SpectralFilter, AnItemStaysInItsOldLayerAsTheFilterGrows) {
  auto filter = filter_of({.capacity = 100});
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(increment_growing(*filter, item(*filter, i)).status, SpectralStatus::kOk);
    // The first items, all over again: their counts must go where they are.
    ASSERT_EQ(increment_growing(*filter, item(*filter, i % 50)).status, SpectralStatus::kOk);
  }
  EXPECT_GE(filter->layer_count(), 4u);
  EXPECT_EQ(filter->sum(), 4000u);
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_GE(filter->count(item(*filter, i), stripes()), 41u);
    EXPECT_LE(filter->count(item(*filter, i), stripes()), 60u);
  }
}

TEST(SpectralFilter, MinimalIncreaseRefusesDecrements) {
  auto filter = filter_of({.capacity = 100, .policy = kMI});
  (void)filter->increment(item(*filter, 1), 5, stripes());
  EXPECT_EQ(filter->decrement(item(*filter, 1), 1, stripes()).status,
            SpectralStatus::kNoDecrements);
  EXPECT_EQ(filter->count(item(*filter, 1), stripes()), 5u);
}

TEST(SpectralFilter, MinimalIncreaseErrsLessThanMinimumSelectionAndNeverTooLow) {
  constexpr uint64_t kItems = 20000;
  uint64_t wrong[2] = {};
  for (const SpectralPolicy policy : {SpectralPolicy::kMinimumSelection, kMI}) {
    auto filter = filter_of({.capacity = kItems, .rate = 0.1, .expansion = 0, .policy = policy});
    for (uint64_t round = 0; round < 12; ++round) {
      for (uint64_t i = 0; i < kItems; ++i) {
        const uint64_t amount = i % 7 == round ? i % 5 + 1 : 1;
        ASSERT_EQ(filter->increment(item(*filter, i), amount, stripes()).status,
                  SpectralStatus::kOk);
      }
    }
    for (uint64_t i = 0; i < kItems; ++i) {
      const uint64_t count = 12 + i % 5;  // i % 7 is one of the rounds
      const uint64_t estimate = filter->count(item(*filter, i), stripes());
      ASSERT_GE(estimate, count);
      wrong[static_cast<size_t>(policy)] += estimate > count ? 1 : 0;
    }
  }
  EXPECT_LT(wrong[1] * 3, wrong[0] * 2);
}

TEST(SpectralFilter, ClassicFiltersCountAndNeverFill) {
  for (const SpectralPolicy policy : {SpectralPolicy::kMinimumSelection, kMI}) {
    auto filter = classic_of(100003, 7, policy);
    for (uint64_t i = 0; i < 3000; ++i) {
      ASSERT_EQ(filter->increment(item(*filter, i), i + 1, stripes()).status, SpectralStatus::kOk);
    }
    uint64_t exact = 0;
    for (uint64_t i = 0; i < 3000; ++i) {
      const uint64_t count = filter->count(item(*filter, i), stripes());
      ASSERT_GE(count, i + 1);
      exact += count == i + 1 ? 1 : 0;
    }
    EXPECT_GT(exact, 2990u);
    EXPECT_EQ(filter->capacity(), SpectralGeometry::kUnlimited);
  }
}

TEST(SpectralFilter, AClassicFilterOfOneCounterIsRightAboutTheSum) {
  auto filter = classic_of(1, 256);
  EXPECT_EQ(filter->increment(item(*filter, 1), 3, stripes()).count, 3u);
  EXPECT_EQ(filter->increment(item(*filter, 2), 4, stripes()).count, 7u);
  EXPECT_EQ(filter->decrement(item(*filter, 3), 7, stripes()).count, 0u);
  EXPECT_EQ(filter->sum(), 0u);
  EXPECT_EQ(filter->items(), 0u);
}

TEST(SpectralFilter, ChangeCountGrowsWithEachChangeAndNothingElse) {
  auto filter = filter_of({.capacity = 100});
  uint64_t last = filter->change_count();
  const auto changed = [&] {
    const uint64_t now = filter->change_count();
    const bool grew = now > last;
    last = now;
    return grew;
  };
  (void)filter->increment(item(*filter, 1), 3, stripes());
  EXPECT_TRUE(changed());
  (void)filter->count(item(*filter, 1), stripes());
  filter->compact(stripes());
  EXPECT_FALSE(changed());
  (void)filter->decrement(item(*filter, 1), 3, stripes());
  EXPECT_TRUE(changed());
  (void)filter->decrement(item(*filter, 1), 3, stripes());
  EXPECT_FALSE(changed());
}

TEST(SpectralFilter, MergedCountsAreTheSums) {
  const SpectralRequest request{.capacity = 5000, .rate = 0.001};
  std::vector<std::unique_ptr<SpectralFilter>> filters;
  for (uint64_t f = 0; f < 3; ++f) {
    filters.push_back(filter_of(request));
    for (uint64_t i = f * 500; i < f * 500 + 1000; ++i) {
      (void)filters[f]->increment(item(*filters[f], i), i % 100 + 1, stripes());
    }
  }
  const SpectralFilter* sources[] = {filters[0].get(), filters[1].get(), filters[2].get()};
  const auto merged = SpectralFilter::merged(sources, 9);
  ASSERT_EQ(merged.error, SpectralMergeError::kNone);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const uint64_t expected = (i % 100 + 1) * (i >= 500 && i < 1500 ? 2 : 1);
    const uint64_t count = merged.filter->count(item(*filters[0], i), stripes());
    ASSERT_GE(count, expected);
    sum += expected;
  }
  EXPECT_EQ(merged.filter->sum(), sum);
  EXPECT_EQ(merged.filter->items(),
            filters[0]->items() + filters[1]->items() + filters[2]->items());
}

TEST(SpectralFilter, WhatDiffersIsNotMerged) {
  auto filter = filter_of({.capacity = 1000});
  const auto error_with = [&](const SpectralFilter& other) {
    const SpectralFilter* sources[] = {filter.get(), &other};
    return SpectralFilter::merged(sources, 9).error;
  };
  EXPECT_EQ(error_with(*filter_of({.capacity = 1000, .policy = kMI})), SpectralMergeError::kPolicy);
  EXPECT_EQ(error_with(*filter_of({.capacity = 1000}, 2)), SpectralMergeError::kSeed);
  EXPECT_EQ(error_with(*filter_of({.capacity = 2000})), SpectralMergeError::kCounters);
  auto grown = filter_of({.capacity = 1000});
  ASSERT_EQ(grown->grow(), GrowError::kNone);
  EXPECT_EQ(error_with(*grown), SpectralMergeError::kLayers);
  auto full = filter_of({.capacity = 1000});
  (void)full->increment(item(*full, 1), kMaxSpectralCount, stripes());
  EXPECT_EQ(error_with(*full), SpectralMergeError::kNone);
  (void)filter->increment(item(*full, 1), 1, stripes());
  EXPECT_EQ(error_with(*full), SpectralMergeError::kOverflow);
}

TEST(SpectralFilter, ACloneIsEqualAndItsOwn) {
  auto filter = filter_of({.capacity = 100});
  for (uint64_t i = 0; i < 1000; ++i) increment_growing(*filter, item(*filter, i), i * i + 1);
  auto copy = filter->clone(77);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->digest(), filter->digest());
  EXPECT_EQ(copy->memory_bytes(), filter->memory_bytes());
  const auto before = filter->digest();
  (void)copy->increment(item(*copy, 5), 1000000, stripes());
  EXPECT_NE(copy->digest(), before);
  EXPECT_EQ(filter->digest(), before);
}

TEST(SpectralFilter, TheDigestDoesNotDependOnWhereExtensionsLie) {
  auto first = filter_of({.capacity = 1000});
  auto second = filter_of({.capacity = 1000});
  for (uint64_t i = 0; i < 1000; ++i) (void)first->increment(item(*first, i), 100, stripes());
  for (uint64_t i = 1000; i-- > 0;) {
    (void)second->increment(item(*second, i), 1000000, stripes());
  }
  for (uint64_t i = 0; i < 1000; ++i) {
    (void)second->decrement(item(*second, i), 1000000 - 100, stripes());
  }
  // Which of two items came first decides which is counted as new; the rest must be equal.
  if (first->items() == second->items()) {
    EXPECT_EQ(first->digest(), second->digest());
  }
  const auto digest = second->digest();
  second->compact(stripes());
  EXPECT_EQ(second->digest(), digest);
  (void)second->increment(item(*second, 0), 1, stripes());
  EXPECT_NE(second->digest(), digest);
}

TEST(SpectralFilter, StatsTellFillAndExtensions) {
  auto filter = filter_of({.capacity = 10000, .rate = 0.01, .expansion = 0});
  EXPECT_EQ(filter->stats().current_rate, 0);
  for (uint64_t i = 0; i < 10000; ++i) (void)filter->increment(item(*filter, i), 1, stripes());
  (void)filter->increment(item(*filter, 0), 100, stripes());
  const SpectralStats stats = filter->stats();
  EXPECT_NEAR(stats.current_rate, 0.01, 0.001);
  EXPECT_EQ(stats.promised_rate, 0.01);
  EXPECT_EQ(stats.counters, filter->layer(0).geometry().cells);
  EXPECT_GT(stats.fill_ratio, 0.2);
  EXPECT_LT(stats.fill_ratio, 0.6);
  EXPECT_GE(stats.extended_blocks, 1u);
  EXPECT_LT(stats.extended_blocks, 20u);
}

}  // namespace
}  // namespace iris::filters
