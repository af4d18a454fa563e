#include "server/world_lock.h"

namespace iris::server {

void WorldLock::enter(size_t member) {
  while (exclusive_wanted()) {
    // The gate is held for the whole exclusive step; passing through it is the wait.
    std::lock_guard<std::mutex> wait(gate_);
  }
  members_[member].mutex.lock();
}

void WorldLock::leave(size_t member) {
  members_[member].mutex.unlock();
}

void WorldLock::lock_exclusive() {
  wanted_.fetch_add(1, std::memory_order_relaxed);
  gate_.lock();
  for (Member& member : members_) member.mutex.lock();
}

void WorldLock::unlock_exclusive() {
  for (Member& member : members_) member.mutex.unlock();
  wanted_.fetch_sub(1, std::memory_order_relaxed);
  gate_.unlock();
}

}  // namespace iris::server
