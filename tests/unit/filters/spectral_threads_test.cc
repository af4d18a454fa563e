// One filter, many threads: no increment is lost, no change is made of half a decision. Worth most
// under the thread sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <random>
#include <thread>
#include <vector>

#include "filters/spectral_dump.h"
#include "tests/unit/filters/spectral_test_support.h"

namespace iris::filters {
namespace {

using testing::classic_of;
using testing::filter_of;
using testing::item;
using testing::stripes;

constexpr uint64_t kThreads = 4;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

template <typename Work>
void run_threads(Work&& work) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (auto& thread : threads) thread.join();
}

std::vector<ItemHash> hashes_of(const SpectralFilter& filter, uint64_t count) {
  std::vector<ItemHash> hashes;
  for (uint64_t i = 0; i < count; ++i) hashes.push_back(item(filter, i));
  return hashes;
}

// At a rate so low that 1,000 items do not meet: every count must be exact.
void increment_together(SpectralFilter& filter, uint64_t increments) {
  constexpr uint64_t kItems = 1000;
  const auto hashes = hashes_of(filter, kItems);
  std::atomic<uint64_t> failures{0};
  run_threads([&](uint64_t self) {
    for (uint64_t n = 0; n < increments / kThreads; ++n) {
      const ItemHash& hash = hashes[(n + self * 250) % kItems];
      if (filter.increment(hash, 1, stripes()).status != SpectralStatus::kOk) ++failures;
    }
  });
  EXPECT_EQ(failures, 0u);
  EXPECT_EQ(filter.sum(), increments);
  EXPECT_EQ(filter.items(), kItems);
  for (const ItemHash& hash : hashes) {
    ASSERT_EQ(filter.count(hash, stripes()), increments / kItems);
  }
  std::cout << "threads " << kThreads << ", increments " << increments << ", items " << kItems
            << ", all counts exact\n";
}

TEST(SpectralThreads, IncrementsOfTheSameItemsAreAllCounted) {
  for (const auto policy : {SpectralPolicy::kMinimumSelection, SpectralPolicy::kMinimalIncrease}) {
    auto filter = filter_of({.capacity = 100000, .rate = 1e-6, .policy = policy});
    increment_together(*filter, kSanitized ? 1'200'000 : 10'000'000);
  }
}

TEST(SpectralThreads, IncrementsOfTheSameItemsOfAClassicFilterAreAllCounted) {
  auto filter = classic_of(1000000, 8);
  increment_together(*filter, kSanitized ? 400'000 : 1'000'000);  // one stripe: slow
}

// Once anything was removed, the number of items is held against the number of cells in use. Who
// met items whose cells were still to come would take them for a mistake. Filters with few items,
// whose bounds are narrow; at a rate so low that items do not meet.
TEST(SpectralThreads, RemovalsBesideNewItemsLeaveTheirNumberExact) {
  constexpr uint64_t kSlices = 12, kItemsASlice = 8;
  const auto while_others_run = [](auto) { std::this_thread::yield(); };
  for (int round = 0; round < (kSanitized ? 100 : 400); ++round) {
    auto filter = filter_of({.capacity = 20'000, .rate = 1e-6});
    std::atomic<bool> stop{false};
    std::thread remover([&] {
      const ItemHash coming_and_going = item(*filter, 1'000'000);
      while (!stop) {
        EXPECT_EQ(filter->increment(coming_and_going, 1, stripes()).count, 1u);
        EXPECT_EQ(filter->decrement(coming_and_going, 1, stripes()).count, 0u);
      }
    });
    uint64_t next = 0;
    for (uint64_t n = 0; n < kSlices; ++n) {
      std::vector<SpectralIncrement> slice;
      while (slice.size() < kItemsASlice) slice.push_back({item(*filter, next++), 1});
      std::vector<uint64_t> counts(kItemsASlice);
      EXPECT_EQ(filter->increment_all(slice, counts, stripes(), while_others_run).status,
                SpectralStatus::kOk);
      EXPECT_EQ(filter->increment(item(*filter, next++), 1, stripes(), while_others_run).count, 1u);
    }
    stop = true;
    remover.join();
    ASSERT_EQ(filter->items(), next) << "round " << round;
    ASSERT_EQ(filter->sum(), next);
  }
}

// Counts are read without the stripe. Who mixed two moments would read anything: from 3 to 4 all
// three planes change, from 6 to 7 high parts come and go before those of others, from 262 to 263
// all of the block become wider, and with that of a third item they leave it.
TEST(SpectralThreads, ACountIsNeverReadHalfWritten) {
  constexpr uint64_t kBystander = 20;
  for (const uint64_t least : {3u, 6u, 262u}) {
    for (const bool crowded : {false, true}) {
      auto filter = filter_of({.capacity = 4, .rate = 0.1});
      const ItemHash busy = item(*filter, 1), still = item(*filter, 2), third = item(*filter, 3);
      ASSERT_EQ(filter->increment(busy, least, stripes()).count, least);
      ASSERT_EQ(filter->increment(still, kBystander, stripes()).count, kBystander);
      if (crowded) {
        ASSERT_EQ(filter->increment(third, 9, stripes()).count, 9u);
      }
      std::atomic<bool> stop{false};
      std::thread writer([&] {
        for (int i = 0; i < (kSanitized ? 20'000 : 100'000); ++i) {
          EXPECT_EQ(filter->increment(busy, 1, stripes()).count, least + 1);
          EXPECT_EQ(filter->decrement(busy, 1, stripes()).count, least);
        }
        stop = true;
      });
      uint64_t reads = 0, wrong = 0;
      for (; !stop; ++reads) {
        const uint64_t count = filter->count(busy, stripes());
        wrong += count != least && count != least + 1 ? 1 : 0;
        wrong += filter->count(still, stripes()) != kBystander ? 1 : 0;
      }
      writer.join();
      EXPECT_EQ(wrong, 0u) << "of " << reads << " reads, from " << least;
    }
  }
}

// Items that live in old layers and in new ones; each thread counts up and down by its own books.
TEST(SpectralThreads, CountsThroughSeveralLayersAreNeverTooLow) {
  auto filter = filter_of({.capacity = 300, .rate = 0.01});
  constexpr uint64_t kItems = 2000;
  const auto hashes = hashes_of(*filter, kItems);
  for (const ItemHash& hash : hashes) (void)testing::increment_growing(*filter, hash);
  EXPECT_GE(filter->layer_count(), 3u);
  std::vector<std::atomic<int64_t>> truth(kItems);
  for (auto& count : truth) count = 1;
  std::atomic<uint64_t> failures{0};
  run_threads([&](uint64_t self) {
    std::mt19937_64 random(self);
    std::vector<uint64_t> mine(kItems);
    for (int n = 0; n < 200000; ++n) {
      const uint64_t i = random() % kItems;
      const uint64_t amount = 1 + random() % 3;
      if (random() % 2 == 0) {
        if (filter->increment(hashes[i], amount, stripes()).status != SpectralStatus::kOk)
          ++failures;
        mine[i] += amount;
        truth[i] += static_cast<int64_t>(amount);
      } else if (mine[i] >= amount) {
        truth[i] -= static_cast<int64_t>(amount);
        if (filter->decrement(hashes[i], amount, stripes()).status != SpectralStatus::kOk)
          ++failures;
        mine[i] -= amount;
      } else if (filter->count(hashes[i], stripes()) < 1 + mine[i]) {
        ++failures;
      }
    }
  });
  EXPECT_EQ(failures, 0u);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < kItems; ++i) {
    const auto count = static_cast<uint64_t>(truth[i].load());
    ASSERT_GE(filter->count(hashes[i], stripes()), count);
    sum += count;
    ASSERT_EQ(filter->decrement(hashes[i], count, stripes()).status, SpectralStatus::kOk);
  }
  EXPECT_EQ(filter->sum(), 0u);
  EXPECT_GT(sum, 0u);
  EXPECT_EQ(filter->digest(), filter_of({.capacity = 300, .rate = 0.01})->digest());
}

TEST(SpectralThreads, OneOfManyAddsOfTheSameAbsentItemIsTold) {
  auto filter = filter_of({.capacity = 50000, .rate = 1e-6});
  const auto hashes = hashes_of(*filter, 10000);
  std::atomic<uint64_t> added{0};
  run_threads([&](uint64_t) {
    uint64_t own = 0;
    for (const ItemHash& hash : hashes) {
      own += filter->add_if_absent(hash, stripes()).status == SpectralStatus::kOk ? 1 : 0;
    }
    added += own;
  });
  EXPECT_EQ(added, hashes.size());
  EXPECT_EQ(filter->sum(), hashes.size());
}

// A fixed size is not overrun by threads that all find the last place.
TEST(SpectralThreads, TheCapacityIsNotOverrun) {
  auto filter = filter_of({.capacity = 1000, .rate = 1e-6, .expansion = 0});
  std::atomic<uint64_t> accepted{0};
  run_threads([&](uint64_t self) {
    for (uint64_t i = 0; i < 1000; ++i) {
      const ItemHash hash = item(*filter, self * 1000 + i);
      if (filter->increment(hash, 1, stripes()).status == SpectralStatus::kOk) ++accepted;
    }
  });
  EXPECT_EQ(accepted, 1000u);
  EXPECT_EQ(filter->items(), 1000u);
}

// A thread takes places, and some of the sum, ahead. Who is refused for that gets them all the
// same, each way that an increment can go.
TEST(SpectralThreads, PlacesThatAThreadTookAheadAreNotLost) {
  constexpr uint64_t kCapacity = 200'000;
  using Increment = SpectralStatus (*)(SpectralFilter&, const ItemHash&);
  const Increment ways[] = {
      [](SpectralFilter& filter, const ItemHash& hash) {
        return filter.increment(hash, 1, stripes()).status;
      },
      [](SpectralFilter& filter, const ItemHash& hash) {
        return filter.add_if_absent(hash, stripes()).status;
      },
      [](SpectralFilter& filter, const ItemHash& hash) {
        const SpectralIncrement one{hash, 1};
        uint64_t count = 0;
        return filter.increment_all({&one, 1}, {&count, 1}, stripes()).status;
      },
  };
  for (const Increment increment : ways) {
    auto filter = filter_of({.capacity = kCapacity, .expansion = 0});
    ASSERT_TRUE(filter->layer(0).geometry().spreads());
    ASSERT_EQ(increment(*filter, item(*filter, 0)), SpectralStatus::kOk);
    std::thread([&] {
      ASSERT_EQ(increment(*filter, item(*filter, 1)), SpectralStatus::kOk);
    }).join();
    SpectralStatus status = SpectralStatus::kOk;
    for (uint64_t i = 2; status == SpectralStatus::kOk || status == SpectralStatus::kPresent; ++i) {
      status = increment(*filter, item(*filter, i));
    }
    EXPECT_EQ(status, SpectralStatus::kFull);
    EXPECT_EQ(filter->items(), kCapacity);
  }
}

TEST(SpectralThreads, SumsThatAThreadTookAheadAreNotLost) {
  auto filter = filter_of({.capacity = 200'000});
  const auto increment = [&](uint64_t amount) {
    return filter->increment(item(*filter, 0), amount, stripes()).status;
  };
  ASSERT_EQ(increment(1), SpectralStatus::kOk);
  std::thread([&] { ASSERT_EQ(increment(1), SpectralStatus::kOk); }).join();
  EXPECT_EQ(increment(kMaxSpectralCount - 1), SpectralStatus::kOverflow);
  EXPECT_EQ(increment(kMaxSpectralCount - 2), SpectralStatus::kOk);
  EXPECT_EQ(increment(1), SpectralStatus::kOverflow);
  EXPECT_EQ(filter->sum(), kMaxSpectralCount);
}

// Each grows other chunks, so no stripe keeps them apart: none passes by not seeing the others.
TEST(SpectralThreads, ALimitOfMemoryIsNotPassedByThreadsThatGrowAtOnce) {
  constexpr int kRounds = kSanitized ? 20 : 400;
  for (int round = 0; round < kRounds; ++round) {
    auto filter = filter_of({.capacity = 200000, .rate = 0.01});
    const uint64_t limit = filter->memory_bytes() + 3000 + static_cast<uint64_t>(round);
    const auto hashes = hashes_of(*filter, 40);
    std::atomic<uint64_t> refused{0};
    run_threads([&](uint64_t self) {
      for (size_t i = self; i < hashes.size(); i += kThreads) {
        const auto result = filter->increment(hashes[i], 1000000, stripes(), {},
                                              testing::limited_to(*filter, limit));
        if (result.status != SpectralStatus::kOk) ++refused;
      }
    });
    ASSERT_LE(filter->memory_bytes(), limit);
    ASSERT_GT(refused, 0u);
  }
}

TEST(SpectralThreads, SlicesDumpsAndCompactionRunBesideIncrements) {
  auto filter = filter_of({.capacity = 200000, .rate = 1e-4});
  const auto hashes = hashes_of(*filter, 4000);
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> expected{0};
  run_threads([&](uint64_t self) {
    std::vector<SpectralIncrement> items;
    std::vector<uint64_t> counts(16);
    for (uint64_t round = 0; round < 2000; ++round) {
      if (self < 2) {
        items.clear();
        for (uint64_t i = 0; i < 16; ++i) {
          items.push_back({hashes[(round * 7 + i * 131 + self) % hashes.size()], 100});
        }
        const auto result = filter->increment_all(items, counts, stripes());
        if (result.status != SpectralStatus::kOk) ++failures;
        expected += 1600;
      } else if (self == 2) {
        for (uint64_t i = 0; i < 16; ++i) {
          (void)filter->increment(hashes[(round + i) % hashes.size()], 1, stripes());
        }
        expected += 16;
      } else if (round % 20 == 0) {
        filter->compact(stripes());
        (void)dump_step(*filter, static_cast<int64_t>(round % 4), stripes());
        (void)filter->memory_bytes();
      }
    }
  });
  EXPECT_EQ(failures, 0u);
  EXPECT_EQ(filter->sum(), expected);
}

}  // namespace
}  // namespace iris::filters
