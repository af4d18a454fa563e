// SLOWLOG: the commands that took longest lately.

#include <limits>
#include <vector>

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/families.h"
#include "server/text.h"

namespace iris::server {

namespace {

// What GET shows when it is not told how many.
constexpr int64_t kShownEntries = 10;

void reply_with(Call& call, const SlowCommand& slow) {
  call.reply.array(6);
  call.reply.integer(static_cast<int64_t>(slow.id));
  call.reply.integer(slow.time_s);
  call.reply.integer(slow.duration_us);
  call.reply.array(slow.args.size());
  for (const std::string& arg : slow.args) call.reply.bulk(arg);
  call.reply.bulk(slow.client_address);
  call.reply.bulk(slow.client_name);
}

void get(Call& call) {
  if (call.args.size() > 3) {
    call.fail("ERR unknown subcommand or wrong number of arguments for 'get'. Try SLOWLOG HELP.");
    return;
  }
  const auto count = call.args.size() == 3 ? parse_integer(call.args[2]) : kShownEntries;
  if (!count || *count < -1) {
    call.fail("ERR count should be greater than or equal to -1");
    return;
  }
  const size_t wanted =
      *count < 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(*count);
  const std::vector<SlowCommand> slow_ones = call.engine.slow_log.newest(wanted);
  call.reply.array(slow_ones.size());
  for (const SlowCommand& slow : slow_ones) reply_with(call, slow);
}

void len(Call& call) {
  call.reply.integer(static_cast<int64_t>(call.engine.slow_log.size()));
}

void reset(Call& call) {
  call.engine.slow_log.clear();
  call.reply.ok();
}

constexpr uint32_t kControl = kAdmin | kLoading | kStale;

const CommandSpec kSubcommands[] = {
    {"get",
     -2,
     kControl,
     {},
     "server",
     "2.2.12",
     "O(N), where N is the number of entries returned",
     "Returns the newest entries, 10 unless told otherwise; -1: all",
     "[count:integer]",
     get},
    {"len", 2, kControl, {}, "server", "2.2.12", "O(1)", "Returns the number of entries", "", len},
    {"reset",
     2,
     kControl,
     {},
     "server",
     "2.2.12",
     "O(N), where N is the number of entries",
     "Forgets all entries",
     "",
     reset},
    {"help",
     2,
     kLoading | kStale,
     {},
     "server",
     "6.2.0",
     "O(1)",
     "Returns this help",
     "",
     reply_with_help},
};

const CommandSpec kCommands[] = {
    {"slowlog",
     -2,
     0,
     {},
     "server",
     "2.2.12",
     "Depends on the subcommand",
     "A container for slow log commands",
     "",
     nullptr,
     Plan::kNone,
     {},
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> slowlog_commands() {
  return kCommands;
}

}  // namespace iris::server
