#include "server/world_lock.h"

namespace iris::server {

void WorldLock::enter(size_t member) {
  if (exclusive_wanted()) {
    wait_at_gate(member);
  } else {
    members_[member].mutex.lock();
  }
}

// Enters while it holds the gate: no exclusive step can begin then, so the mutex is free.
void WorldLock::wait_at_gate(size_t member) {
  std::unique_lock<std::mutex> gate(gate_);
  const uint64_t openings = openings_;
  waiting_++;
  opened_.wait(gate, [&] { return openings_ != openings || !exclusive_wanted(); });
  waiting_--;
  members_[member].mutex.lock();
  if (openings_ != openings && --owed_ == 0) released_.notify_all();
}

void WorldLock::leave(size_t member) {
  members_[member].mutex.unlock();
}

void WorldLock::lock_exclusive() {
  wanted_.fetch_add(1, std::memory_order_relaxed);
  {
    std::unique_lock<std::mutex> gate(gate_);
    const uint64_t ticket = next_ticket_++;
    released_.wait(gate, [&] { return now_served_ == ticket && owed_ == 0; });
  }
  for (Member& member : members_) member.mutex.lock();
}

void WorldLock::unlock_exclusive() {
  for (Member& member : members_) member.mutex.unlock();
  const std::lock_guard<std::mutex> gate(gate_);
  now_served_++;
  wanted_.fetch_sub(1, std::memory_order_relaxed);
  streak_ = waiting_ == 0 ? 0 : streak_ + 1;
  if (streak_ == kStreak) {
    streak_ = 0;
    openings_++;
    owed_ = waiting_;
  }
  if (owed_ > 0 || !exclusive_wanted()) opened_.notify_all();
  if (owed_ == 0) released_.notify_all();
}

}  // namespace iris::server
