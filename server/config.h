// Config: every setting of a server, as plain values with their defaults.
//
// A Config is data and nothing more. It is built once from the file and the command line
// (config_command_line.h), handed down from main, and replaced as a whole by CONFIG SET
// (config_access.h), so whoever holds one sees either all of a change or nothing of it. How a
// value is spelled, which values are allowed and which may change while the server runs is said
// in one place, the table of config_directives.cc; conf/iris.conf explains them to people.
//
// Names carry the unit: `_bytes`, `_s`, `_ms`, `_us`. A value of 0 that means "no limit" or
// "choose yourself" says so here, because every reader has to treat it so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace iris::server {

enum class LogLevel : uint8_t { kDebug, kVerbose, kNotice, kWarning };
enum class Supervised : uint8_t { kNo, kSystemd, kAuto };
enum class MaxmemoryPolicy : uint8_t { kNoEviction };
enum class DebugCommand : uint8_t { kNo, kYes, kLocal };
enum class AppendFsync : uint8_t { kAlways, kEverySecond, kNo };
enum class BloomLayoutChoice : uint8_t { kAuto, kBlocked, kPaged, kClassic };

// What may wait unsent for one client: never more than `hard_bytes`, and not more than
// `soft_bytes` for `soft_s` seconds on end. 0 = no such limit.
struct OutputBufferLimit {
  uint64_t hard_bytes = 0;
  uint64_t soft_bytes = 0;
  uint32_t soft_s = 0;
  bool operator==(const OutputBufferLimit&) const = default;
};

// Redis's classes of clients. Iris has only normal ones so far; limits of the others are kept so
// that a file written for Redis loads and CONFIG GET answers what was set.
enum class ClientClass : uint8_t { kNormal, kReplica, kPubsub };
inline constexpr size_t kClientClasses = 3;

// Take a snapshot when `seconds` have passed since the last one and it is `changes` writes old.
struct SaveRule {
  uint32_t seconds = 0;
  uint64_t changes = 0;
  bool operator==(const SaveRule&) const = default;
};

// Grouped for the reader; there is one Config, and its padding costs nobody anything.
struct Config {  // NOLINT(clang-analyzer-optin.performance.Padding): see above
  // Network. A leading '-' marks an address that may fail to bind, '*' is every address.
  std::vector<std::string> bind{"127.0.0.1", "-::1"};
  uint16_t port = 6379;         // 0 = no TCP
  std::string unixsocket;       // empty = none
  uint32_t unixsocketperm = 0;  // mode bits; 0 = as the umask leaves them
  uint32_t tcp_backlog = 511;
  uint32_t tcp_keepalive_s = 300;   // 0 = off
  uint32_t timeout_s = 0;           // an idle connection is closed after so long; 0 = never
  uint32_t request_timeout_s = 60;  // an unfinished request gains a byte or closes; 0 = never
  uint32_t maxclients = 10'000;

  // Who may do what.
  bool protected_mode = true;
  std::string requirepass;  // empty = no password; never written to a log
  DebugCommand enable_debug_command = DebugCommand::kLocal;

  // Process.
  uint32_t threads = 0;  // 0 = as many as the cores allow
  uint32_t databases = 16;
  uint32_t hz = 10;  // background rounds a second
  std::string dir = ".";
  bool daemonize = false;
  std::string pidfile;  // empty = none, or kDefaultPidfile when daemonized
  Supervised supervised = Supervised::kNo;
  std::string logfile;  // empty = standard output
  LogLevel loglevel = LogLevel::kNotice;

  // Limits.
  uint64_t maxmemory_bytes = 0;  // 0 = none
  MaxmemoryPolicy maxmemory_policy = MaxmemoryPolicy::kNoEviction;
  uint64_t filter_max_memory_bytes = 0;  // of one filter; 0 = only maxmemory limits it
  uint64_t proto_max_bulk_bytes = 512ull << 20;
  uint64_t client_query_buffer_bytes = 1ull << 30;
  // Indexed by ClientClass.
  std::array<OutputBufferLimit, kClientClasses> client_output_buffer_limit{
      {{64ull << 20, 0, 0}, {256ull << 20, 64ull << 20, 60}, {32ull << 20, 8ull << 20, 60}}};

  // Watching the server.
  int64_t slowlog_log_slower_than_us = 10'000;  // 0 = every command, -1 = none
  uint32_t slowlog_max_len = 128;
  uint32_t latency_monitor_threshold_ms = 0;  // 0 = off
  bool latency_tracking = true;
  std::vector<double> latency_tracking_info_percentiles{50, 99, 99.9};

  // Persistence.
  bool appendonly = true;
  AppendFsync appendfsync = AppendFsync::kEverySecond;
  std::vector<SaveRule> save;
  bool stop_writes_on_bgsave_error = true;
  uint32_t auto_aof_rewrite_percentage = 100;  // 0 = never by itself
  uint64_t auto_aof_rewrite_min_size_bytes = 64ull << 20;

  // Bloom filters that a first BF.ADD creates.
  double bf_error_rate = 0.01;
  uint64_t bf_initial_size = 100;
  uint32_t bf_expansion_factor = 2;  // 0 = the filter does not grow
  BloomLayoutChoice bf_layout = BloomLayoutChoice::kAuto;

  // Spectral filters that a first CF.ADD or CF.INCR creates.
  double cf_error_rate = 0.01;
  uint64_t cf_initial_size = 1024;
  uint32_t cf_expansion_factor = 2;  // 0 = the filter does not grow
  uint32_t cf_max_expansions = 32;
  uint32_t cf_bucket_size = 2;      // a cuckoo notion: kept for CF.INFO
  uint32_t cf_max_iterations = 20;  // likewise

  const OutputBufferLimit& output_buffer_limit(ClientClass client_class) const {
    return client_output_buffer_limit[static_cast<size_t>(client_class)];
  }

  bool operator==(const Config&) const = default;
};

// Where a daemon without a `pidfile` of its own writes its process id.
inline constexpr const char* kDefaultPidfile = "/var/run/iris.pid";

}  // namespace iris::server
