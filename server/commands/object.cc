// OBJECT: how a value is kept and when it was last used. Asking does not count as use.

#include <algorithm>

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/families.h"

namespace iris::server {

namespace {

// Null: there is no such key, and null was answered.
Entry* find_or_reply(Call& call) {
  Entry* entry = call.peek(call.args[2]);
  if (entry == nullptr) call.reply.null();
  return entry;
}

void encoding(Call& call) {
  if (const Entry* entry = find_or_reply(call)) call.reply.bulk(entry->value->encoding());
}

void idletime(Call& call) {
  if (const Entry* entry = find_or_reply(call)) {
    call.reply.integer(std::max<int64_t>(call.now_ms / 1000 - entry->value->accessed_s(), 0));
  }
}

void freq(Call& call) {
  if (find_or_reply(call) == nullptr) return;
  call.fail(
      "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that "
      "when switching between policies at runtime LRU and LFU data will take some time to adjust.");
}

void refcount(Call& call) {
  if (find_or_reply(call) != nullptr) call.reply.integer(1);
}

constexpr KeyPositions kTheKey = {2, 2, 1};

const CommandSpec kSubcommands[] = {
    {"encoding", 3, kReadonly, kTheKey, "generic", "2.2.3", "O(1)",
     "Returns how the value of a key is kept", "key", encoding},
    {"freq", 3, kReadonly, kTheKey, "generic", "4.0.0", "O(1)",
     "Returns how often a key is used, which only LFU policies track", "key", freq},
    {"idletime", 3, kReadonly, kTheKey, "generic", "2.2.3", "O(1)",
     "Returns the seconds since a key was last used", "key", idletime},
    {"refcount", 3, kReadonly, kTheKey, "generic", "2.2.3", "O(1)",
     "Returns the number of references to the value of a key", "key", refcount},
    {"help",
     2,
     kLoading | kStale,
     {},
     "generic",
     "6.2.0",
     "O(1)",
     "Returns this help",
     "",
     reply_with_help},
};

const CommandSpec kCommands[] = {
    {"object",
     -2,
     0,
     {},
     "generic",
     "2.2.3",
     "Depends on the subcommand",
     "A container for commands about the values of keys",
     "",
     nullptr,
     Plan::kNone,
     {},
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> object_commands() {
  return kCommands;
}

}  // namespace iris::server
