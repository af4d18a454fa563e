// CONFIG: reading and changing the settings of the running server. What the settings are is said in
// config_directives.cc; GET and SET on plain values in config_access.h.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/families.h"
#include "server/config_access.h"
#include "server/config_rewrite.h"
#include "server/log.h"
#include "server/process.h"

namespace iris::server {

namespace {

// How often CONFIG REWRITE starts again because CONFIG SET came between.
constexpr int kRewriteRounds = 8;

void get(Call& call) {
  const auto found = config_get(call.engine.config, call.args.subspan(2));
  call.reply.map(found.size());
  for (const auto& [name, value] : found) {
    call.reply.bulk(name);
    call.reply.bulk(value);
  }
}

// Everything else can be set without asking the system; descriptors it may refuse.
bool allow_clients(Call& call, uint32_t maxclients) {
  if (maxclients <= call.engine.config.maxclients) return true;
  const uint32_t fitting = reserve_descriptors(maxclients);
  if (fitting >= maxclients) return true;
  call.fail(
      "ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is "
      "not able to handle the specified number of clients, try with " +
      std::to_string(fitting));
  return false;
}

void set(Call& call) {
  if (call.args.size() % 2 != 0) {
    call.fail_syntax();
    return;
  }
  std::vector<ConfigSetting> settings;
  for (size_t i = 2; i < call.args.size(); i += 2) {
    settings.push_back({call.args[i], call.args[i + 1]});
  }
  ConfigSetResult result = config_set(call.engine.config, settings);
  if (!result.config) {
    call.fail(result.error);
    return;
  }
  if (!allow_clients(call, result.config->maxclients)) return;
  // A new requirepass asks new connections only: whoever has been let in stays.
  const Config before = std::exchange(call.engine.config, std::move(*result.config));
  call.engine.control.config_changed(before, call.engine.config);
  call.reply.ok();
}

// As in Redis the peak of memory is no statistic that resets.
void resetstat(Call& call) {
  call.engine.stats.reset();
  call.engine.keyspace.reset_expired_keys();
  call.reply.ok();
}

// The file is written outside of the world: nobody waits for the disk. Another worker may change
// the configuration meanwhile, and even rewrite the file before us, so the one that finds itself
// outdated writes again: the last one to finish always leaves the newest values.
void rewrite(Call& call) {
  const std::string& path = call.engine.facts.config_file;
  if (path.empty()) {
    call.fail("ERR The server is running without a config file");
    return;
  }
  std::optional<std::string> problem = "the configuration keeps changing";
  for (int round = 0; round < kRewriteRounds; round++) {
    const Config written = call.engine.config;
    {
      OutsideStep outside(call);
      problem = rewrite_config_file(path, written);
    }
    if (problem || call.engine.config == written) break;
    problem = "the configuration keeps changing";
  }
  if (problem) {
    log_warning("CONFIG REWRITE failed: {}", *problem);
    call.fail("ERR Rewriting config file: " + *problem);
    return;
  }
  log_notice("CONFIG REWRITE executed with success");
  call.reply.ok();
}

constexpr uint32_t kControl = kAdmin | kNoScript | kLoading | kStale;

const CommandSpec kSubcommands[] = {
    {"get",
     -3,
     kControl,
     {},
     "server",
     "2.0.0",
     "O(N), where N is the number of settings",
     "Returns the settings whose names match any of the patterns",
     "pattern [pattern ...]",
     get},
    // Never in the slow log: the values may be passwords.
    {"set",
     -4,
     kControl | kExclusive | kSkipSlowlog,
     {},
     "server",
     "2.0.0",
     "O(N), where N is the number of settings",
     "Changes settings of the running server, all of them or none",
     "parameter value [parameter value ...]",
     set},
    {"resetstat",
     2,
     kControl | kExclusive,
     {},
     "server",
     "2.0.0",
     "O(1)",
     "Takes the statistics that INFO shows back to zero",
     "",
     resetstat},
    {"rewrite",
     2,
     kControl,
     {},
     "server",
     "2.8.0",
     "O(1)",
     "Brings the configuration file up to date with the running server",
     "",
     rewrite},
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
    {"config",
     -2,
     0,
     {},
     "server",
     "2.0.0",
     "Depends on the subcommand",
     "A container for configuration commands",
     "",
     nullptr,
     Plan::kNone,
     {},
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> config_commands() {
  return kCommands;
}

}  // namespace iris::server
