#include "server/active_expiry.h"

#include <utility>

namespace iris::server {

namespace {

// Removed in one exclusive step, which everybody waits for.
constexpr size_t kKeysPerStep = 256;

}  // namespace

void ActiveExpiry::run(int64_t budget_us) {
  const int64_t deadline_ns = engine_.clock.monotonic_ns() + budget_us * 1000;
  const int64_t now_ms = engine_.clock.wall_ms();
  db_ = 0;
  bool more = true;
  while (more && engine_.clock.monotonic_ns() < deadline_ns) {
    more = collect(now_ms, deadline_ns);
    if (!expired_.empty()) remove_collected(now_ms);
  }
}

bool ActiveExpiry::collect(int64_t now_ms, int64_t deadline_ns) {
  InsideWorld inside(engine_.world, member_);
  for (; db_ < engine_.keyspace.databases(); db_++, slot_ = 0) {
    const Database& database = engine_.keyspace.database(db_);
    if (database.volatile_keys() == 0) continue;
    for (slot_ = database.next_used_slot(slot_); slot_ < Database::kSlots;
         slot_ = database.next_used_slot(slot_ + 1)) {
      if (database.slot_volatile_keys(slot_) == 0) continue;
      database.visit_slot(slot_, [&](const std::string& name, const Entry& entry) {
        if (entry.expired(now_ms)) expired_.push_back({db_, name});
      });
      if (expired_.size() >= kKeysPerStep || engine_.world.exclusive_wanted() ||
          engine_.clock.monotonic_ns() >= deadline_ns) {
        slot_++;
        return true;
      }
    }
  }
  return false;
}

void ActiveExpiry::remove_collected(int64_t now_ms) {
  engine_.world.lock_exclusive();
  engine_.journal.begin_step();
  for (const ExpiredKey& key : expired_) {
    // It may have been removed, or given a longer life, since it was seen.
    engine_.keyspace.remove_if_expired(key.db, Database::hashed(key.name), now_ms);
  }
  engine_.journal.end_step();
  Garbage garbage = engine_.keyspace.take_garbage();
  engine_.world.unlock_exclusive();
  engine_.reaper.dispose(std::move(garbage));
  expired_.clear();
}

}  // namespace iris::server
