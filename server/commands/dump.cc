// DUMP and RESTORE: what a key holds as one text, checksummed and versioned by the filters.

#include <string>
#include <utility>
#include <variant>

#include "filters/bloom_loader.h"
#include "filters/spectral_dump.h"
#include "server/bloom_value.h"
#include "server/call.h"
#include "server/commands/families.h"
#include "server/spectral_value.h"
#include "server/text.h"

namespace iris::server {

namespace {

void dump(Call& call) {
  const Entry* entry = call.find(call.args[1]);
  if (entry == nullptr) {
    call.reply.null();
    return;
  }
  if (entry->value->memory_bytes() > call.engine.config.proto_max_bulk_bytes) {
    call.fail("ERR the value is larger than proto-max-bulk-len: use BF.SCANDUMP or CF.SCANDUMP");
    return;
  }
  const std::string text = entry->value->serialize();
  if (text.empty()) {
    call.fail("ERR the filter is still being loaded");
    return;
  }
  call.reply.bulk(text);
}

struct RestoreOptions {
  int64_t ttl_ms = 0;
  bool replace = false;
  bool absolute = false;
};

bool parse_restore(Call& call, RestoreOptions& options) {
  for (size_t i = 4; i < call.args.size(); i++) {
    const bool has_value = i + 1 < call.args.size();
    if (equal_ignoring_case(call.args[i], "replace")) {
      options.replace = true;
    } else if (equal_ignoring_case(call.args[i], "absttl")) {
      options.absolute = true;
    } else if (has_value && (equal_ignoring_case(call.args[i], "idletime") ||
                             equal_ignoring_case(call.args[i], "freq"))) {
      const auto number = parse_integer(call.args[++i]);
      if (!number || *number < 0) {
        call.fail("ERR Invalid IDLETIME or FREQ value, must be >= 0");
        return false;
      }
    } else {
      call.fail_syntax();
      return false;
    }
  }
  const auto ttl = parse_integer(call.args[2]);
  if (!ttl || *ttl < 0) {
    call.fail(ttl ? "ERR Invalid TTL value, must be >= 0"
                  : "ERR value is not an integer or out of range");
    return false;
  }
  options.ttl_ms = *ttl;
  return true;
}

// The value of a text of its kind, or null after an error reply.
template <typename FilterValue, typename Filter>
std::unique_ptr<Value> value_of(Call& call,
                                std::variant<std::unique_ptr<Filter>, filters::LoadError> loaded) {
  if (auto* filter = std::get_if<std::unique_ptr<Filter>>(&loaded)) {
    return std::make_unique<FilterValue>(std::move(*filter));
  }
  call.fail(std::get<filters::LoadError>(loaded) == filters::LoadError::kTooLarge
                ? "ERR Insufficient memory to create filter"
                : "ERR DUMP payload version or checksum are wrong");
  return nullptr;
}

std::unique_ptr<Value> restored(Call& call, std::string_view text) {
  const uint64_t id = call.engine.keyspace.next_id();
  const uint64_t limit_bytes = call.memory_left_for_a_filter();
  if (filters::spectral_header_bytes(text) != 0) {
    return value_of<SpectralValue>(call, filters::deserialize_spectral(text, id, limit_bytes));
  }
  return value_of<BloomValue>(call, filters::deserialize(text, id, limit_bytes));
}

void restore(Call& call) {
  RestoreOptions options;
  if (!parse_restore(call, options)) return;
  Keyspace& keyspace = call.engine.keyspace;
  const HashedKey key = Database::hashed(call.args[1]);
  if (!options.replace && keyspace.find(call.session.db, key, call.now_ms) != nullptr) {
    call.fail("BUSYKEY Target key name already exists.");
    return;
  }
  int64_t expire_at_ms = kNeverExpires;
  if (options.ttl_ms > 0) {
    expire_at_ms = options.ttl_ms;
    if (!options.absolute && __builtin_add_overflow(expire_at_ms, call.now_ms, &expire_at_ms)) {
      call.fail("ERR Invalid TTL value, must be >= 0");
      return;
    }
  }
  std::unique_ptr<Value> value = restored(call, call.args[3]);
  if (value == nullptr) return;
  call.engine.memory.announce(value->memory_bytes());
  keyspace.put(call.session.db, key, std::move(value), expire_at_ms, call.now_ms,
               {Birth::Kind::kRestored, call.args[3]});
  call.reply.ok();
}

const CommandSpec kCommands[] = {
    {"dump",
     2,
     kReadonly | kExclusive,
     {1, 1, 1},
     "generic",
     "2.6.0",
     "O(N), where N is the size of the value in bytes",
     "Returns what a key holds as one text",
     "key",
     dump},
    {"restore",
     -4,
     kWrite | kDenyOom | kExclusive,
     {1, 1, 1},
     "generic",
     "2.6.0",
     "O(N), where N is the size of the value in bytes",
     "Makes a key from what DUMP returned",
     "key ttl:integer serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds:integer] "
     "[FREQ frequency:integer]",
     restore,
     Plan::kNone,
     "@dangerous"},
};

}  // namespace

std::span<const CommandSpec> dump_commands() {
  return kCommands;
}

}  // namespace iris::server
