// One filter, many threads: no acknowledged add is missed by a concurrent reader, and the number of
// items is exact. Worth most under the thread sanitizer.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "filters/bloom_dump.h"
#include "tests/unit/filters/bloom_test_support.h"

namespace iris::filters {
namespace {

using testing::explicit_params;
using testing::filter_of;
using testing::Item;
using testing::stripes;

constexpr uint64_t kThreads = 4;
constexpr uint64_t kItems = 10'000;  // a thread

// Every thread adds its own items, publishes how far it got, and looks up what the others
// published: all of that must be found.
void add_and_watch(BloomFilter& filter) {
  std::array<std::atomic<uint64_t>, kThreads> acknowledged{};
  std::atomic<uint64_t> added{0}, missed{0}, refused{0};
  const auto work = [&](uint64_t self) {
    uint64_t own = 0;
    for (uint64_t i = 0; i < kItems; ++i) {
      const AddOutcome outcome = filter.add(filter.hash(Item(self, i).view()), stripes());
      own += outcome == AddOutcome::kAdded ? 1 : 0;
      if (outcome != AddOutcome::kAdded && outcome != AddOutcome::kPresent) ++refused;
      acknowledged[self].store(i + 1, std::memory_order_release);
      const uint64_t other = (self + 1 + i % (kThreads - 1)) % kThreads;
      const uint64_t known = acknowledged[other].load(std::memory_order_acquire);
      if (known == 0) continue;
      for (const uint64_t n : {known - 1, known / 2}) {
        if (!filter.contains(filter.hash(Item(other, n).view()))) ++missed;
      }
    }
    added += own;
  };
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(missed, 0u);
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(filter.item_count(), added);
}

TEST(BloomThreads, NoAcknowledgedAddIsMissed) {
  for (const LayoutChoice layout :
       {LayoutChoice::kBlocked, LayoutChoice::kPaged, LayoutChoice::kClassic}) {
    auto filter = filter_of({.rate = 0.001, .capacity = 2 * kThreads * kItems, .layout = layout});
    add_and_watch(*filter);
  }
  auto filter = BloomFilter::create(explicit_params(1'000'003, 5), 1, 1);
  add_and_watch(*filter);
}

TEST(BloomThreads, NoAcknowledgedAddIsMissedInAFilterOfOneChunk) {
  auto filter = filter_of({.rate = 0.25, .capacity = 2 * kThreads * kItems});
  add_and_watch(*filter);
}

TEST(BloomThreads, OneOfManyAddsOfTheSameItemIsTold) {
  for (const LayoutChoice layout :
       {LayoutChoice::kBlocked, LayoutChoice::kPaged, LayoutChoice::kClassic}) {
    auto filter = filter_of({.capacity = kItems, .nonscaling = true, .layout = layout});
    std::atomic<uint64_t> added{0}, records{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (uint64_t i = 0; i < kItems / 2; ++i) {
          const ItemHash hash = filter->hash(Item(9, i).view());
          if (filter->add(hash, stripes(), [&] { ++records; }) == AddOutcome::kAdded) ++added;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(added, filter->item_count());
    EXPECT_EQ(records, filter->item_count());
    EXPECT_LE(added, kItems / 2);
  }
}

TEST(BloomThreads, TheCapacityIsNeverPassed) {
  auto filter = filter_of({.capacity = 5'000, .nonscaling = true});
  std::atomic<uint64_t> added{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 3'000; ++i) {
        const AddOutcome outcome = filter->add(filter->hash(Item(t, i).view()), stripes());
        added += outcome == AddOutcome::kAdded ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(filter->item_count(), 5'000u);
  EXPECT_EQ(added, 5'000u);
}

// A thread takes places ahead. Who is refused for that gets them all the same.
TEST(BloomThreads, PlacesThatAThreadTookAheadAreNotLost) {
  constexpr uint64_t kCapacity = 1'000'000;
  for (const bool nonscaling : {true, false}) {
    auto filter = filter_of({.capacity = kCapacity, .nonscaling = nonscaling});
    filter->mutable_layer(0).set_item_count(kCapacity - 20'000);
    const auto add = [&](uint64_t family, uint64_t n) {
      return filter->add(filter->hash(Item(family, n).view()), stripes());
    };
    ASSERT_EQ(add(1, 0), AddOutcome::kAdded);  // this thread's purse is not the other's
    std::thread([&] { ASSERT_EQ(add(2, 0), AddOutcome::kAdded); }).join();
    AddOutcome outcome = AddOutcome::kAdded;
    for (uint64_t i = 1; outcome == AddOutcome::kAdded || outcome == AddOutcome::kPresent; ++i) {
      outcome = add(1, i);
    }
    EXPECT_EQ(outcome, nonscaling ? AddOutcome::kFull : AddOutcome::kNeedsLayer);
    EXPECT_EQ(filter->item_count(), kCapacity);
  }
}

TEST(BloomThreads, DumpsAndStatsRunBesideAdds) {
  auto filter = filter_of({.capacity = kThreads * kItems});
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      for (DumpStep step = dump_step(*filter, 0); step.next_iterator != 0;
           step = dump_step(*filter, static_cast<int64_t>(step.next_iterator))) {
      }
      EXPECT_LE(filter->stats().fill_ratio, 1.0);
      EXPECT_LE(filter->change_count(), kThreads * kItems);
    }
  });
  for (uint64_t i = 0; i < kItems; ++i) {
    filter->add(filter->hash(Item(1, i).view()), stripes());
  }
  stop = true;
  reader.join();
}

}  // namespace
}  // namespace iris::filters
