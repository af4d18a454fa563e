// What all commands on a filter begin with, of whatever kind it is: finding out what its key holds,
// and asking for the memory of a new filter or a new layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "server/call.h"

namespace iris::server {

constexpr std::string_view kNotFound = "ERR not found";
constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr std::string_view kItemExists = "ERR item exists";
constexpr std::string_view kNoMemoryToCreate = "ERR Insufficient memory to create filter";
constexpr std::string_view kNoMemoryToGrow = "ERR Insufficient memory";

enum class FilterState : uint8_t { kFound, kMissing, kOtherType, kLoading };

// What the key holds; null if it is missing. Takes what was planned for args[1], so a command that
// is planned looks up no other key with it.
inline Value* find_value(Call& call, std::string_view key) {
  if (Value* value = call.planned_value()) {
    call.stats.keyspace_hits.add();
    return value;
  }
  Entry* entry = call.find(key);
  return entry == nullptr ? nullptr : entry->value.get();
}

// Whether a new filter may take so many bytes, which are announced then. False after an error
// reply.
inline bool allow_new_filter(Call& call, uint64_t bytes) {
  const uint64_t limit = call.engine.config.filter_max_memory_bytes;
  if (limit != 0 && bytes > limit) {
    call.fail(kNoMemoryToCreate);
    return false;
  }
  return call.allow_memory(bytes);
}

// Whether a filter of `filter_bytes` may take `more_bytes`, which are announced then.
inline bool allow_growth(Call& call, uint64_t filter_bytes, uint64_t more_bytes) {
  const Config& config = call.engine.config;
  const uint64_t limit = config.filter_max_memory_bytes;
  if (limit != 0 && (filter_bytes > limit || more_bytes > limit - filter_bytes)) return false;
  if (!call.engine.memory.allows(more_bytes, config.maxmemory_bytes)) return false;
  call.engine.memory.announce(more_bytes);
  return true;
}

// Puts a value under a key that is missing, or expired and not removed yet.
inline void put_new_filter(Call& call, std::string_view key, std::unique_ptr<Value> value,
                           const Birth& birth = {}) {
  const HashedKey hashed = Database::hashed(key);
  call.engine.keyspace.remove_if_expired(call.session.db, hashed, call.now_ms);
  call.engine.keyspace.put(call.session.db, hashed, std::move(value), kNeverExpires, call.now_ms,
                           birth);
}

// A filter of explicit dimensions is never full: its capacity is "no limit".
inline int64_t as_integer(uint64_t value) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(std::min(value, kMost));
}

}  // namespace iris::server
