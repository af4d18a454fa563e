// iris-server: from the command line to a running server.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "persistence/file_check.h"
#include "server/config_command_line.h"
#include "server/crash_report.h"
#include "server/log.h"
#include "server/process.h"
#include "server/server.h"

namespace {

using namespace iris::server;

// With `threads auto`; beyond that a machine has other things to do than filters.
constexpr uint32_t kMaxAutoThreads = 16;

std::string random_run_id() {
  constexpr char kHexDigits[] = "0123456789abcdef";
  std::random_device device;
  std::string id;
  while (id.size() < 40) id += kHexDigits[device() % 16];
  return id;
}

RunFacts facts_of_this_run(const CommandLine& line, const Clock& clock) {
  RunFacts facts;
  facts.run_id = random_run_id();
  std::error_code ignored;
  facts.executable = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  facts.config_file = line.config_file;
  facts.started_ms = clock.wall_ms();
  facts.threads =
      line.config.threads != 0 ? line.config.threads : std::min(usable_cores(), kMaxAutoThreads);
  return facts;
}

int fail(const std::string& reason) {
  std::fprintf(stderr, "iris-server: %s\n", reason.c_str());
  return 1;
}

int check_files(std::vector<std::string> paths) {
  iris::persistence::FileCheckOptions options;
  options.print_records = std::erase(paths, "--records") > 0;
  bool sound = true;
  for (const std::string& path : paths) {
    iris::persistence::FileSystem& files = iris::persistence::real_file_system();
    sound = iris::persistence::check_file(files, path, std::cout, options) && sound;
  }
  return sound ? 0 : 1;
}

int run(const CommandLine& line) {
  const Config& config = line.config;
  if (chdir(config.dir.c_str()) != 0) {
    return fail("dir " + config.dir + ": " + std::strerror(errno));
  }
  if (const std::string error = open_log(config); !error.empty()) return fail(error);
  if (config.daemonize) go_into_background();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of a write
  install_crash_report(config.logfile);

  Clock clock;
  Server server(config, facts_of_this_run(line, clock), clock);
  if (const std::string error = server.listen(); !error.empty()) {
    log_warning("{}", error);
    return config.logfile.empty() ? 1 : fail(error);
  }
  const PidFile pid_file(config);
  return server.run();
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine line = parse_command_line(argc, argv);
  if (const std::optional<int> code = answer_command_line(line, stdout, stderr)) return *code;
  return line.action == Action::kCheckFiles ? check_files(line.files) : run(line);
}
