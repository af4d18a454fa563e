#include "server/config_directives.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "filters/check.h"
#include "server/config_lists.h"
#include "server/config_words.h"

namespace iris::server {
namespace {

using Name = std::string_view;
// Each in the order of its enumeration in config.h.
constexpr std::array<Name, 4> kLogLevels{"debug", "verbose", "notice", "warning"};
constexpr std::array<Name, 3> kSupervisors{"no", "systemd", "auto"};
constexpr std::array<Name, 1> kPolicies{"noeviction"};
constexpr std::array<Name, 3> kDebugChoices{"no", "yes", "local"};
constexpr std::array<Name, 3> kFsyncChoices{"always", "everysec", "no"};
constexpr std::array<Name, 4> kLayouts{"auto", "blocked", "paged", "classic"};

constexpr int64_t kMaxSeconds = INT32_MAX;
constexpr int64_t kMaxFilterItems = int64_t{1} << 40;
constexpr int64_t kMaxExpansion = 32'768;
// Each database costs memory even when it is empty; nobody selects the thousandth by hand.
constexpr int64_t kMaxDatabases = 1024;
constexpr uint64_t kMegabyte = 1ull << 20;
constexpr size_t kMaxPathBytes = 4095;  // PATH_MAX without the NUL
constexpr size_t kMaxSocketPath = 107;  // sockaddr_un::sun_path without the NUL
constexpr size_t kMaxPassword = 512;    // as long as Redis allows

constexpr Change kRuntime = Change::kAtRuntime;
constexpr Change kStart = Change::kOnlyAtStart;
constexpr bool kSecret = true;

// clang-format off: one row a directive, in the order of conf/iris.conf.
constexpr Directive kDirectives[] = {
    // Network
    {"bind", kBindKind, kStart, "addresses to listen on; '-' before one: it may be missing"},
    {"port", integer<&Config::port, 0, 65'535>, kStart, "TCP port; 0: no TCP"},
    {"unixsocket", text<&Config::unixsocket, 0, kMaxSocketPath>, kStart,
     "path of a Unix socket to listen on; empty: none"},
    {"unixsocketperm", kUnixSocketPermKind, kStart,
     "octal mode of the Unix socket; 0: the umask's"},
    {"tcp-backlog", integer<&Config::tcp_backlog, 0, INT32_MAX>, kStart,
     "connections that may wait to be accepted"},
    {"tcp-keepalive", integer<&Config::tcp_keepalive_s, 0, kMaxSeconds>, kRuntime,
     "seconds between probes of a silent peer; 0: none"},
    {"timeout", integer<&Config::timeout_s, 0, kMaxSeconds>, kRuntime,
     "seconds after which an idle client is closed; 0: never"},
    {"request-timeout", integer<&Config::request_timeout_s, 0, kMaxSeconds>, kRuntime,
     "seconds an unfinished request may stand still; 0: for ever"},
    {"maxclients", integer<&Config::maxclients, 1, INT32_MAX>, kRuntime,
     "clients served at the same time"},

    // Security
    {"protected-mode", yes_no<&Config::protected_mode>, kRuntime,
     "without a password, serve only this machine"},
    {"requirepass", text<&Config::requirepass, 0, kMaxPassword>, kRuntime,
     "password of the default user; empty: none", kSecret},
    {"enable-debug-command", choice<&Config::enable_debug_command, kDebugChoices>, kStart,
     "who may use DEBUG"},

    // Process
    {"threads", kThreadsKind, kStart, "worker threads, or 'auto'"},
    {"databases", integer<&Config::databases, 1, kMaxDatabases>, kStart,
     "databases that SELECT can choose from"},
    {"hz", integer<&Config::hz, 1, 500>, kRuntime, "rounds of background work a second"},
    {"dir", text<&Config::dir, 1, kMaxPathBytes>, kStart, "directory of the data"},
    {"daemonize", yes_no<&Config::daemonize>, kStart, "run in the background"},
    {"pidfile", text<&Config::pidfile, 0, kMaxPathBytes>, kStart, "file for the process id"},
    {"supervised", choice<&Config::supervised, kSupervisors>, kStart,
     "tell a supervisor when the server is ready"},
    {"logfile", text<&Config::logfile, 0, kMaxPathBytes>, kStart,
     "file for the log; empty: standard output"},
    {"loglevel", choice<&Config::loglevel, kLogLevels>, kRuntime, "how much is logged"},

    // Limits
    {"maxmemory", memory<&Config::maxmemory_bytes, 0>, kRuntime,
     "memory beyond which writes that need more are refused; 0: no limit"},
    {"maxmemory-policy", choice<&Config::maxmemory_policy, kPolicies>, kRuntime,
     "what happens at maxmemory"},
    {"filter-max-memory", memory<&Config::filter_max_memory_bytes, 0>, kRuntime,
     "memory of one filter; 0: no limit of its own"},
    {"proto-max-bulk-len", memory<&Config::proto_max_bulk_bytes, kMegabyte>, kRuntime,
     "size of one argument"},
    {"client-query-buffer-limit", memory<&Config::client_query_buffer_bytes, kMegabyte>, kRuntime,
     "unprocessed input of one client"},
    {"client-output-buffer-limit", kClientOutputBufferLimitKind, kRuntime,
     "unsent output of one client: <class> <hard> <soft> <soft seconds>", !kSecret,
     Lines::kEachItsPart},

    // Watching
    {"slowlog-log-slower-than", integer<&Config::slowlog_log_slower_than_us, -1, INT64_MAX>,
     kRuntime, "microseconds from which a command enters SLOWLOG; -1: none"},
    {"slowlog-max-len", integer<&Config::slowlog_max_len, 0, INT32_MAX>, kRuntime,
     "entries that SLOWLOG keeps"},
    {"latency-monitor-threshold", integer<&Config::latency_monitor_threshold_ms, 0, INT32_MAX>,
     kRuntime, "milliseconds from which LATENCY notes an event; 0: off"},
    {"latency-tracking", yes_no<&Config::latency_tracking>, kRuntime,
     "keep a latency histogram of every command"},
    {"latency-tracking-info-percentiles", kPercentilesKind, kRuntime,
     "percentiles that INFO latencystats shows"},

    // Persistence
    {"appendonly", yes_no<&Config::appendonly>, kRuntime, "log every change"},
    {"appendfsync", choice<&Config::appendfsync, kFsyncChoices>, kRuntime,
     "when the log is forced to disk"},
    {"save", kSaveKind, kRuntime, "snapshot after <seconds> with <changes>, in pairs; \"\": never",
     !kSecret, Lines::kAddUp},
    {"stop-writes-on-bgsave-error", yes_no<&Config::stop_writes_on_bgsave_error>, kRuntime,
     "with save rules: refuse writes after a snapshot that failed, until one succeeds"},
    {"auto-aof-rewrite-percentage", integer<&Config::auto_aof_rewrite_percentage, 0, INT32_MAX>,
     kRuntime, "growth of the log that starts a rewrite; 0: never"},
    {"auto-aof-rewrite-min-size", memory<&Config::auto_aof_rewrite_min_size_bytes, 0>, kRuntime,
     "a smaller log is never rewritten by itself"},

    // Bloom filters
    {"bf-error-rate", error_rate<&Config::bf_error_rate>, kRuntime,
     "false positive rate of a Bloom filter made by its first item"},
    {"bf-initial-size", filter_integer<&Config::bf_initial_size, 1, kMaxFilterItems>, kRuntime,
     "its capacity in items"},
    {"bf-expansion-factor", filter_integer<&Config::bf_expansion_factor, 0, kMaxExpansion>,
     kRuntime, "how much larger each further layer is; 0: the filter does not grow"},
    {"bf-layout", choice<&Config::bf_layout, kLayouts>, kRuntime, "where its bits lie in memory"},

    // Spectral filters
    {"cf-error-rate", error_rate<&Config::cf_error_rate>, kRuntime,
     "rate of wrong counts of a spectral filter made by its first item"},
    {"cf-initial-size", filter_integer<&Config::cf_initial_size, 2, kMaxFilterItems>, kRuntime,
     "its capacity in items"},
    {"cf-expansion-factor", filter_integer<&Config::cf_expansion_factor, 0, kMaxExpansion>,
     kRuntime, "how much larger each further layer is; 0: the filter does not grow"},
    {"cf-max-expansions", filter_integer<&Config::cf_max_expansions, 1, 65'535>, kRuntime,
     "layers it may grow by"},
    {"cf-bucket-size", filter_integer<&Config::cf_bucket_size, 1, 255>, kRuntime,
     "kept for CF.INFO, without effect"},
    {"cf-max-iterations", filter_integer<&Config::cf_max_iterations, 1, 65'535>, kRuntime,
     "kept for CF.INFO, without effect"},
};
// clang-format on

// Levenshtein's distance, with two letters in the wrong order counted as one slip.
size_t edit_distance(std::string_view a, std::string_view b) {
  // distance[i][j] is that of the first i letters of a and the first j of b.
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = i + j;
        continue;
      }
      const size_t replaced = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({replaced, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

}  // namespace

std::span<const Directive> directives() {
  return kDirectives;
}

const Directive* find_directive(std::string_view name) {
  const std::string wanted = lower_case(name);
  for (const Directive& directive : kDirectives) {
    if (directive.name == wanted) return &directive;
  }
  return nullptr;
}

std::string_view closest_directive(std::string_view name) {
  constexpr size_t kLongestTypo = 64;
  if (name.size() > kLongestTypo) return {};
  const std::string wanted = lower_case(name);
  // One slip in three letters is still the same word; more is a guess that would mislead.
  size_t closest = wanted.size() / 3 + 1;
  std::string_view found;
  for (const Directive& directive : kDirectives) {
    const size_t distance = edit_distance(wanted, directive.name);
    if (distance < closest) {
      closest = distance;
      found = directive.name;
    }
  }
  return found;
}

std::vector<std::string> directive_words(const Directive& directive, const Config& config) {
  const std::string value = directive.kind.print(config);
  switch (directive.kind.shape) {
    case Shape::kMemory: {
      const auto bytes = memory_from_text(value);
      CHECK(bytes);
      return {memory_to_text(*bytes)};
    }
    case Shape::kList: {
      // No kind of list has a word that would need quotes.
      auto words = split_words(value);
      CHECK(words);
      if (words->empty()) return {""};
      return std::move(*words);
    }
    case Shape::kWord:
      break;
  }
  return {value};
}

std::optional<Conflict> find_conflict(const Config& config) {
  if (config.cf_initial_size < 2ull * config.cf_bucket_size) {
    return Conflict{find_directive("cf-initial-size"), find_directive("cf-bucket-size"),
                    "must be at least twice the cf-bucket-size, as CF.RESERVE demands"};
  }
  return std::nullopt;
}

}  // namespace iris::server
