// MODULE: nothing can be loaded, but tools look for the filters here.

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/bloom_module.h"
#include "server/commands/families.h"

namespace iris::server {

namespace {

void list(Call& call) {
  call.reply.array(1);
  reply_with_bloom_module(call.reply);
}

const CommandSpec kSubcommands[] = {
    {"list",
     2,
     kAdmin | kNoScript,
     {},
     "server",
     "4.0.0",
     "O(1)",
     "Returns the modules: always one, bf, which is built in",
     "",
     list},
    {"help",
     2,
     kLoading | kStale,
     {},
     "server",
     "5.0.0",
     "O(1)",
     "Returns this help",
     "",
     reply_with_help},
};

const CommandSpec kCommands[] = {
    {"module",
     -2,
     0,
     {},
     "server",
     "4.0.0",
     "Depends on the subcommand",
     "A container for module commands",
     "",
     nullptr,
     Plan::kNone,
     {},
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> admin_module_commands() {
  return kCommands;
}

}  // namespace iris::server
