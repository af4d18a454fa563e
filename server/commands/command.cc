// COMMAND: what the command table says, in the forms that clients and redis-cli read.

#include <string>
#include <string_view>
#include <vector>

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/command_docs.h"
#include "server/commands/families.h"
#include "server/glob.h"
#include "server/text.h"

namespace iris::server {

namespace {

void count(Call& call) {
  call.reply.integer(static_cast<int64_t>(call.engine.commands.commands().size()));
}

void info_of_all(Call& call) {
  const auto& commands = call.engine.commands.commands();
  call.reply.array(commands.size());
  for (const Command& command : commands) reply_with_command_info(call.reply, command);
}

void info(Call& call) {
  if (call.args.size() == 2) {
    info_of_all(call);
    return;
  }
  call.reply.array(call.args.size() - 2);
  for (const std::string_view name : call.args.subspan(2)) {
    if (const Command* command = call.engine.commands.find_full(name)) {
      reply_with_command_info(call.reply, *command);
    } else {
      call.reply.null();
    }
  }
}

void docs(Call& call) {
  std::vector<const Command*> commands;
  for (const std::string_view name : call.args.subspan(2)) {
    const Command* command = call.engine.commands.find_full(name);
    if (command != nullptr) commands.push_back(command);
  }
  if (call.args.size() == 2) {
    for (const Command& command : call.engine.commands.commands()) commands.push_back(&command);
  }
  call.reply.map(commands.size());
  for (const Command* command : commands) {
    call.reply.bulk(command->full_name);
    reply_with_command_docs(call.reply, *command);
  }
}

bool in_category(const Command& command, std::string_view category) {
  for (const std::string_view own : command.categories) {
    if (equal_ignoring_case(own.substr(1), category)) return true;  // without the '@'
  }
  return false;
}

bool matches_filter(const Command& command, std::string_view filter, std::string_view value) {
  if (equal_ignoring_case(filter, "module")) {
    return value == "bf" && is_bloom_module_command(*command.spec);
  }
  if (equal_ignoring_case(filter, "aclcat")) return in_category(command, value);
  return glob_match(value, command.full_name, GlobCase::kInsensitive);
}

bool is_filter(std::string_view word) {
  return equal_ignoring_case(word, "module") || equal_ignoring_case(word, "aclcat") ||
         equal_ignoring_case(word, "pattern");
}

void list(Call& call) {
  const bool filtered = call.args.size() == 5;
  if (!filtered && call.args.size() != 2) {
    call.fail_syntax();
    return;
  }
  if (filtered && (!equal_ignoring_case(call.args[2], "filterby") || !is_filter(call.args[3]))) {
    call.fail_syntax();
    return;
  }
  std::vector<const Command*> listed;
  for (size_t id = 0; id < call.engine.commands.ids(); id++) {
    const Command& command = call.engine.commands.by_id(id);
    if (!filtered || matches_filter(command, call.args[3], call.args[4])) {
      listed.push_back(&command);
    }
  }
  call.reply.array(listed.size());
  for (const Command* command : listed) call.reply.bulk(command->full_name);
}

// The command that `request` is, subcommands resolved; null if there is none.
const Command* resolve(const CommandTable& table, std::span<const std::string_view> request) {
  const Command* command = table.find(request[0]);
  if (command == nullptr || command->subcommands.empty() || request.size() == 1) return command;
  return find_subcommand(*command, request[1]);
}

// The request inside a GETKEYS with its key positions; null: an error was answered.
const Command* keys_of_request(Call& call, std::vector<size_t>& indexes) {
  const auto request = call.args.subspan(2);
  const Command* command = resolve(call.engine.commands, request);
  if (command == nullptr) {
    call.fail("ERR Invalid command specified");
    return nullptr;
  }
  if (command->spec->keys.first == 0) {
    call.fail("ERR The command has no key arguments");
    return nullptr;
  }
  if (!command->arity_fits(request.size())) {
    call.fail("ERR Invalid number of arguments specified for command");
    return nullptr;
  }
  indexes = key_indexes(*command->spec, request.size());
  return command;
}

void getkeys(Call& call) {
  std::vector<size_t> indexes;
  if (keys_of_request(call, indexes) == nullptr) return;
  call.reply.array(indexes.size());
  for (const size_t index : indexes) call.reply.bulk(call.args[2 + index]);
}

void getkeysandflags(Call& call) {
  std::vector<size_t> indexes;
  const Command* command = keys_of_request(call, indexes);
  if (command == nullptr) return;
  call.reply.array(indexes.size());
  for (const size_t index : indexes) {
    call.reply.array(2);
    call.reply.bulk(call.args[2 + index]);
    reply_with_words(call.reply, key_flags(*command->spec));
  }
}

constexpr uint32_t kPlain = kLoading | kStale;
constexpr std::string_view kGroup = "server";
constexpr std::string_view kCategory = "@connection";
constexpr std::string_view kPerCommand = "O(N), where N is the number of commands";
constexpr std::string_view kPerArgument = "O(N), where N is the number of arguments";

const CommandSpec kSubcommands[] = {
    {"count",
     2,
     kPlain,
     {},
     kGroup,
     "2.8.13",
     "O(1)",
     "Counts the commands",
     "",
     count,
     Plan::kNone,
     kCategory},
    {"docs",
     -2,
     kPlain,
     {},
     kGroup,
     "7.0.0",
     kPerCommand,
     "Documents commands",
     "[command-name [command-name ...]]",
     docs,
     Plan::kNone,
     kCategory},
    {"getkeys",
     -3,
     kPlain,
     {},
     kGroup,
     "2.8.13",
     kPerArgument,
     "Finds the keys of a command",
     "command [arg [arg ...]]",
     getkeys,
     Plan::kNone,
     kCategory},
    {"getkeysandflags",
     -3,
     kPlain,
     {},
     kGroup,
     "7.0.0",
     kPerArgument,
     "Finds the keys of a command and what it does to them",
     "command [arg [arg ...]]",
     getkeysandflags,
     Plan::kNone,
     kCategory},
    {"info",
     -2,
     kPlain,
     {},
     kGroup,
     "2.8.13",
     kPerCommand,
     "Tells about commands",
     "[command-name [command-name ...]]",
     info,
     Plan::kNone,
     kCategory},
    {"list",
     -2,
     kPlain,
     {},
     kGroup,
     "7.0.0",
     kPerCommand,
     "Lists the names of commands",
     "[FILTERBY (MODULE module-name | ACLCAT category | PATTERN pattern)]",
     list,
     Plan::kNone,
     kCategory},
    {"help",
     2,
     kPlain,
     {},
     kGroup,
     "5.0.0",
     "O(1)",
     "Shows this help",
     "",
     reply_with_help,
     Plan::kNone,
     kCategory},
};

const CommandSpec kCommands[] = {
    {"command",
     -1,
     kPlain,
     {},
     kGroup,
     "2.8.13",
     kPerCommand,
     "Tells about all commands",
     "",
     info_of_all,
     Plan::kNone,
     kCategory,
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> command_commands() {
  return kCommands;
}

}  // namespace iris::server
