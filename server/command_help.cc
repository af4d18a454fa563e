#include "server/command_help.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace iris::server {

namespace {

std::string upper_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

// "capacity:integer" -> "capacity": types are for machines.
std::string without_types(std::string_view syntax) {
  std::string result;
  bool in_type = false;
  for (const char c : syntax) {
    if (c == ':') in_type = true;
    if (in_type && (c == ' ' || c == ']' || c == '|' || c == '.')) in_type = false;
    if (!in_type) result += c;
  }
  return result;
}

}  // namespace

std::string upper_case_name(const Command& command) {
  return upper_case(command.spec->name);
}

void reply_with_help(Call& call) {
  const Command* container = call.engine.commands.find(call.args[0]);
  std::vector<std::string> lines;
  lines.push_back(upper_case_name(*container) +
                  " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  for (const Command& subcommand : container->subcommands) {
    std::string line = upper_case_name(subcommand);
    if (!subcommand.spec->syntax.empty()) line += " " + without_types(subcommand.spec->syntax);
    lines.push_back(line);
    lines.push_back("    " + std::string(subcommand.spec->summary));
  }
  call.reply.array(lines.size());
  for (const std::string& line : lines) call.reply.simple(line);
}

}  // namespace iris::server
