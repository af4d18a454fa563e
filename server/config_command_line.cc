#include "server/config_command_line.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "server/config_directives.h"
#include "server/config_file.h"
#include "server/version.h"

namespace iris::server {
namespace {

constexpr const char* kUsage =
    "Usage: iris-server [FILE | -] [--directive value ...] ...\n"
    "       iris-server --check-config [FILE | -] [--directive value ...] ...\n"
    "       iris-server --check [--records] FILE ...\n"
    "       iris-server --version | --help\n"
    "\n"
    "FILE is a configuration in the syntax of redis.conf, - reads it from standard input.\n"
    "Any directive of a file can be given as an option and then wins over the file:\n"
    "\n"
    "  iris-server /etc/iris/iris.conf --port 6380 --loglevel debug\n"
    "  echo 'maxmemory 2gb' | iris-server -\n"
    "\n"
    "Directives (conf/iris.conf explains them):\n";

bool is_option(std::string_view word) {
  return word.starts_with("--");
}

// The options that are no directive. Only the first word can be one, so that no directive's value
// is mistaken for it.
Action action_of(std::string_view word) {
  if (word == "--version" || word == "-v") return Action::kVersion;
  if (word == "--help" || word == "-h") return Action::kHelp;
  if (word == "--check-config") return Action::kCheckConfig;
  if (word == "--check") return Action::kCheckFiles;
  return Action::kRun;
}

std::string load_source(const std::string& path, ConfigLoader& loader, std::string& config_file) {
  if (path == "-") {
    const auto error = loader.load(path);
    return error ? error->text() : "";
  }
  std::error_code failure;
  config_file = std::filesystem::absolute(path, failure).string();
  if (failure) return path + ": " + failure.message();
  const auto error = loader.load(config_file);
  return error ? error->text() : "";
}

// `--port 6380 --loglevel debug`, and nothing else.
std::string load_options(std::span<const std::string> words, ConfigLoader& loader) {
  while (!words.empty()) {
    if (!is_option(words[0])) return "command line: a directive must begin with two dashes";
    size_t count = 1;
    while (count < words.size() && !is_option(words[count])) ++count;
    std::vector<std::string> directive(words.begin(),
                                       words.begin() + static_cast<std::ptrdiff_t>(count));
    directive[0].erase(0, 2);
    if (const auto error = loader.load_words(directive)) return error->text();
    words = words.subspan(count);
  }
  return "";
}

void load_configuration(std::span<const std::string> words, CommandLine& line) {
  ConfigLoader loader;
  if (!words.empty() && !is_option(words[0])) {
    // A mistyped option such as -port is no name of a file.
    if (words[0].starts_with('-') && words[0] != "-") {
      line.error = "command line: unknown option; see iris-server --help";
      return;
    }
    line.error = load_source(words[0], loader, line.config_file);
    words = words.subspan(1);
  }
  if (line.error.empty()) line.error = load_options(words, loader);
  if (line.error.empty()) {
    if (const auto error = loader.finish()) line.error = error->text();
  }
  line.config = loader.config();
}

void print_help(std::FILE* out) {
  std::fputs(kUsage, out);
  for (const Directive& directive : directives()) {
    std::fprintf(out, "  --%-34s %s\n", std::string(directive.name).c_str(),
                 std::string(directive.doc).c_str());
  }
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) words.emplace_back(argv[i]);

  CommandLine line;
  std::span<const std::string> rest(words);
  if (!rest.empty()) line.action = action_of(rest[0]);
  if (line.action != Action::kRun) rest = rest.subspan(1);

  switch (line.action) {
    case Action::kRun:
    case Action::kCheckConfig:
      load_configuration(rest, line);
      break;
    case Action::kCheckFiles:
      line.files.assign(rest.begin(), rest.end());
      if (rest.empty()) line.error = "command line: --check needs the name of a file";
      break;
    case Action::kVersion:
    case Action::kHelp:
      break;
  }
  return line;
}

std::optional<int> answer_command_line(const CommandLine& line, std::FILE* out, std::FILE* errors) {
  if (!line.error.empty()) {
    std::fprintf(errors, "%s\n", line.error.c_str());
    return 1;
  }
  switch (line.action) {
    case Action::kVersion:
      std::fprintf(out, "iris-server %s\n", kVersion);
      return 0;
    case Action::kHelp:
      print_help(out);
      return 0;
    case Action::kCheckConfig:
      std::fputs("Configuration OK\n", out);
      return 0;
    case Action::kRun:
    case Action::kCheckFiles:
      break;
  }
  return std::nullopt;
}

}  // namespace iris::server
