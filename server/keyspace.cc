#include "server/keyspace.h"

namespace iris::server {

KeyVersion Keyspace::version(size_t db, std::string_view name, int64_t now_ms) {
  const Entry* entry = find(db, Database::hashed(name), now_ms);
  if (entry == nullptr) return {};
  return {entry->stamp, entry->value->change_count()};
}

Entry& Keyspace::put(size_t db, HashedKey key, std::unique_ptr<Value> value, int64_t expire_at_ms,
                     int64_t now_ms) {
  Database& database = databases_[db];
  if (database.find(key) != nullptr) {
    garbage_.values.push_back(std::move(database.remove(key).value));
  }
  changed();
  Entry entry;
  entry.value = std::move(value);
  entry.expire_at_ms = expire_at_ms;
  entry.stamp = ++last_stamp_;
  entry.touch(now_ms);
  return database.insert(key, std::move(entry));
}

std::unique_ptr<Value> Keyspace::take(size_t db, HashedKey key, int64_t now_ms) {
  if (remove_if_expired(db, key, now_ms) || databases_[db].find(key) == nullptr) return nullptr;
  changed();
  return std::move(databases_[db].remove(key).value);
}

bool Keyspace::remove(size_t db, HashedKey key, int64_t now_ms) {
  std::unique_ptr<Value> value = take(db, key, now_ms);
  if (value == nullptr) return false;
  garbage_.values.push_back(std::move(value));
  return true;
}

bool Keyspace::remove_if_expired(size_t db, HashedKey key, int64_t now_ms) {
  const Entry* entry = databases_[db].find(key);
  if (entry == nullptr || !entry->expired(now_ms)) return false;
  changed();
  expired_keys_.fetch_add(1, std::memory_order_relaxed);
  garbage_.values.push_back(std::move(databases_[db].remove(key).value));
  return true;
}

void Keyspace::set_expiry(size_t db, HashedKey key, Entry& entry, int64_t expire_at_ms) {
  changed();
  databases_[db].set_expiry(key, entry, expire_at_ms);
  entry.stamp = ++last_stamp_;
}

void Keyspace::flush(size_t db) {
  changed();
  garbage_.databases.push_back(std::exchange(databases_[db], Database()));
}

void Keyspace::swap(size_t a, size_t b) {
  changed();
  std::swap(databases_[a], databases_[b]);
}

}  // namespace iris::server
