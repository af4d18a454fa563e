// When keys end: EXPIRE and its kin, TTL and its kin, PERSIST. Times are kept as absolute
// milliseconds since 1970, whatever unit they came in.

#include <limits>
#include <optional>
#include <string>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/text.h"

namespace iris::server {

namespace {

struct TimeUnit {
  int64_t milliseconds;  // of one unit
  bool absolute;         // since 1970, not from now
};

struct ExpiryCondition {
  bool only_without = false;  // NX
  bool only_with = false;     // XX
  bool only_later = false;    // GT
  bool only_earlier = false;  // LT
};

std::optional<ExpiryCondition> parse_condition(Call& call) {
  ExpiryCondition condition;
  for (const std::string_view option : call.args.subspan(3)) {
    if (equal_ignoring_case(option, "nx")) {
      condition.only_without = true;
    } else if (equal_ignoring_case(option, "xx")) {
      condition.only_with = true;
    } else if (equal_ignoring_case(option, "gt")) {
      condition.only_later = true;
    } else if (equal_ignoring_case(option, "lt")) {
      condition.only_earlier = true;
    } else {
      call.fail("ERR Unsupported option " + std::string(option.substr(0, 128)));
      return std::nullopt;
    }
  }
  if (condition.only_without &&
      (condition.only_with || condition.only_later || condition.only_earlier)) {
    call.fail("ERR NX and XX, GT or LT options at the same time are not compatible");
    return std::nullopt;
  }
  if (condition.only_later && condition.only_earlier) {
    call.fail("ERR GT and LT options at the same time are not compatible");
    return std::nullopt;
  }
  return condition;
}

std::optional<int64_t> parse_expiry_ms(Call& call, TimeUnit unit) {
  const auto time = parse_integer(call.args[2]);
  if (!time) {
    call.fail("ERR value is not an integer or out of range");
    return std::nullopt;
  }
  int64_t at_ms = 0;
  if (__builtin_mul_overflow(*time, unit.milliseconds, &at_ms) ||
      (!unit.absolute && __builtin_add_overflow(at_ms, call.now_ms, &at_ms))) {
    call.fail("ERR invalid expire time in '" + call.command.full_name + "' command");
    return std::nullopt;
  }
  return at_ms;
}

// A key without an expiry lives for ever: nothing is later.
bool condition_holds(const ExpiryCondition& condition, int64_t current_ms, int64_t new_ms) {
  const bool has_expiry = current_ms >= 0;
  if (condition.only_without && has_expiry) return false;
  if (condition.only_with && !has_expiry) return false;
  if (condition.only_later && (!has_expiry || new_ms <= current_ms)) return false;
  if (condition.only_earlier && has_expiry && new_ms >= current_ms) return false;
  return true;
}

void expire_in(Call& call, TimeUnit unit) {
  const auto condition = parse_condition(call);
  if (!condition) return;
  const auto at_ms = parse_expiry_ms(call, unit);
  if (!at_ms) return;
  const HashedKey key = Database::hashed(call.args[1]);
  Entry* entry = call.find(key);
  if (entry == nullptr || !condition_holds(*condition, entry->expire_at_ms, *at_ms)) {
    call.reply.integer(0);
    return;
  }
  if (*at_ms <= call.now_ms) {
    call.engine.keyspace.remove(call.session.db, key, call.now_ms);
  } else {
    call.engine.keyspace.set_expiry(call.session.db, key, *entry, *at_ms);
  }
  call.reply.integer(1);
}

void expire(Call& call) {
  expire_in(call, {1000, false});
}
void pexpire(Call& call) {
  expire_in(call, {1, false});
}
void expireat(Call& call) {
  expire_in(call, {1000, true});
}
void pexpireat(Call& call) {
  expire_in(call, {1, true});
}

void persist(Call& call) {
  const HashedKey key = Database::hashed(call.args[1]);
  Entry* entry = call.find(key);
  const bool had_expiry = entry != nullptr && entry->expire_at_ms >= 0;
  if (had_expiry) {
    call.engine.keyspace.set_expiry(call.session.db, key, *entry, kNeverExpires);
  }
  call.reply.integer(had_expiry);
}

// TTL and its kin: -2 there is no such key, -1 it does not expire.
void remaining(Call& call, TimeUnit unit) {
  const Entry* entry = call.find(call.args[1]);
  if (entry == nullptr) {
    call.reply.integer(-2);
  } else if (entry->expire_at_ms < 0) {
    call.reply.integer(-1);
  } else {
    const int64_t ms = entry->expire_at_ms - (unit.absolute ? 0 : call.now_ms);
    call.reply.integer(unit.milliseconds == 1 ? ms : (ms + 500) / 1000);
  }
}

void ttl(Call& call) {
  remaining(call, {1000, false});
}
void pttl(Call& call) {
  remaining(call, {1, false});
}
void expiretime(Call& call) {
  remaining(call, {1000, true});
}
void pexpiretime(Call& call) {
  remaining(call, {1, true});
}

constexpr uint32_t kSetFlags = kWrite | kFast | kExclusive;
constexpr uint32_t kGetFlags = kReadonly | kFast;

const CommandSpec kCommands[] = {
    {"expire",
     -3,
     kSetFlags,
     {1, 1, 1},
     "generic",
     "1.0.0",
     "O(1)",
     "Lets a key end after some seconds",
     "key seconds:integer [NX | XX | GT | LT]",
     expire},
    {"pexpire",
     -3,
     kSetFlags,
     {1, 1, 1},
     "generic",
     "2.6.0",
     "O(1)",
     "Lets a key end after some milliseconds",
     "key milliseconds:integer [NX | XX | GT | LT]",
     pexpire},
    {"expireat",
     -3,
     kSetFlags,
     {1, 1, 1},
     "generic",
     "1.2.0",
     "O(1)",
     "Lets a key end at a Unix time in seconds",
     "key unix-time-seconds:unix-time [NX | XX | GT | LT]",
     expireat},
    {"pexpireat",
     -3,
     kSetFlags,
     {1, 1, 1},
     "generic",
     "2.6.0",
     "O(1)",
     "Lets a key end at a Unix time in milliseconds",
     "key unix-time-milliseconds:unix-time [NX | XX | GT | LT]",
     pexpireat},
    {"persist",
     2,
     kSetFlags,
     {1, 1, 1},
     "generic",
     "2.2.0",
     "O(1)",
     "Takes the end of a key away",
     "key",
     persist},
    {"ttl",
     2,
     kGetFlags,
     {1, 1, 1},
     "generic",
     "1.0.0",
     "O(1)",
     "Tells in how many seconds a key ends",
     "key",
     ttl},
    {"pttl",
     2,
     kGetFlags,
     {1, 1, 1},
     "generic",
     "2.6.0",
     "O(1)",
     "Tells in how many milliseconds a key ends",
     "key",
     pttl},
    {"expiretime",
     2,
     kGetFlags,
     {1, 1, 1},
     "generic",
     "7.0.0",
     "O(1)",
     "Tells at which Unix time in seconds a key ends",
     "key",
     expiretime},
    {"pexpiretime",
     2,
     kGetFlags,
     {1, 1, 1},
     "generic",
     "7.0.0",
     "O(1)",
     "Tells at which Unix time in milliseconds a key ends",
     "key",
     pexpiretime},
};

}  // namespace

std::span<const CommandSpec> expiry_commands() {
  return kCommands;
}

}  // namespace iris::server
