// All databases, and the rules that hold for every key: expiry, identity, and the generation that
// tells planned work when it has gone stale.
//
// Threads: const members and find() inside the world lock; everything else in its exclusive state.
//
// Invariants:
//   1. An expired key is missing for every reader, whether or not it has been removed yet.
//   2. Each change of the keyspace bumps generation(); a pointer found under an older generation
//      must be looked up again.
//   3. Each change is told to the journal, and to the watcher before it happens: so the log knows
//      all of them, and a snapshot can list a slot as it was.
//   4. What is removed is not freed here but put on the garbage heap: unmapping a filter of a
//      gigabyte takes long, and nobody should wait for it in the exclusive state.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "server/database.h"
#include "server/journal.h"

namespace iris::server {

// Sees changes before they happen, in the exclusive state.
class KeyspaceWatcher {
 public:
  virtual ~KeyspaceWatcher() = default;
  virtual void slot_will_change(size_t db, uint32_t slot) = 0;
  // Flushed or swapped.
  virtual void database_will_change(size_t db) = 0;
  // It has come into the keyspace, with content that the log does not tell: see Birth.
  virtual void value_born(Value& value, Birth::Kind birth) = 0;
  // No key holds it any more. It may be freed after this.
  virtual void value_dropped(const Value& value) = 0;
};

// What WATCH remembers of a key and EXEC compares; all zero: there is no such key.
struct KeyVersion {
  uint64_t stamp = 0;
  uint64_t changes = 0;
  bool operator==(const KeyVersion&) const = default;
};

// Values and whole databases that nobody can reach any more. Destroying it frees them.
struct Garbage {
  std::vector<std::unique_ptr<Value>> values;
  std::vector<Database> databases;

  bool empty() const { return values.empty() && databases.empty(); }
};

class Keyspace {
 public:
  explicit Keyspace(size_t databases, Journal* journal = nullptr)
      : databases_(databases), journal_(journal) {}

  // Null: nobody watches.
  void set_watcher(KeyspaceWatcher* watcher) { watcher_ = watcher; }

  // Null if there is no such key or it has expired.
  Entry* find(size_t db, HashedKey key, int64_t now_ms) {
    Entry* entry = databases_[db].find(key);
    return entry == nullptr || entry->expired(now_ms) ? nullptr : entry;
  }
  KeyVersion version(size_t db, std::string_view name, int64_t now_ms);

  // Creates or replaces the key. References to other entries become invalid.
  Entry& put(size_t db, HashedKey key, std::unique_ptr<Value> value, int64_t expire_at_ms,
             int64_t now_ms, const Birth& birth = {});
  // False if there is no such key (an expired one is removed and counted as expired).
  bool remove(size_t db, HashedKey key, int64_t now_ms);
  // Gives the key, which must exist, another name or database and replaces what is there.
  void move(size_t from_db, HashedKey from, size_t to_db, HashedKey to, int64_t now_ms);
  bool remove_if_expired(size_t db, HashedKey key, int64_t now_ms);
  void set_expiry(size_t db, HashedKey key, Entry& entry, int64_t expire_at_ms);
  void flush(size_t db);
  void swap(size_t a, size_t b);
  Garbage take_garbage() { return std::exchange(garbage_, {}); }

  // An identity for a value that is about to be made.
  uint64_t next_id() { return ++last_id_; }
  // Recovery has met this identity: it must not be given out again.
  void skip_id(uint64_t id) { last_id_ = std::max(last_id_, id); }

  const Database& database(size_t db) const { return databases_[db]; }
  size_t databases() const { return databases_.size(); }
  uint64_t generation() const { return generation_; }
  uint64_t expired_keys() const { return expired_keys_.load(std::memory_order_relaxed); }
  void reset_expired_keys() { expired_keys_.store(0, std::memory_order_relaxed); }

 private:
  void changed(size_t db, HashedKey key);
  void all_changed(size_t db);
  Entry& insert(size_t db, HashedKey key, Entry entry, int64_t now_ms);
  void drop(size_t db, HashedKey key);

  std::vector<Database> databases_;
  Journal* journal_;
  KeyspaceWatcher* watcher_ = nullptr;
  uint64_t generation_ = 1;
  uint64_t last_id_ = 0;
  uint64_t last_stamp_ = 0;
  std::atomic<uint64_t> expired_keys_{0};
  Garbage garbage_;
};

}  // namespace iris::server
