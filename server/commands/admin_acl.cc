// ACL: there is one user, "default", who may do everything; CAT tells the categories of commands.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/families.h"
#include "server/text.h"

namespace iris::server {

namespace {

void whoami(Call& call) {
  call.reply.bulk("default");
}

// A container has no place of its own in a category, only its subcommands do.
void collect(const Command& command, std::string_view category,
             std::vector<std::string_view>& names) {
  for (const Command& subcommand : command.subcommands) collect(subcommand, category, names);
  const auto& categories = command.categories;
  const bool inside = std::find(categories.begin(), categories.end(), category) != categories.end();
  if (inside && command.subcommands.empty()) names.push_back(command.full_name);
}

void reply_with_list(Call& call, const std::vector<std::string_view>& names) {
  call.reply.array(names.size());
  for (const std::string_view name : names) call.reply.bulk(name);
}

std::vector<std::string_view> all_categories(const CommandTable& table) {
  std::set<std::string_view> categories;
  for (size_t id = 0; id < table.ids(); id++) {
    for (std::string_view category : table.by_id(id).categories) {
      category.remove_prefix(1);  // the '@'
      categories.insert(category);
    }
  }
  return {categories.begin(), categories.end()};
}

void cat(Call& call) {
  if (call.args.size() > 3) {
    call.fail_arity();
    return;
  }
  if (call.args.size() == 2) {
    reply_with_list(call, all_categories(call.engine.commands));
    return;
  }
  const std::string category = "@" + lower_case(call.args[2].substr(0, 128));
  std::vector<std::string_view> names;
  for (const Command& command : call.engine.commands.commands()) {
    collect(command, category, names);
  }
  if (names.empty()) {
    call.fail("ERR Unknown category '" + std::string(call.args[2].substr(0, 128)) + "'");
    return;
  }
  reply_with_list(call, names);
}

constexpr uint32_t kControl = kNoScript | kLoading | kStale;

const CommandSpec kSubcommands[] = {
    {"cat",
     -2,
     kControl,
     {},
     "server",
     "6.0.0",
     "O(N), where N is the number of commands",
     "Returns the categories of commands, or the commands of a category",
     "[category]",
     cat},
    {"whoami",
     2,
     kControl,
     {},
     "server",
     "6.0.0",
     "O(1)",
     "Returns the user of the connection: always default",
     "",
     whoami},
    {"help", 2, kControl, {}, "server", "6.0.0", "O(1)", "Returns this help", "", reply_with_help},
};

const CommandSpec kCommands[] = {
    {"acl",
     -2,
     0,
     {},
     "server",
     "6.0.0",
     "Depends on the subcommand",
     "A container for access control commands",
     "",
     nullptr,
     Plan::kNone,
     {},
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> admin_acl_commands() {
  return kCommands;
}

}  // namespace iris::server
