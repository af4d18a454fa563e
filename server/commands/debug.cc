// DEBUG: for tests and for finding out what happened. Who may use it is said by
// `enable-debug-command`, since it can stop or end the server.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/debug_digest.h"
#include "server/commands/families.h"
#include "server/text.h"

namespace iris::server {

namespace {

// A sleeping worker serves nobody and cannot be stopped.
constexpr double kMaxSleepSeconds = 60;
// A larger value is not serialized just to tell its length.
constexpr uint64_t kMaxSerializedBytes = 16 << 20;

bool allowed(Call& call) {
  const DebugCommand who = call.engine.config.enable_debug_command;
  if (who == DebugCommand::kYes) return true;
  if (who == DebugCommand::kLocal && call.session.record->has_flag(kClientLocal)) return true;
  call.fail(
      "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you "
      "can run it from a local connection, otherwise you need to set this option in the "
      "configuration file, and then restart the server.");
  return false;
}

// The handler of every subcommand goes through this.
template <Handler kHandler>
void guarded(Call& call) {
  if (allowed(call)) kHandler(call);
}

void sleep(Call& call) {
  const auto seconds = parse_real(call.args[2]);
  if (!seconds) {
    call.fail("ERR value is not a valid float");
    return;
  }
  if (*seconds < 0 || *seconds > kMaxSleepSeconds) {
    call.fail("ERR value is out of range, must be between 0 and 60 seconds");
    return;
  }
  {
    // Only this worker's connections wait.
    OutsideStep outside(call);
    std::this_thread::sleep_for(std::chrono::duration<double>(*seconds));
  }
  call.reply.ok();
}

// A filter's serialized form is about as large as the filter.
uint64_t serialized_bytes(const Value& value) {
  const uint64_t memory_bytes = value.memory_bytes();
  return memory_bytes > kMaxSerializedBytes ? memory_bytes : value.serialize().size();
}

void object(Call& call) {
  const Entry* entry = call.peek(call.args[2]);
  if (entry == nullptr) {
    call.fail("ERR no such key");
    return;
  }
  const Value& value = *entry->value;
  const int64_t accessed_s = value.accessed_s();
  const int64_t idle_s = std::max<int64_t>(call.now_ms / 1000 - accessed_s, 0);
  char address[32];
  std::snprintf(address, sizeof address, "%p", static_cast<const void*>(&value));
  call.reply.simple(
      "Value at:" + std::string(address) + " refcount:1 encoding:" + std::string(value.encoding()) +
      " serializedlength:" + std::to_string(serialized_bytes(value)) +
      " lru:" + std::to_string(accessed_s) + " lru_seconds_idle:" + std::to_string(idle_s));
}

void digest(Call& call) {
  DataDigest digest;
  for (size_t db = 0; db < call.engine.keyspace.databases(); db++) {
    call.engine.keyspace.database(db).visit_all([&](std::string_view name, const Entry& entry) {
      if (entry.expired(call.now_ms)) return;
      digest.add(db, name, entry.expire_at_ms, entry.value->digest());
    });
  }
  call.reply.simple(digest.hex());
}

void digest_value(Call& call) {
  call.reply.array(call.args.size() - 2);
  for (const std::string_view key : call.args.subspan(2)) {
    const Entry* entry = call.peek(key);
    call.reply.simple(entry == nullptr ? missing_digest_hex()
                                       : value_digest_hex(entry->value->digest()));
  }
}

void segfault(Call&) {
  std::raise(SIGSEGV);
}

constexpr uint32_t kControl = kAdmin | kNoScript | kLoading | kStale;

const CommandSpec kSubcommands[] = {
    {"digest",
     2,
     kControl | kExclusive,
     {},
     "server",
     "1.0.0",
     "O(N), where N is the data set",
     "Returns a digest of all keys and values",
     "",
     guarded<digest>},
    {"digest-value",
     -2,
     kControl | kExclusive,
     {2, -1, 1},
     "server",
     "5.0.0",
     "O(N), where N is the size of the values",
     "Returns digests of the values of keys",
     "key [key ...]",
     guarded<digest_value>},
    {"object",
     3,
     kControl,
     {2, 2, 1},
     "server",
     "1.0.0",
     "O(N), where N is the size of the value",
     "Returns low level facts about a key and its value",
     "key",
     guarded<object>},
    {"segfault",
     2,
     kControl,
     {},
     "server",
     "1.0.0",
     "O(1)",
     "Crashes the server, to see what it reports then",
     "",
     guarded<segfault>},
    {"sleep",
     3,
     kControl | kNoMulti,
     {},
     "server",
     "1.0.0",
     "O(1)",
     "Makes one worker thread sleep, for at most 60 seconds",
     "seconds:double",
     guarded<sleep>},
    {"help",
     2,
     kLoading | kStale,
     {},
     "server",
     "6.2.0",
     "O(1)",
     "Returns this help",
     "",
     guarded<reply_with_help>},
};

const CommandSpec kCommands[] = {
    {"debug",
     -2,
     kControl,
     {},
     "server",
     "1.0.0",
     "Depends on the subcommand",
     "A container for debugging commands",
     "",
     nullptr,
     Plan::kNone,
     {},
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> debug_commands() {
  return kCommands;
}

}  // namespace iris::server
