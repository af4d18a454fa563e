#include "tests/integration/harness/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace iris::harness {
namespace {

constexpr int kStartAttempts = 5;
constexpr auto kPollInterval = std::chrono::milliseconds(5);
constexpr size_t kPrintedLogBytes = 8000;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string make_directory() {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr ? base : "/tmp") + "/iris-test-XXXXXX";
  return ::mkdtemp(path.data()) != nullptr ? path : "";
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& additions) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) result.emplace_back(*entry);
  for (const auto& [name, value] : additions) result.push_back(name + "=" + value);
  return result;
}

// In the child, between fork and exec: only async-signal-safe calls.
void become(char* const* arguments, char* const* environment, int input, int output,
            uint64_t max_files, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (max_files > 0) {
    const rlimit limit{.rlim_cur = max_files, .rlim_max = max_files};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

bool is_reference() {
  return std::getenv("IRIS_TEST_SERVER") != nullptr;
}

std::string server_program() {
  const char* other = std::getenv("IRIS_TEST_SERVER");
  return other != nullptr ? other : IRIS_SERVER_PROGRAM;
}

bool wait_until(const std::function<bool()>& condition, int timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

ServerProcess::ServerProcess(ServerOptions options)
    : options_(std::move(options)), dir_(make_directory()) {}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    const int code = stop();
    EXPECT_TRUE(code == 0 || bad_exit_expected_) << "the server exited with " << code;
  }
  if (::testing::Test::HasFailure()) {
    const std::string text = log();
    const size_t from = text.size() > kPrintedLogBytes ? text.size() - kPrintedLogBytes : 0;
    std::cerr << "--- log of the server in " << dir_ << "\n" << text.substr(from) << "---\n";
  }
  if (std::getenv("IRIS_TEST_KEEP") == nullptr && !dir_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
}

void ServerProcess::write_config() const {
  std::ofstream file(config_file());
  file << "port " << port_ << "\nbind 127.0.0.1\ndir " << dir_ << "\n";
  if (is_reference()) {
    file << "save \"\"\nenable-debug-command yes\n";
  } else {
    file << "threads " << options_.threads << "\n";
  }
  for (const std::string& line : options_.directives) file << line << "\n";
}

bool ServerProcess::launch() {
  if (config_file_ == ConfigFile::kOfOptions) write_config();
  std::vector<std::string> words = {server_program(), config_file()};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  std::vector<std::string> variables = environment_with(options_.environment);
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  const int output =
      ::open((dir_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become(arguments.data(), environment.data(), input, output, options_.max_files, parent);
  }
  ::close(output);
  ::close(input);
  return pid_ > 0;
}

bool ServerProcess::wait_until_it_answers(bool may_load) {
  bool answered = false;
  wait_until([&] {
    if (!running()) return true;
    RespClient client = RespClient::to_tcp("127.0.0.1", port_);
    if (!client.connected()) client = RespClient::to_unix(unix_socket());
    if (!client.connected()) return false;
    const Reply reply = client.call("DBSIZE");
    answered = reply.type != Reply::Type::kNone && (may_load || !reply.is_error("LOADING"));
    return answered;
  });
  return answered;
}

bool ServerProcess::start() {
  return start(false);
}

bool ServerProcess::start_to_load() {
  return start(true);
}

bool ServerProcess::start(bool may_load) {
  for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
    // Another program may take the port between free_port() and the server's bind: then try again.
    if (port_ == 0 || attempt > 0) port_ = free_port();
    if (!launch()) break;
    if (wait_until_it_answers(may_load)) return true;
    if (running() || log().find("in use") == std::string::npos) break;
  }
  ADD_FAILURE() << "the server did not start: " << server_program() << " " << config_file();
  return false;
}

int ServerProcess::start_in_vain() {
  if (port_ == 0) port_ = free_port();
  return launch() ? wait_for_exit() : -1;
}

bool ServerProcess::reap(bool block) {
  if (pid_ <= 0) return true;
  int status = 0;
  pid_t result = 0;
  if (block) {
    wait_until([&] { return (result = ::waitpid(pid_, &status, WNOHANG)) != 0; });
  } else {
    result = ::waitpid(pid_, &status, WNOHANG);
  }
  if (result == 0) return false;
  exit_code_ = result == pid_ ? exit_code_of(status) : 127;
  pid_ = -1;
  return true;
}

bool ServerProcess::running() {
  return pid_ > 0 && !reap(false);
}

void ServerProcess::kill(int signal) {
  if (running()) ::kill(pid_, signal);
}

int ServerProcess::stop() {
  kill(SIGTERM);
  return wait_for_exit();
}

int ServerProcess::wait_for_exit() {
  if (!reap(true)) {
    ADD_FAILURE() << "the server (pid " << pid_ << ") did not end and was killed";
    ::kill(pid_, SIGKILL);
    reap(true);
  }
  return exit_code_;
}

bool ServerProcess::restart(ConfigFile config_file) {
  EXPECT_EQ(stop(), 0) << "the server's exit code";
  config_file_ = config_file;
  return start();
}

std::string ServerProcess::log() const {
  return read_file(dir_ + "/log");
}

RespClient ServerProcess::connect() {
  return connect("127.0.0.1");
}

RespClient ServerProcess::connect(const std::string& host) {
  RespClient client = RespClient::to_tcp(host, port_);
  EXPECT_TRUE(client.connected()) << "no connection to " << host << " port " << port_ << ", errno "
                                  << client.connect_error();
  return client;
}

uint64_t ServerProcess::rss_bytes() const {
  std::istringstream statm(read_file("/proc/" + std::to_string(pid_) + "/statm"));
  uint64_t total_pages = 0, resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

double ServerProcess::cpu_seconds() const {
  const std::string stat = read_file("/proc/" + std::to_string(pid_) + "/stat");
  // After the name in parentheses come state and 10 fields, then utime and stime in clock ticks.
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user_ticks = 0, system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  return (user_ticks + system_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

uint64_t ServerProcess::open_files() const {
  std::error_code error;
  uint64_t count = 0;
  for (std::filesystem::directory_iterator it("/proc/" + std::to_string(pid_) + "/fd", error), end;
       !error && it != end; it.increment(error)) {
    ++count;
  }
  return count;
}

ProgramResult run_program(const std::vector<std::string>& command, const std::string& input) {
  std::vector<std::string> words = command;
  std::vector<std::string> variables = environment_with({});
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  int to_child[2], from_child[2];
  if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0) return {};
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(arguments.data(), environment.data(), to_child[0], from_child[1], 0, parent);
  }
  ::close(to_child[0]);
  ::close(from_child[1]);
  // Inputs of tests are far smaller than a pipe's buffer, so this does not block.
  const ssize_t written = ::write(to_child[1], input.data(), input.size());
  EXPECT_EQ(written, static_cast<ssize_t>(input.size()));
  ::close(to_child[1]);

  ProgramResult result;
  char chunk[4096];
  ssize_t got = 0;
  pollfd readable{.fd = from_child[0], .events = POLLIN, .revents = 0};
  while (::poll(&readable, 1, kPatienceMs) > 0 &&
         (got = ::read(from_child[0], chunk, sizeof chunk)) > 0) {
    result.output.append(chunk, static_cast<size_t>(got));
  }
  ::close(from_child[0]);
  int status = 0;
  if (!wait_until([&] { return ::waitpid(pid, &status, WNOHANG) != 0; })) {
    ADD_FAILURE() << command[0] << " did not end and was killed";
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
  }
  result.exit_code = exit_code_of(status);
  return result;
}

}  // namespace iris::harness
