#include "server/call.h"

#include <algorithm>
#include <string>
#include <utility>

namespace iris::server {

void Call::fail(std::string_view error) {
  failed = true;
  stats.count_error(error);
  reply.error(error);
}

void Call::fail_arity() {
  fail("ERR wrong number of arguments for '" + command.full_name + "' command");
}

Entry* Call::find(HashedKey key, Touch touch) {
  Entry* entry = engine.keyspace.find(session.db, key, now_ms);
  if (entry == nullptr) {
    stats.keyspace_misses.add();
    return nullptr;
  }
  stats.keyspace_hits.add();
  const bool unwanted = session.record->has_flag(kClientNoTouch);
  if (touch == Touch::kAlways || (touch == Touch::kUnlessUnwanted && !unwanted)) {
    entry->value->touch(now_ms);
  }
  return entry;
}

bool Call::yield() {
  if (exclusive || !engine.world.exclusive_wanted()) return false;
  engine.world.leave(member);
  engine.world.enter(member);
  return true;
}

bool Call::allow_memory(uint64_t bytes) {
  if (!engine.memory.allows(bytes, engine.config.maxmemory_bytes)) {
    fail("OOM command not allowed when used memory > 'maxmemory'.");
    return false;
  }
  engine.memory.announce(bytes);
  return true;
}

uint64_t Call::memory_left_for_a_filter() const {
  constexpr uint64_t kNoLimit = UINT64_MAX;
  const Config& config = engine.config;
  const uint64_t of_one =
      config.filter_max_memory_bytes == 0 ? kNoLimit : config.filter_max_memory_bytes;
  if (config.maxmemory_bytes == 0) return of_one;
  const uint64_t used = engine.memory.counted_bytes();
  return std::min(of_one, used < config.maxmemory_bytes ? config.maxmemory_bytes - used : 0);
}

bool Call::reply_compactly(std::string& booleans, std::string_view error) {
  // Below this the reply is smaller than what keeping it apart costs.
  constexpr size_t kCompactFrom = 4096;
  if (booleans.size() < kCompactFrom || exclusive) return false;
  session.compact_reply =
      std::make_unique<CompactReply>(CompactReply{reply.version(), std::move(booleans), {}});
  if (!error.empty()) {
    failed = true;
    stats.count_error(error);
    session.compact_reply->error = error;
  }
  return true;
}

ExclusiveStep::ExclusiveStep(Call& call) : call_(call), taken_(!call.exclusive) {
  if (!taken_) return;
  call_.engine.world.leave(call_.member);
  call_.engine.world.lock_exclusive();
  call_.exclusive = true;
  call_.engine.journal.begin_step();
}

ExclusiveStep::~ExclusiveStep() {
  if (!taken_) return;
  call_.engine.journal.end_step();
  Garbage garbage = call_.engine.keyspace.take_garbage();
  call_.exclusive = false;
  call_.engine.world.unlock_exclusive();
  if (!garbage.empty()) call_.engine.reaper.dispose(std::move(garbage));
  call_.engine.world.enter(call_.member);
}

}  // namespace iris::server
