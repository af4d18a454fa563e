// One numbered database: keys and what they hold.
//
// The table is cut into a fixed number of slots by key hash, each a small hash map:
//
//   hash of key   | 14 bits: slot | 50 bits: place inside the slot's map |
//
// A key never changes its slot, so a SCAN cursor is simply a slot number: whatever grows, shrinks
// or is rehashed between two calls, a key that is there all the time is returned at least once. A
// bitmap of the slots that hold keys lets SCAN and RANDOMKEY skip the empty ones.
//
// Not thread-safe by itself: readers are inside the world lock, changes happen in its exclusive
// state.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <tsl/robin_map.h>

#include "server/value.h"

namespace iris::server {

constexpr int64_t kNeverExpires = -1;

struct Entry {
  std::unique_ptr<Value> value;
  int64_t expire_at_ms = kNeverExpires;
  // Unique; renewed whenever the key itself changes (created, replaced, given an expiry).
  uint64_t stamp = 0;

  bool expired(int64_t now_ms) const { return expire_at_ms >= 0 && expire_at_ms <= now_ms; }
};

// A key with its hash, computed once.
struct HashedKey {
  std::string_view name;
  uint64_t hash;
};

class Database {
 public:
  static constexpr uint32_t kSlotBits = 14;
  static constexpr uint32_t kSlots = 1u << kSlotBits;

  Database();
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  static HashedKey hashed(std::string_view name);
  static uint32_t slot_of(uint64_t hash) { return static_cast<uint32_t>(hash >> (64 - kSlotBits)); }

  Entry* find(HashedKey key);
  const Entry* find(HashedKey key) const { return const_cast<Database*>(this)->find(key); }
  // The key must not be there. References to other entries become invalid.
  Entry& insert(HashedKey key, Entry entry);
  // Takes the entry out; the key must be there.
  Entry remove(HashedKey key);
  void set_expiry(HashedKey key, Entry& entry, int64_t expire_at_ms);

  uint64_t size() const { return size_; }
  uint64_t volatile_keys() const { return volatile_keys_; }
  // About what the table itself takes, without the values and long names.
  uint64_t overhead_bytes() const;

  // The first slot at or after `slot` that holds a key; kSlots if there is none.
  uint32_t next_used_slot(uint32_t slot) const;
  uint64_t slot_volatile_keys(uint32_t slot) const;
  // Calls visit(name, entry) for every key of the slot.
  template <class Visit>
  void visit_slot(uint32_t slot, Visit&& visit) const;
  template <class Visit>
  void visit_all(Visit&& visit) const {
    for (uint32_t slot = next_used_slot(0); slot < kSlots; slot = next_used_slot(slot + 1)) {
      visit_slot(slot, visit);
    }
  }

 private:
  struct HashOfName {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return hashed(name).hash; }
  };
  struct EqualNames {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  };
  using Map = tsl::robin_map<std::string, Entry, HashOfName, EqualNames>;
  // A map half full, the library's own limit, would cost a small filter a sixth of its memory more.
  static Map empty_map() {
    Map map;
    map.max_load_factor(0.8F);
    return map;
  }
  struct Slot {
    Map map = empty_map();
    uint64_t volatile_keys = 0;
  };

  // Made at the first insertion: an empty database costs nothing.
  std::unique_ptr<Slot[]> slots_;
  std::array<uint64_t, kSlots / 64> used_{};
  uint64_t size_ = 0;
  uint64_t volatile_keys_ = 0;
};

template <class Visit>
void Database::visit_slot(uint32_t slot, Visit&& visit) const {
  if (!slots_) return;
  for (const auto& [name, entry] : slots_[slot].map) visit(name, entry);
}

}  // namespace iris::server
