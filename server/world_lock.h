// The world lock: a big-reader lock over all shared state, the keyspace first of all.
//
//   member 0     member 1     ...   member N-1          exclusive step of member 1
//   +-------+    +-------+          +-------+           raise `wanted_`, take the gate,
//   | mutex |    | mutex |          | mutex |           take every mutex in order, do the one step,
//   +-------+    +-------+          +-------+           let all go
//   own cache line each, so entering costs an uncontended lock and nothing is shared
//
// Each thread that works on shared state is a member with a number of its own. A member inside
// (enter/leave) may find keys and work on their filters, side by side with the others. A member
// that changes the keyspace, or needs all of it at rest, takes the exclusive state, which waits for
// everyone inside and keeps everyone else out.
//
// Invariants:
//   1. Nobody asks for the exclusive state while inside: leave first. So there is no upgrade, and
//      no two members can wait for each other.
//   2. Who enters looks at `wanted_` first and waits at the gate, so an exclusive step waits for
//      one batch of each member at most, however busy they are.
//   3. Exclusive steps are taken in the order in which they were asked for, and after kStreak of
//      them whoever waits at the gate goes first: nobody waits for ever, however many there are.
//   4. A pointer into the keyspace is good only until its member leaves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace iris::server {

class WorldLock {
 public:
  // More than one, for a pipeline of exclusive commands would else wait for a batch of everybody
  // else before each of its commands.
  static constexpr uint32_t kStreak = 16;

  explicit WorldLock(size_t members) : members_(members) {}

  void enter(size_t member);
  void leave(size_t member);

  void lock_exclusive();
  void unlock_exclusive();

  // Somebody waits for the exclusive state: a long command should leave and enter again.
  bool exclusive_wanted() const { return wanted_.load(std::memory_order_relaxed) > 0; }

 private:
  struct alignas(64) Member {
    std::mutex mutex;
  };

  void wait_at_gate(size_t member);

  std::vector<Member> members_;
  std::atomic<uint32_t> wanted_{0};

  std::mutex gate_;
  std::condition_variable opened_;    // for members that wait at the gate
  std::condition_variable released_;  // for exclusive steps that wait for their turn
  // Under `gate_`:
  uint64_t next_ticket_ = 0;  // of exclusive steps
  uint64_t now_served_ = 0;
  uint64_t openings_ = 0;  // times that those at the gate were let in before the next step
  uint32_t waiting_ = 0;   // members at the gate
  uint32_t owed_ = 0;      // members that were let in and have not entered yet
  uint32_t streak_ = 0;    // exclusive steps since somebody waits at the gate
};

// Inside for a scope.
class InsideWorld {
 public:
  InsideWorld(WorldLock& lock, size_t member) : lock_(lock), member_(member) {
    lock_.enter(member_);
  }
  ~InsideWorld() { lock_.leave(member_); }
  InsideWorld(const InsideWorld&) = delete;
  InsideWorld& operator=(const InsideWorld&) = delete;

 private:
  WorldLock& lock_;
  size_t member_;
};

}  // namespace iris::server
