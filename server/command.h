// What a command is: one declarative entry. Everything that can be told of a command comes from
// here: COMMAND and its subcommands, ACL categories, arity errors, key positions, redis-cli's hints
// and docs/commands.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/command_syntax.h"

namespace iris::server {

struct Call;
using Handler = void (*)(Call&);

// The flags up to kNoAuth are Redis's and shown by COMMAND INFO; the rest are our own.
enum CommandFlag : uint32_t {
  kWrite = 1u << 0,
  kReadonly = 1u << 1,
  kDenyOom = 1u << 2,  // refused when memory is short
  kAdmin = 1u << 3,
  kFast = 1u << 4,  // constant or logarithmic time
  kLoading = 1u << 5,
  kStale = 1u << 6,
  kNoScript = 1u << 7,
  kSkipMonitor = 1u << 8,
  kSkipSlowlog = 1u << 9,
  kNoMulti = 1u << 10,
  kNoAuth = 1u << 11,
  // Runs in the exclusive state of the world lock: changes the keyspace, or needs it at rest.
  kExclusive = 1u << 12,
  // Runs at once inside MULTI instead of being queued.
  kImmediate = 1u << 13,
  // Its handler may leave the reply to Control::answer_client(); never inside EXEC.
  kAnsweredLater = 1u << 15,
  // May run for long: timed on its own instead of with its batch.
  kSlow = 1u << 14,
};

// Positions of keys among the arguments; `last` < 0 counts from the end. All 0: no keys.
struct KeyPositions {
  int first = 0;
  int last = 0;
  int step = 0;
};

// What can be done ahead for a command whose request has been parsed but not run yet.
enum class Plan : uint8_t {
  kNone,
  // args[1] is a key, and items follow: look up, hash, prefetch.
  kKeyItem,   // args[2] is the only one, whatever comes after it
  kKeyItems,  // all that follow are items
};

struct CommandSpec {
  std::string_view name;  // lower case; of a subcommand: its own word only
  int arity = 0;          // the name counts; negative: at least so many
  uint32_t flags = 0;
  KeyPositions keys;
  std::string_view group = {};
  std::string_view since;
  std::string_view complexity;
  std::string_view summary;
  std::string_view syntax;  // the arguments, in the notation of command_syntax.h
  Handler handler = nullptr;
  Plan plan = Plan::kNone;
  std::string_view extra_categories = {};  // ACL categories that flags and group do not tell,
                                           // separated by a space
  std::span<const CommandSpec> subcommands = {};
};

// A command of the running table. It begins with what every call asks, copied from the spec: one
// cache line instead of two.
struct Command {
  const CommandSpec* spec = nullptr;
  Handler handler = nullptr;
  uint32_t flags = 0;
  uint32_t id = 0;  // index of its statistics
  size_t min_args = 0;
  size_t max_args = 0;
  std::string full_name;  // "config|set"
  std::vector<Argument> arguments;
  std::vector<std::string_view> categories;
  std::vector<Command> subcommands;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
  bool arity_fits(size_t argc) const { return argc >= min_args && argc <= max_args; }
};

}  // namespace iris::server
