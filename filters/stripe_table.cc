#include "filters/stripe_table.h"

#include <algorithm>
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
void StripeTable::wait_and_lock(std::atomic<bool>& held) {
  int spins = 0;
  do {
    while (held.load(std::memory_order_relaxed)) {
      if (++spins < kSpinsBeforeYield) {
        pause_core();
      } else {
        std::this_thread::yield();
      }
    }
  } while (held.exchange(true, std::memory_order_acquire));
}

void StripeSet::add_filter(uint64_t filter_id, uint64_t chunks) {
  const uint64_t stripes = std::min<uint64_t>(chunks, StripeTable::kStripes);
  for (uint64_t chunk = 0; chunk < stripes; ++chunk) add(StripeTable::index_of(filter_id, chunk));
}

uint32_t StripeSet::size() const {
  uint32_t count = 0;
  for (const uint64_t word : words_) count += static_cast<uint32_t>(std::popcount(word));
  return count;
}

}  // namespace iris::filters
