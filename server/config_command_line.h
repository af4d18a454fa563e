// What a person typed to start the server.
//
//   iris-server [FILE | -] [--directive value ...] ...
//   iris-server --check-config [FILE | -] [--directive value ...] ...
//   iris-server --check [--records] FILE ...
//   iris-server --version | --help
//
// The values of a directive go up to the next word that begins with two dashes. They are read after
// the file and so win over it (except that `--save` adds to the file's rules, as its lines do).
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "server/config.h"

namespace iris::server {

enum class Action : uint8_t { kRun, kVersion, kHelp, kCheckConfig, kCheckFiles };

struct CommandLine {
  Action action = Action::kRun;
  Config config;
  // Absolute, so that CONFIG REWRITE finds it after a change of directory; empty when there is
  // none or it was standard input.
  std::string config_file;
  std::vector<std::string> files;  // of kCheckFiles
  std::string error;               // empty when all is well; else only `action` has a meaning
};

// Reads the configuration file as well. `argv[0]` is not looked at.
[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

// Does what needs no server (the version, the help, the check of a configuration, an error) and
// returns the exit code; nothing when there is work left, that is for kRun and kCheckFiles.
[[nodiscard]] std::optional<int> answer_command_line(const CommandLine& line, std::FILE* out,
                                                     std::FILE* errors);

}  // namespace iris::server
