#include "filters/spin_lock.h"

#include <thread>

namespace iris::filters {
namespace {

// About 5 microseconds of pauses, longer than any holder needs that still has its core.
constexpr int kSpinsBeforeYield = 128;

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// Test and test-and-set: waiting on a plain load keeps the line shared until the holder lets go.
void SpinLock::wait_and_lock() {
  int spins = 0;
  do {
    while (!moment()) {
      if (++spins < kSpinsBeforeYield) {
        pause_core();
      } else {
        std::this_thread::yield();
      }
    }
  } while (!try_lock());
}

}  // namespace iris::filters
