#include "server/command_table.h"

#include <algorithm>
#include <cstdlib>

#include "server/text.h"

namespace iris::server {

namespace {

std::vector<std::string_view> categories_of(const CommandSpec& spec) {
  std::vector<std::string_view> result;
  const auto add_if = [&](bool condition, std::string_view category) {
    if (condition) result.push_back(category);
  };
  const bool keyspace = spec.group == "generic" || spec.group == "bf" || spec.group == "cf";
  add_if(spec.group == "generic", "@keyspace");
  add_if((spec.flags & kReadonly) != 0 && keyspace, "@read");
  add_if((spec.flags & kWrite) != 0, "@write");
  add_if(spec.group == "bf", "@bloom");
  add_if(spec.group == "cf", "@cuckoo");
  add_if((spec.flags & kAdmin) != 0, "@admin");
  add_if((spec.flags & kAdmin) != 0, "@dangerous");
  add_if(spec.group == "connection", "@connection");
  add_if(spec.group == "transactions", "@transaction");
  add_if((spec.flags & kFast) != 0, "@fast");
  add_if((spec.flags & kFast) == 0, "@slow");
  for (std::string_view rest = spec.extra_categories; !rest.empty();) {
    const std::string_view category = rest.substr(0, rest.find(' '));
    const bool known = std::find(result.begin(), result.end(), category) != result.end();
    add_if(!known, category);
    rest.remove_prefix(std::min(rest.size(), category.size() + 1));
  }
  return result;
}

Command made_from(const CommandSpec& spec, std::string_view container, uint32_t& next_id) {
  Command command;
  command.spec = &spec;
  command.handler = spec.handler;
  command.flags = spec.flags;
  command.min_args = static_cast<size_t>(std::abs(spec.arity));
  command.max_args = spec.arity < 0 ? SIZE_MAX : command.min_args;
  command.id = next_id++;
  command.full_name = container.empty() ? std::string(spec.name)
                                        : std::string(container) + "|" + std::string(spec.name);
  command.arguments = parse_syntax(spec.syntax);
  command.categories = categories_of(spec);
  for (const CommandSpec& subcommand : spec.subcommands) {
    command.subcommands.push_back(made_from(subcommand, spec.name, next_id));
  }
  return command;
}

}  // namespace

size_t CommandTable::NameHash::operator()(std::string_view name) const {
  // FNV-1a over the letters' lower case; names are short.
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) {
    hash = (hash ^ (static_cast<unsigned char>(c) | 0x20u)) * 0x100000001b3ull;
  }
  return hash;
}

bool CommandTable::NameEqual::operator()(std::string_view a, std::string_view b) const {
  return equal_ignoring_case(a, b);
}

CommandTable::CommandTable(std::span<const std::span<const CommandSpec>> families) {
  uint32_t next_id = 0;
  for (const auto& family : families) {
    for (const CommandSpec& spec : family) commands_.push_back(made_from(spec, {}, next_id));
  }
  by_id_.resize(next_id);
  for (const Command& command : commands_) {
    by_name_.emplace(command.spec->name, &command);
    by_id_[command.id] = &command;
    for (const Command& subcommand : command.subcommands) by_id_[subcommand.id] = &subcommand;
  }
}

const Command* CommandTable::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const Command* CommandTable::find_full(std::string_view full_name) const {
  const size_t bar = full_name.find('|');
  const Command* command = find(full_name.substr(0, bar));
  if (command == nullptr || bar == full_name.npos) return command;
  return find_subcommand(*command, full_name.substr(bar + 1));
}

const Command* find_subcommand(const Command& container, std::string_view name) {
  for (const Command& subcommand : container.subcommands) {
    if (equal_ignoring_case(subcommand.spec->name, name)) return &subcommand;
  }
  return nullptr;
}

std::vector<size_t> key_indexes(const CommandSpec& spec, size_t argc) {
  std::vector<size_t> indexes;
  if (spec.keys.first == 0) return indexes;
  const auto count = static_cast<int64_t>(argc);
  const int64_t last = spec.keys.last >= 0 ? spec.keys.last : count + spec.keys.last;
  for (int64_t i = spec.keys.first; i <= last && i < count; i += spec.keys.step) {
    indexes.push_back(static_cast<size_t>(i));
  }
  return indexes;
}

}  // namespace iris::server
