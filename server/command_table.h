// The table of all commands, built once at start from the declarative lists of server/commands/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tsl/robin_map.h>

#include "server/command.h"

namespace iris::server {

class CommandTable {
 public:
  explicit CommandTable(std::span<const std::span<const CommandSpec>> families);

  // By name in any case; null if there is none.
  const Command* find(std::string_view name) const;
  // "config|set" or "ping".
  const Command* find_full(std::string_view full_name) const;

  // In the order of their declaration.
  const std::vector<Command>& commands() const { return commands_; }
  // Commands and subcommands; statistics are indexed by Command::id below this.
  size_t ids() const { return by_id_.size(); }
  const Command& by_id(size_t id) const { return *by_id_[id]; }

 private:
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const;
  };
  struct NameEqual {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const;
  };

  std::vector<Command> commands_;
  std::vector<const Command*> by_id_;
  tsl::robin_map<std::string_view, const Command*, NameHash, NameEqual> by_name_;
};

// Finds the subcommand by name in any case; null if there is none.
const Command* find_subcommand(const Command& container, std::string_view name);

// Where the keys of a request are: indexes into its arguments.
std::vector<size_t> key_indexes(const CommandSpec& spec, size_t argc);

}  // namespace iris::server
