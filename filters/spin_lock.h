// A lock for what takes well under a microsecond: who finds it held spins instead of sleeping. A
// holder that lost its core is waited for by yielding.
//
// Who only reads, and can tell from a few words that are atomic, need not take it:
//
//     if (const auto moment = lock.moment()) {     nobody holds it
//       ... acquiring loads ...
//       if (lock.unchanged_since(*moment)) ...     nobody did meanwhile: they belong together
//     }
//
// Readers then leave the lock's cache line shared, where taking it would carry the line from core
// to core. Writers make those words releasing stores: who sees one of them sees the lock held.
//
// Not for anything that waits itself: for a disk, a socket, another thread or much memory. It is
// not fair, and not recursive. Small: who has many of them aligns them to cache lines.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace iris::filters {

class SpinLock {
 public:
  void lock() {
    if (!try_lock()) wait_and_lock();
  }
  [[nodiscard]] bool try_lock() { return (turns_.fetch_or(1, std::memory_order_acquire) & 1) == 0; }
  // Takes it if it has been free ever since `moment`.
  [[nodiscard]] bool lock_unchanged_since(uint32_t moment) {
    return turns_.compare_exchange_strong(moment, moment + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // Nothing if it is held.
  std::optional<uint32_t> moment() const {
    const uint32_t turns = turns_.load(std::memory_order_acquire);
    return (turns & 1) == 0 ? std::optional(turns) : std::nullopt;
  }
  bool unchanged_since(uint32_t moment) const {
    return turns_.load(std::memory_order_relaxed) == moment;
  }

 private:
  void wait_and_lock();

  // Grows when it is taken and when it is let go: odd while it is held.
  std::atomic<uint32_t> turns_{0};
};

}  // namespace iris::filters
