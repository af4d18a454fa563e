// INFO server, cpu, persistence, replication, cluster: the process and what it takes part in.

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "server/info_sections.h"
#include "server/version.h"

namespace iris::server {

namespace {

constexpr int64_t kSecondsPerDay = 24 * 60 * 60;
// Redis keeps the seconds of an access in 24 bits.
constexpr int64_t kLruClockMask = (1 << 24) - 1;

std::string operating_system() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::string compiler_version() {
  return std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
         std::to_string(__GNUC_PATCHLEVEL__);
}

std::string_view supervisor(const Config& config) {
  if (config.supervised == Supervised::kNo) return "no";
  const bool is_automatic = config.supervised == Supervised::kAuto;
  return is_automatic && std::getenv("NOTIFY_SOCKET") == nullptr ? "no" : "systemd";
}

void listeners(const Config& config, InfoText& text) {
  int number = 0;
  const auto add = [&](const std::string& listener) {
    text.field("listener" + std::to_string(number++), listener);
  };
  if (config.port != 0) {
    std::string tcp = "name=tcp";
    for (const std::string& address : config.bind) tcp += ",bind=" + address;
    add(tcp + ",port=" + std::to_string(config.port));
  }
  if (!config.unixsocket.empty()) add("name=unix,bind=" + config.unixsocket);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void cpu_times(InfoText& text, int who, const std::string& suffix) {
  rusage usage{};
  getrusage(who, &usage);
  text.real("used_cpu_sys" + suffix, seconds(usage.ru_stime), 6);
  text.real("used_cpu_user" + suffix, seconds(usage.ru_utime), 6);
}

}  // namespace

void server_section(const InfoContext& context, InfoText& text) {
  const Config& config = context.engine.config;
  const RunFacts& facts = context.engine.facts;
  const int64_t uptime_s = (context.now_ms - facts.started_ms) / 1000;
  text.section("Server");
  text.field("redis_version", kRedisVersion);
  text.field("iris_version", kVersion);
  text.field("redis_git_sha1", "00000000");
  text.field("redis_git_dirty", 0);
  text.field("redis_build_id", "0");
  text.field("redis_mode", "standalone");
  text.field("os", operating_system());
  text.field("arch_bits", sizeof(void*) * 8);
  text.field("monotonic_clock", "POSIX clock_gettime");
  text.field("multiplexing_api", "epoll");
  text.field("atomicvar_api", "c11-builtin");
  text.field("gcc_version", compiler_version());
  text.field("process_id", getpid());
  text.field("process_supervised", supervisor(config));
  text.field("run_id", facts.run_id);
  text.field("tcp_port", config.port);
  text.field("server_time_usec", context.engine.clock.wall_us());
  text.field("uptime_in_seconds", uptime_s);
  text.field("uptime_in_days", uptime_s / kSecondsPerDay);
  text.field("hz", config.hz);
  text.field("configured_hz", config.hz);
  text.field("lru_clock", (context.now_ms / 1000) & kLruClockMask);
  text.field("executable", facts.executable);
  text.field("config_file", facts.config_file);
  text.field("io_threads_active", facts.threads > 1 ? 1 : 0);
  text.field("iris_threads", facts.threads);
  listeners(config, text);
}

void cpu_section(const InfoContext&, InfoText& text) {
  text.section("CPU");
  cpu_times(text, RUSAGE_SELF, "");
  cpu_times(text, RUSAGE_CHILDREN, "_children");
  // In Redis the thread that runs commands: here the worker that answers.
  cpu_times(text, RUSAGE_THREAD, "_main_thread");
}

void replication_section(const InfoContext& context, InfoText& text) {
  // The other way round than the run id: each start is a new history, and the two must differ.
  const std::string& run_id = context.engine.facts.run_id;
  text.section("Replication");
  text.field("role", "master");
  text.field("connected_slaves", 0);
  text.field("master_failover_state", "no-failover");
  text.field("master_replid", std::string(run_id.rbegin(), run_id.rend()));
  text.field("master_replid2", std::string(40, '0'));
  text.field("master_repl_offset", 0);
  text.field("second_repl_offset", -1);
  text.field("repl_backlog_active", 0);
  text.field("repl_backlog_size", 0);
  text.field("repl_backlog_first_byte_offset", 0);
  text.field("repl_backlog_histlen", 0);
}

void cluster_section(const InfoContext&, InfoText& text) {
  text.section("Cluster");
  text.field("cluster_enabled", 0);
}

}  // namespace iris::server
