// MONITOR: from now on the connection is shown every command that any client runs, until it says
// RESET or goes away.

#include "server/call.h"
#include "server/commands/families.h"

namespace iris::server {

namespace {

void monitor(Call& call) {
  // In the midst of EXEC's reply there is no place for other lines.
  if (call.exclusive) {
    call.fail("ERR MONITOR isn't allowed for DENY BLOCKING client");
    return;
  }
  if (!call.session.record->has_flag(kClientMonitor)) {
    call.session.record->set_flag(kClientMonitor, true);
    call.engine.monitors.add(call.session.record);
  }
  call.reply.ok();
}

const CommandSpec kCommands[] = {
    {"monitor",
     1,
     kAdmin | kNoScript | kLoading | kStale,
     {},
     "server",
     "1.0.0",
     "O(1)",
     "Shows every command that the server runs from now on",
     "",
     monitor},
};

}  // namespace

std::span<const CommandSpec> monitor_commands() {
  return kCommands;
}

}  // namespace iris::server
