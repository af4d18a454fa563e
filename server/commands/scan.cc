// SCAN, KEYS, RANDOMKEY: finding keys.
//
// A SCAN cursor is the number of the slot to go on with (see database.h). A call returns whole
// slots, so it may return a few keys more than COUNT asked for.

#include <random>
#include <string>
#include <vector>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/glob.h"
#include "server/text.h"

namespace iris::server {

namespace {

constexpr int64_t kDefaultCount = 10;
// KEYS lets others go first after so many slots.
constexpr uint32_t kSlotsPerTurn = 64;
constexpr int kRandomTries = 100;

struct ScanOptions {
  uint32_t slot = 0;
  int64_t count = kDefaultCount;
  std::string_view pattern = "*";
  std::string_view type;
};

bool parse_scan_option(Call& call, size_t i, ScanOptions& options) {
  if (i + 1 >= call.args.size()) {
    call.fail_syntax();
    return false;
  }
  const std::string_view value = call.args[i + 1];
  if (equal_ignoring_case(call.args[i], "match")) {
    options.pattern = value;
  } else if (equal_ignoring_case(call.args[i], "type")) {
    options.type = value;
  } else if (equal_ignoring_case(call.args[i], "count")) {
    const auto count = parse_integer(value);
    if (!count) {
      call.fail("ERR value is not an integer or out of range");
      return false;
    }
    options.count = *count;
    if (*count < 1) call.fail_syntax();
    return *count >= 1;
  } else {
    call.fail_syntax();
    return false;
  }
  return true;
}

bool parse_scan(Call& call, ScanOptions& options) {
  const auto cursor = parse_integer(call.args[1]);
  if (!cursor || *cursor < 0) {
    call.fail("ERR invalid cursor");
    return false;
  }
  // A cursor that we never gave out ends the walk, as in Redis it may.
  options.slot = static_cast<uint32_t>(std::min<int64_t>(*cursor, Database::kSlots));
  for (size_t i = 2; i < call.args.size(); i += 2) {
    if (!parse_scan_option(call, i, options)) return false;
  }
  return true;
}

bool matches(const ScanOptions& options, const std::string& name, const Entry& entry,
             int64_t now_ms) {
  if (entry.expired(now_ms)) return false;
  if (!options.type.empty() && !equal_ignoring_case(options.type, entry.value->type_name())) {
    return false;
  }
  return glob_matches_all(options.pattern) || glob_match(options.pattern, name);
}

void scan(Call& call) {
  ScanOptions options;
  if (!parse_scan(call, options)) return;
  const Database& database = call.engine.keyspace.database(call.session.db);
  std::vector<std::string_view> found;
  int64_t seen = 0;
  uint32_t slot = database.next_used_slot(options.slot);
  while (slot < Database::kSlots && seen < options.count) {
    database.visit_slot(slot, [&](const std::string& name, const Entry& entry) {
      seen++;
      if (matches(options, name, entry, call.now_ms)) found.push_back(name);
    });
    slot = database.next_used_slot(slot + 1);
  }
  call.reply.array(2);
  call.reply.bulk(std::to_string(slot < Database::kSlots ? slot : 0));
  call.reply.array(found.size());
  for (const std::string_view name : found) call.reply.bulk(name);
}

void keys(Call& call) {
  ScanOptions options;
  options.pattern = call.args[1];
  const Database& database = call.engine.keyspace.database(call.session.db);
  std::vector<std::string> found;
  uint32_t visited = 0;
  for (uint32_t slot = database.next_used_slot(0); slot < Database::kSlots;
       slot = database.next_used_slot(slot + 1)) {
    database.visit_slot(slot, [&](const std::string& name, const Entry& entry) {
      if (matches(options, name, entry, call.now_ms)) found.push_back(name);
    });
    // The databases themselves stay where they are, and slots keep their keys: going on is safe.
    if (++visited % kSlotsPerTurn == 0) call.yield();
  }
  call.reply.array(found.size());
  for (const std::string& name : found) call.reply.bulk(name);
}

void randomkey(Call& call) {
  const Database& database = call.engine.keyspace.database(call.session.db);
  static thread_local std::mt19937_64 random{std::random_device{}()};
  for (int i = 0; i < kRandomTries && database.size() > 0; i++) {
    uint32_t slot = database.next_used_slot(static_cast<uint32_t>(random() % Database::kSlots));
    if (slot == Database::kSlots) slot = database.next_used_slot(0);
    std::vector<std::string_view> names;
    database.visit_slot(slot, [&](const std::string& name, const Entry& entry) {
      if (!entry.expired(call.now_ms)) names.push_back(name);
    });
    if (names.empty()) continue;
    call.reply.bulk(names[random() % names.size()]);
    return;
  }
  call.reply.null();
}

const CommandSpec kCommands[] = {
    {"scan",
     -2,
     kReadonly,
     {},
     "generic",
     "2.8.0",
     "O(1) for every call; O(N) for a complete walk, where N is the number of keys",
     "Walks over the keys of the database",
     "cursor:integer [MATCH pattern] [COUNT count:integer] [TYPE type]",
     scan},
    {"keys",
     2,
     kReadonly,
     {},
     "generic",
     "1.0.0",
     "O(N), where N is the number of keys",
     "Returns all keys that match a pattern",
     "pattern",
     keys,
     Plan::kNone,
     "@dangerous"},
    {"randomkey",
     1,
     kReadonly,
     {},
     "generic",
     "1.0.0",
     "O(1)",
     "Returns some key of the database",
     "",
     randomkey},
};

}  // namespace

std::span<const CommandSpec> scan_commands() {
  return kCommands;
}

}  // namespace iris::server
