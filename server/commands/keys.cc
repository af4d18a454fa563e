// Commands on keys of any type: to see, delete, rename, move and copy them.

#include <string>
#include <utility>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/text.h"

namespace iris::server {

namespace {

constexpr std::string_view kNoSuchKey = "ERR no such key";

// The index of a database, or an error reply.
std::optional<size_t> database_index(Call& call, std::string_view text,
                                     std::string_view not_a_number) {
  const auto index = parse_integer(text);
  if (!index) {
    call.fail(not_a_number);
    return std::nullopt;
  }
  if (*index < 0 || static_cast<uint64_t>(*index) >= call.engine.keyspace.databases()) {
    call.fail("ERR DB index is out of range");
    return std::nullopt;
  }
  return static_cast<size_t>(*index);
}

// DEL and UNLINK: what is removed is freed by the reaper in both cases.
void del(Call& call) {
  int64_t removed = 0;
  for (const std::string_view key : call.args.subspan(1)) {
    removed += call.engine.keyspace.remove(call.session.db, Database::hashed(key), call.now_ms);
  }
  call.reply.integer(removed);
}

// EXISTS and TOUCH: a key that is named twice counts twice.
void count_keys(Call& call, Call::Touch touch) {
  int64_t found = 0;
  for (const std::string_view key : call.args.subspan(1)) found += call.find(key, touch) != nullptr;
  call.reply.integer(found);
}

void exists(Call& call) {
  count_keys(call, Call::Touch::kNever);
}

// Also for a client that does not want its other commands to count.
void touch(Call& call) {
  count_keys(call, Call::Touch::kAlways);
}

void type(Call& call) {
  const Entry* entry = call.find(call.args[1], Call::Touch::kNever);
  call.reply.simple(entry == nullptr ? "none" : entry->value->type_name());
}

void rename_key(Call& call, bool only_if_free) {
  Keyspace& keyspace = call.engine.keyspace;
  const size_t db = call.session.db;
  const HashedKey from = Database::hashed(call.args[1]);
  const HashedKey to = Database::hashed(call.args[2]);
  if (keyspace.find(db, from, call.now_ms) == nullptr) {
    call.fail(kNoSuchKey);
    return;
  }
  if (only_if_free && keyspace.find(db, to, call.now_ms) != nullptr) {
    call.reply.integer(0);
    return;
  }
  if (from.name != to.name) {
    keyspace.move(db, from, db, to, call.now_ms);
  }
  if (only_if_free) {
    call.reply.integer(1);
  } else {
    call.reply.ok();
  }
}

void rename(Call& call) {
  rename_key(call, false);
}
void renamenx(Call& call) {
  rename_key(call, true);
}

void move(Call& call) {
  Keyspace& keyspace = call.engine.keyspace;
  const auto to = database_index(call, call.args[2], "ERR value is not an integer or out of range");
  if (!to) return;
  const size_t from = call.session.db;
  if (*to == from) {
    call.fail("ERR source and destination objects are the same");
    return;
  }
  const HashedKey key = Database::hashed(call.args[1]);
  if (keyspace.find(from, key, call.now_ms) == nullptr ||
      keyspace.find(*to, key, call.now_ms) != nullptr) {
    call.reply.integer(0);
    return;
  }
  keyspace.move(from, key, *to, key, call.now_ms);
  call.reply.integer(1);
}

struct CopyOptions {
  size_t db;
  bool replace = false;
};

std::optional<CopyOptions> copy_options(Call& call) {
  CopyOptions options{call.session.db};
  for (size_t i = 3; i < call.args.size(); i++) {
    if (equal_ignoring_case(call.args[i], "replace")) {
      options.replace = true;
    } else if (equal_ignoring_case(call.args[i], "db") && i + 1 < call.args.size()) {
      const auto db =
          database_index(call, call.args[++i], "ERR value is not an integer or out of range");
      if (!db) return std::nullopt;
      options.db = *db;
    } else {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  return options;
}

void copy(Call& call) {
  const auto options = copy_options(call);
  if (!options) return;
  Keyspace& keyspace = call.engine.keyspace;
  const HashedKey from = Database::hashed(call.args[1]);
  const HashedKey to = Database::hashed(call.args[2]);
  if (options->db == call.session.db && from.name == to.name) {
    call.fail("ERR source and destination objects are the same");
    return;
  }
  const Entry* entry = keyspace.find(call.session.db, from, call.now_ms);
  const bool taken = keyspace.find(options->db, to, call.now_ms) != nullptr;
  if (entry == nullptr || (taken && !options->replace)) {
    call.reply.integer(0);
    return;
  }
  if (!call.allow_memory(entry->value->memory_bytes())) return;
  std::unique_ptr<Value> value = entry->value->copy(keyspace.next_id());
  if (value == nullptr) {
    call.fail("ERR Insufficient memory");
    return;
  }
  const uint64_t source = entry->value->id();
  keyspace.put(options->db, to, std::move(value), entry->expire_at_ms, call.now_ms,
               {Birth::Kind::kCopied, {}, {&source, 1}});
  call.reply.integer(1);
}

// ASYNC or SYNC: nothing is freed in the caller's time either way.
bool flush_option_fits(Call& call) {
  if (call.args.size() == 1) return true;
  if (call.args.size() == 2 &&
      (equal_ignoring_case(call.args[1], "async") || equal_ignoring_case(call.args[1], "sync"))) {
    return true;
  }
  call.fail_syntax();
  return false;
}

void flushdb(Call& call) {
  if (!flush_option_fits(call)) return;
  call.engine.keyspace.flush(call.session.db);
  call.reply.ok();
}

void flushall(Call& call) {
  if (!flush_option_fits(call)) return;
  for (size_t db = 0; db < call.engine.keyspace.databases(); db++) call.engine.keyspace.flush(db);
  call.reply.ok();
}

void swapdb(Call& call) {
  const auto a = database_index(call, call.args[1], "ERR invalid first DB index");
  if (!a) return;
  const auto b = database_index(call, call.args[2], "ERR invalid second DB index");
  if (!b) return;
  if (*a != *b) call.engine.keyspace.swap(*a, *b);
  call.reply.ok();
}

constexpr std::string_view kGeneric = "generic";

const CommandSpec kCommands[] = {
    {"del",
     -2,
     kWrite | kExclusive,
     {1, -1, 1},
     kGeneric,
     "1.0.0",
     "O(N), where N is the number of keys",
     "Deletes keys",
     "key [key ...]",
     del},
    {"unlink",
     -2,
     kWrite | kFast | kExclusive,
     {1, -1, 1},
     kGeneric,
     "4.0.0",
     "O(N), where N is the number of keys",
     "Deletes keys; their memory is freed in the background",
     "key [key ...]",
     del},
    {"exists",
     -2,
     kReadonly | kFast,
     {1, -1, 1},
     kGeneric,
     "1.0.0",
     "O(N), where N is the number of keys",
     "Tells how many of the keys exist",
     "key [key ...]",
     exists},
    {"touch",
     -2,
     kReadonly | kFast,
     {1, -1, 1},
     kGeneric,
     "3.2.1",
     "O(N), where N is the number of keys",
     "Tells how many of the keys exist, as an access to them",
     "key [key ...]",
     touch},
    {"type",
     2,
     kReadonly | kFast,
     {1, 1, 1},
     kGeneric,
     "1.0.0",
     "O(1)",
     "Tells the type of what a key holds",
     "key",
     type},
    {"rename",
     3,
     kWrite | kExclusive,
     {1, 2, 1},
     kGeneric,
     "1.0.0",
     "O(1)",
     "Renames a key and replaces what the new name held",
     "key newkey",
     rename},
    {"renamenx",
     3,
     kWrite | kFast | kExclusive,
     {1, 2, 1},
     kGeneric,
     "1.0.0",
     "O(1)",
     "Renames a key if the new name is free",
     "key newkey",
     renamenx},
    {"move",
     3,
     kWrite | kFast | kExclusive,
     {1, 1, 1},
     kGeneric,
     "1.0.0",
     "O(1)",
     "Moves a key to another database",
     "key db:integer",
     move},
    {"copy",
     -3,
     kWrite | kDenyOom | kExclusive,
     {1, 2, 1},
     kGeneric,
     "6.2.0",
     "O(N), where N is the size of the value in bytes",
     "Copies what a key holds to another key",
     "source destination [DB destination-db:integer] [REPLACE]",
     copy},
    {"flushdb",
     -1,
     kWrite | kExclusive,
     {},
     "server",
     "1.0.0",
     "O(1); the memory is freed in the background",
     "Removes all keys of the database",
     "[ASYNC | SYNC]",
     flushdb,
     Plan::kNone,
     "@dangerous"},
    {"flushall",
     -1,
     kWrite | kExclusive,
     {},
     "server",
     "1.0.0",
     "O(1); the memory is freed in the background",
     "Removes all keys of all databases",
     "[ASYNC | SYNC]",
     flushall,
     Plan::kNone,
     "@dangerous"},
    {"swapdb",
     3,
     kWrite | kFast | kExclusive,
     {},
     "server",
     "4.0.0",
     "O(1)",
     "Swaps two databases for all connections",
     "index1:integer index2:integer",
     swapdb,
     Plan::kNone,
     "@dangerous"},
};

}  // namespace

std::span<const CommandSpec> key_commands() {
  return kCommands;
}

}  // namespace iris::server
