// A lock for what takes well under a microsecond: who finds it held spins instead of sleeping. A
// holder that lost its core is waited for by yielding.
//
// Not for anything that waits itself: for a disk, a socket, another thread or much memory. It is
// not fair, and not recursive. Small: who has many of them aligns them to cache lines.
#pragma once

#include <atomic>

namespace iris::filters {

class SpinLock {
 public:
  void lock() {
    if (!try_lock()) wait_and_lock();
  }
  [[nodiscard]] bool try_lock() { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  void wait_and_lock();

  std::atomic<bool> held_{false};
};

}  // namespace iris::filters
