// A small number for each thread, its own as long as it lives: its place in whatever has one for
// every thread, so that it can be written without asking who else does.
#pragma once

#include <atomic>
#include <cstddef>

namespace iris::filters {

inline constexpr size_t kThreadSlots = 64;

// Not for use outside of this file.
namespace thread_slots {
inline constexpr size_t kUnknown = kThreadSlots + 1;
inline constinit thread_local size_t own = kUnknown;
inline constinit std::atomic<size_t> ever_used = 0;
size_t claim();
}  // namespace thread_slots

// kThreadSlots if all were taken when the thread first asked: it has none.
inline size_t thread_slot() {
  const size_t own = thread_slots::own;
  return own != thread_slots::kUnknown ? own : thread_slots::claim();
}

// No thread has had this slot yet, nor one above it. Who sees what a thread did sees its slot.
inline size_t unused_thread_slot() {
  return thread_slots::ever_used.load(std::memory_order_acquire);
}

}  // namespace iris::filters
