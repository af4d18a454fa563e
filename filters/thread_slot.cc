#include "filters/thread_slot.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace iris::filters::thread_slots {

namespace {

std::array<std::atomic_flag, kThreadSlots> taken;

// Who gets a slot sees all that its last owner did with it.
class Claim {
 public:
  Claim() {
    while (slot_ < kThreadSlots && taken[slot_].test_and_set(std::memory_order_acquire)) ++slot_;
    size_t used = ever_used.load(std::memory_order_relaxed);
    const size_t needed = std::min(slot_ + 1, kThreadSlots);
    while (used < needed && !ever_used.compare_exchange_weak(used, needed)) {
    }
  }
  ~Claim() {
    own = kThreadSlots;  // what the thread's other destructors do, it does without one
    if (slot_ < kThreadSlots) taken[slot_].clear(std::memory_order_release);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  size_t slot() const { return slot_; }

 private:
  size_t slot_ = 0;
};

}  // namespace

[[gnu::noinline]] size_t claim() {
  thread_local const Claim mine;
  own = mine.slot();
  return own;
}

}  // namespace iris::filters::thread_slots
