// A real server for one test: its own process, port and temporary directory.
//
//   ServerProcess server({.directives = {"maxclients 3"}, .threads = 4});
//   ASSERT_TRUE(server.start());
//   RespClient client = server.connect();
//   ...
//   EXPECT_EQ(server.stop(), 0);      the destructor does so too, and fails the test if it is not 0
//
// The server is ended by its pid with SIGTERM and must exit with 0: a sanitizer's report, a crash
// or a leak makes that another number, so each test also proves a clean exit. If the test failed,
// the log is printed. The directory is removed at the end, unless IRIS_TEST_KEEP is set. A server
// never outlives the test program, however that ends.
//
// IRIS_TEST_SERVER=/usr/bin/redis-server runs the tests against another server instead. This is an
// aid for writing tests of behaviour that is Redis's: what such a test expects is then known to be
// what Redis does. Directives and tests that only Iris has are left out (is_reference()).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/harness/resp_client.h"

namespace iris::harness {

struct ServerOptions {
  // Lines of the configuration file, after the harness's own (port, bind, dir), which they
  // override.
  std::vector<std::string> directives = {};
  int threads = 1;
  // The server's limit of open files; 0 leaves it as it is.
  uint64_t max_files = 0;
  // Of the command line, after the configuration file.
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
};

// The server under test is not Iris but the one that IRIS_TEST_SERVER names.
bool is_reference();

// Where the server under test is.
std::string server_program();

class ServerProcess {
 public:
  explicit ServerProcess(ServerOptions options = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts the server and waits until it answers. False, with a test failure that shows the log, if
  // it does not.
  [[nodiscard]] bool start();
  // The same, but a server that still loads its data counts as one that answers.
  [[nodiscard]] bool start_to_load();
  // For tests that expect the server to refuse its start: starts it, waits for its end, and returns
  // its exit code.
  int start_in_vain();
  // SIGTERM, then waits. The exit code; 128 + n if signal n ended it. Fails the test if the server
  // had to be killed.
  int stop();
  // For tests that end the server themselves (SHUTDOWN, signals): waits, same result as stop().
  int wait_for_exit();
  // Stops, which must exit with 0, and starts again with the same directory and port; with the
  // configuration file of the options, or with what the server made of it (CONFIG REWRITE).
  enum class ConfigFile : uint8_t { kOfOptions, kAsItIs };
  [[nodiscard]] bool restart(ConfigFile config_file = ConfigFile::kOfOptions);
  void kill(int signal);
  // The test expects this server to end badly, so the destructor shall not complain.
  void expect_bad_exit() { bad_exit_expected_ = true; }

  bool running();
  pid_t pid() const { return pid_; }
  int port() const { return port_; }
  const std::string& dir() const { return dir_; }
  std::string config_file() const { return dir_ + "/test.conf"; }
  std::string unix_socket() const { return dir_ + "/socket"; }
  // What the server wrote to stdout and stderr, over all of its starts.
  std::string log() const;

  // A fresh connection; the test fails if there is none.
  RespClient connect();
  RespClient connect(const std::string& host);

  uint64_t rss_bytes() const;
  // User and system time that the process used so far.
  double cpu_seconds() const;
  uint64_t open_files() const;

 private:
  bool launch();
  bool start(bool may_load);
  bool wait_until_it_answers(bool may_load);
  bool reap(bool block);
  void write_config() const;

  ServerOptions options_;
  std::string dir_;
  int port_ = 0;
  pid_t pid_ = -1;
  int exit_code_ = 0;
  bool bad_exit_expected_ = false;
  ConfigFile config_file_ = ConfigFile::kOfOptions;
};

// Runs a program to its end, with `input` as its stdin; kills it after kPatienceMs.
struct ProgramResult {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};
ProgramResult run_program(const std::vector<std::string>& command, const std::string& input = "");

// A port of the loopback interface that was free a moment ago.
int free_port();

// Looks every few milliseconds whether `condition()` holds, until it does or timeout_ms have
// passed.
bool wait_until(const std::function<bool()>& condition, int timeout_ms = kPatienceMs);

}  // namespace iris::harness
