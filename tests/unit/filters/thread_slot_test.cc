#include "filters/thread_slot.h"

#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace iris::filters {
namespace {

// The slots of so many threads that live side by side.
std::multiset<size_t> slots_of(ptrdiff_t count) {
  std::mutex mutex;
  std::multiset<size_t> slots;
  std::latch all_have_one(count);
  std::vector<std::thread> threads;
  for (ptrdiff_t i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      const size_t slot = thread_slot();
      EXPECT_EQ(thread_slot(), slot);
      {
        const std::lock_guard guard(mutex);
        slots.insert(slot);
      }
      all_have_one.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return slots;
}

TEST(ThreadSlot, NoTwoThreadsHaveTheSame) {
  for (int round = 0; round < 100; ++round) {
    const size_t own = thread_slot();
    ASSERT_LT(own, kThreadSlots);
    const auto others = slots_of(kThreadSlots - 1);
    EXPECT_EQ(std::set<size_t>(others.begin(), others.end()).size(), kThreadSlots - 1);
    EXPECT_FALSE(others.contains(own));
    EXPECT_FALSE(others.contains(kThreadSlots)) << "those of ended threads are free again";
  }
}

TEST(ThreadSlot, WhoComesTooLateHasNone) {
  ASSERT_LT(thread_slot(), kThreadSlots);
  const auto others = slots_of(kThreadSlots + 4);
  EXPECT_EQ(others.count(kThreadSlots), 5u);
  EXPECT_EQ(std::set<size_t>(others.begin(), others.end()).size(), kThreadSlots);
}

}  // namespace
}  // namespace iris::filters
