#include "server/keyspace.h"

#include "filters/check.h"

namespace iris::server {

KeyVersion Keyspace::version(size_t db, std::string_view name, int64_t now_ms) {
  const Entry* entry = find(db, Database::hashed(name), now_ms);
  if (entry == nullptr) return {};
  return {entry->stamp, entry->value->change_count()};
}

void Keyspace::changed(size_t db, HashedKey key) {
  generation_++;
  if (watcher_ != nullptr) watcher_->slot_will_change(db, Database::slot_of(key.hash));
}

void Keyspace::all_changed(size_t db) {
  generation_++;
  if (watcher_ != nullptr) watcher_->database_will_change(db);
}

// Removes a key that is there.
void Keyspace::drop(size_t db, HashedKey key) {
  Entry entry = databases_[db].remove(key);
  if (watcher_ != nullptr) watcher_->value_dropped(*entry.value);
  garbage_.values.push_back(std::move(entry.value));
}

Entry& Keyspace::insert(size_t db, HashedKey key, Entry entry, int64_t now_ms) {
  if (databases_[db].find(key) != nullptr) drop(db, key);
  entry.stamp = ++last_stamp_;
  entry.value->touch(now_ms);
  return databases_[db].insert(key, std::move(entry));
}

Entry& Keyspace::put(size_t db, HashedKey key, std::unique_ptr<Value> value, int64_t expire_at_ms,
                     int64_t now_ms, const Birth& birth) {
  changed(db, key);
  if (journal_ != nullptr) journal_->put({db, key.name}, expire_at_ms, *value, birth);
  if (watcher_ != nullptr) watcher_->value_born(*value, birth.kind);
  Entry entry;
  entry.value = std::move(value);
  entry.expire_at_ms = expire_at_ms;
  return insert(db, key, std::move(entry), now_ms);
}

void Keyspace::move(size_t from_db, HashedKey from, size_t to_db, HashedKey to, int64_t now_ms) {
  CHECK(databases_[from_db].find(from) != nullptr);
  changed(from_db, from);
  changed(to_db, to);
  if (journal_ != nullptr) journal_->moved({from_db, from.name}, {to_db, to.name});
  insert(to_db, to, databases_[from_db].remove(from), now_ms);
}

bool Keyspace::remove(size_t db, HashedKey key, int64_t now_ms) {
  if (remove_if_expired(db, key, now_ms) || databases_[db].find(key) == nullptr) return false;
  changed(db, key);
  if (journal_ != nullptr) journal_->deleted({db, key.name});
  drop(db, key);
  return true;
}

bool Keyspace::remove_if_expired(size_t db, HashedKey key, int64_t now_ms) {
  const Entry* entry = databases_[db].find(key);
  if (entry == nullptr || !entry->expired(now_ms)) return false;
  changed(db, key);
  expired_keys_.fetch_add(1, std::memory_order_relaxed);
  if (journal_ != nullptr) journal_->deleted({db, key.name});
  drop(db, key);
  return true;
}

void Keyspace::set_expiry(size_t db, HashedKey key, Entry& entry, int64_t expire_at_ms) {
  changed(db, key);
  if (journal_ != nullptr) journal_->expires({db, key.name}, expire_at_ms);
  databases_[db].set_expiry(key, entry, expire_at_ms);
  entry.stamp = ++last_stamp_;
}

void Keyspace::flush(size_t db) {
  if (databases_[db].size() == 0) return;
  all_changed(db);
  if (journal_ != nullptr) journal_->flushed(db);
  if (watcher_ != nullptr) {
    databases_[db].visit_all(
        [this](const std::string&, const Entry& entry) { watcher_->value_dropped(*entry.value); });
  }
  garbage_.databases.push_back(std::exchange(databases_[db], Database()));
}

void Keyspace::swap(size_t a, size_t b) {
  all_changed(a);
  all_changed(b);
  if (journal_ != nullptr) journal_->swapped(a, b);
  std::swap(databases_[a], databases_[b]);
}

}  // namespace iris::server
