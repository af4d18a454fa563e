#include "server/world_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace iris::server {
namespace {

TEST(WorldLock, NobodyIsInsideDuringAnExclusiveStep) {
  constexpr size_t kMembers = 4;
  constexpr int kRounds = 5'000;
  WorldLock world(kMembers);
  std::atomic<int> inside{0};
  uint64_t steps = 0;  // plain: the lock is what keeps it right
  std::atomic<int> met{0};
  std::vector<std::thread> threads;
  for (size_t member = 0; member < kMembers; member++) {
    threads.emplace_back([&, member] {
      for (int i = 0; i < kRounds; i++) {
        world.enter(member);
        inside++;
        inside--;
        world.leave(member);
        world.lock_exclusive();
        if (inside != 0) met++;
        steps++;
        world.unlock_exclusive();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(met, 0);
  EXPECT_EQ(steps, kMembers * kRounds);
  EXPECT_FALSE(world.exclusive_wanted());
}

// Of a thread of this process: 'S' if it waits for something.
char state_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(") ");
  return name_end == std::string::npos ? '?' : line[name_end + 2];
}

// Whether a member that waits gets in within a streak of exclusive steps.
bool enters_between_steps() {
  WorldLock world(1);
  world.lock_exclusive();
  std::atomic<pid_t> arrived{0};
  std::atomic<bool> entered{false};
  std::thread member([&] {
    arrived = gettid();
    world.enter(0);
    entered = true;
    world.leave(0);
  });
  while (arrived == 0 || state_of(arrived) != 'S') std::this_thread::yield();
  for (uint32_t i = 0; i < WorldLock::kStreak; i++) {
    world.unlock_exclusive();
    world.lock_exclusive();
  }
  const bool in_time = entered;
  world.unlock_exclusive();
  member.join();
  return in_time;
}

// Many times, for an unfair lock is unfair only now and then.
TEST(WorldLock, ExclusiveStepsWithoutAPauseLetOthersIn) {
  for (int i = 0; i < 500; i++) ASSERT_TRUE(enters_between_steps()) << "in round " << i;
}

}  // namespace
}  // namespace iris::server
