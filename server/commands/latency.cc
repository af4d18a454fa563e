// LATENCY: what was slow (LATEST, HISTORY, GRAPH, DOCTOR), and how long each command takes
// (HISTOGRAM).

#include <string>
#include <vector>

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/families.h"
#include "server/commands/latency_report.h"
#include "server/text.h"

namespace iris::server {

namespace {

void latest(Call& call) {
  const LatencyEvents events = call.engine.latency.events();
  call.reply.array(events.size());
  for (const auto& [name, event] : events) {
    const LatencySample& last = event.history.back();
    call.reply.array(4);
    call.reply.bulk(name);
    call.reply.integer(last.time_s);
    call.reply.integer(last.duration_ms);
    call.reply.integer(event.worst_ms);
  }
}

void history(Call& call) {
  const LatencyEvents events = call.engine.latency.events();
  const auto found = events.find(call.args[2]);
  if (found == events.end()) {
    call.reply.array(0);
    return;
  }
  call.reply.array(found->second.history.size());
  for (const LatencySample& sample : found->second.history) {
    call.reply.array(2);
    call.reply.integer(sample.time_s);
    call.reply.integer(sample.duration_ms);
  }
}

void reset(Call& call) {
  size_t forgotten = 0;
  if (call.args.size() == 2) forgotten = call.engine.latency.forget_all();
  for (const std::string_view event : call.args.subspan(2)) {
    if (call.engine.latency.forget(event)) forgotten++;
  }
  call.reply.integer(static_cast<int64_t>(forgotten));
}

void graph(Call& call) {
  const LatencyEvents events = call.engine.latency.events();
  const auto found = events.find(call.args[2]);
  if (found == events.end()) {
    call.fail("ERR No samples available for event '" + std::string(call.args[2].substr(0, 128)) +
              "'");
    return;
  }
  call.reply.verbatim("txt", latency_graph(found->first, found->second, call.now_ms / 1000));
}

void doctor(Call& call) {
  call.reply.verbatim("txt", latency_diagnosis(call.engine.latency.events(),
                                               call.engine.config.latency_monitor_threshold_ms));
}

struct MeasuredCommand {
  const Command* command;
  std::vector<LatencyStep> steps;
};

// Commands of which times are known, each once.
class Measured {
 public:
  explicit Measured(const Engine& engine) : engine_(engine), seen_(engine.commands.ids()) {}

  // A container stands for its subcommands.
  void add(const Command& command) {
    for (const Command& subcommand : command.subcommands) add(subcommand);
    if (seen_[command.id]) return;
    seen_[command.id] = true;
    std::vector<uint64_t> buckets;
    for (const auto& member : engine_.stats.members()) {
      const LatencyHistogram* histogram =
          member->commands[command.id].histogram.load(std::memory_order_acquire);
      if (histogram != nullptr) histogram->add_to(buckets);
    }
    std::vector<LatencyStep> steps = cumulative_steps(buckets);
    if (!steps.empty()) commands_.push_back({&command, std::move(steps)});
  }

  const std::vector<MeasuredCommand>& commands() const { return commands_; }

 private:
  const Engine& engine_;
  std::vector<bool> seen_;
  std::vector<MeasuredCommand> commands_;
};

void histogram(Call& call) {
  Measured measured(call.engine);
  if (call.args.size() == 2) {
    for (const Command& command : call.engine.commands.commands()) measured.add(command);
  }
  for (const std::string_view name : call.args.subspan(2)) {
    if (const Command* command = call.engine.commands.find_full(name)) measured.add(*command);
  }
  call.reply.map(measured.commands().size());
  for (const auto& [command, steps] : measured.commands()) {
    call.reply.bulk(command->full_name);
    call.reply.map(2);
    call.reply.bulk("calls");
    call.reply.integer(static_cast<int64_t>(steps.back().calls));
    call.reply.bulk("histogram_usec");
    call.reply.map(steps.size());
    for (const LatencyStep& step : steps) {
      call.reply.integer(static_cast<int64_t>(step.up_to_us));
      call.reply.integer(static_cast<int64_t>(step.calls));
    }
  }
}

constexpr uint32_t kControl = kAdmin | kNoScript | kLoading | kStale;

const CommandSpec kSubcommands[] = {
    {"doctor",
     2,
     kControl,
     {},
     "server",
     "2.8.13",
     "O(1)",
     "Returns what the latency events mean, in sentences",
     "",
     doctor},
    {"graph",
     3,
     kControl,
     {},
     "server",
     "2.8.13",
     "O(1)",
     "Returns a chart of an event",
     "event",
     graph},
    {"histogram",
     -2,
     kControl,
     {},
     "server",
     "7.0.0",
     "O(N), where N is the number of commands",
     "Returns how many calls of the commands took how long",
     "[command [command ...]]",
     histogram},
    {"history",
     3,
     kControl,
     {},
     "server",
     "2.8.13",
     "O(1)",
     "Returns the samples of an event",
     "event",
     history},
    {"latest",
     2,
     kControl,
     {},
     "server",
     "2.8.13",
     "O(1)",
     "Returns the last sample and the worst one of every event",
     "",
     latest},
    {"reset",
     -2,
     kControl,
     {},
     "server",
     "2.8.13",
     "O(1)",
     "Forgets the events, or all",
     "[event [event ...]]",
     reset},
    {"help",
     2,
     kLoading | kStale,
     {},
     "server",
     "2.8.13",
     "O(1)",
     "Returns this help",
     "",
     reply_with_help},
};

const CommandSpec kCommands[] = {
    {"latency",
     -2,
     0,
     {},
     "server",
     "2.8.13",
     "Depends on the subcommand",
     "A container for latency commands",
     "",
     nullptr,
     Plan::kNone,
     {},
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> latency_commands() {
  return kCommands;
}

}  // namespace iris::server
