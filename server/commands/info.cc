// INFO.

#include "server/info.h"

#include "server/call.h"
#include "server/commands/families.h"

namespace iris::server {

namespace {

void info(Call& call) {
  call.reply.verbatim("txt", render_info({call.engine, call.now_ms}, call.args.subspan(1)));
}

const CommandSpec kCommands[] = {
    {"info",
     -1,
     kLoading | kStale,
     {},
     "server",
     "1.0.0",
     "O(1)",
     "Tells about the server and its statistics",
     "[section [section ...]]",
     info,
     Plan::kNone,
     "@dangerous"},
};

}  // namespace

std::span<const CommandSpec> info_commands() {
  return kCommands;
}

}  // namespace iris::server
