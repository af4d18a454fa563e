// What the configuration's tests share: a folder that goes away, and random valid settings.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "server/config_directives.h"
#include "server/config_file.h"
#include "server/config_words.h"

namespace iris::server {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "iris-config-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(std::string_view name) const { return (path_ / name).string(); }
  std::string write(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path(name);
  }
  std::string read(std::string_view name) const {
    std::ostringstream text;
    text << std::ifstream(path_ / name, std::ios::binary).rdbuf();
    return text.str();
  }
  size_t files() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

 private:
  std::filesystem::path path_;
};

// Values of a directive, as they would stand in a file behind its name. Any combination of them is
// a valid configuration.
inline const std::map<std::string_view, std::vector<std::string>>& sample_values() {
  static const std::map<std::string_view, std::vector<std::string>> samples{
      {"bind", {"127.0.0.1 -::1", "*", "\"\"", "10.0.0.1 -fe80::1%eth0"}},
      {"port", {"6379", "0", "65535"}},
      {"unixsocket", {"\"\"", "/tmp/iris.sock", "\"/tmp/two words\""}},
      {"unixsocketperm", {"0", "700", "0777"}},
      {"tcp-backlog", {"511", "0"}},
      {"tcp-keepalive", {"300", "0"}},
      {"timeout", {"0", "2147483647"}},
      {"request-timeout", {"60", "0"}},
      {"maxclients", {"10000", "1"}},
      {"protected-mode", {"yes", "no"}},
      {"requirepass", {"\"\"", "secret", "\"a \\\"b\\\" \\\\ # 'c' \\n\\xff\\t\"", "'it\\'s'"}},
      {"enable-debug-command", {"no", "yes", "local"}},
      {"threads", {"auto", "1", "64"}},
      {"databases", {"16", "1"}},
      {"hz", {"10", "500"}},
      {"dir", {".", "/var/lib/iris", "\"#odd\""}},
      {"daemonize", {"yes", "no"}},
      {"pidfile", {"\"\"", "/run/iris.pid"}},
      {"supervised", {"no", "systemd", "auto"}},
      {"logfile", {"\"\"", "iris.log"}},
      {"loglevel", {"debug", "verbose", "notice", "warning"}},
      {"maxmemory", {"0", "2gb", "1000000007", "3k", "9223372036854775807"}},
      {"maxmemory-policy", {"noeviction"}},
      {"filter-max-memory", {"0", "1KB"}},
      {"proto-max-bulk-len", {"512mb", "1mb"}},
      {"client-query-buffer-limit", {"1gb", "1048577"}},
      {"client-output-buffer-limit",
       {"normal 64mb 0 0", "normal 0 0 0 pubsub 1 2 3", "replica 5gb 1m 9"}},
      {"slowlog-log-slower-than", {"10000", "-1", "0", "9223372036854775807"}},
      {"slowlog-max-len", {"128", "0"}},
      {"latency-monitor-threshold", {"0", "100"}},
      {"latency-tracking", {"yes", "no"}},
      {"latency-tracking-info-percentiles", {"50 99 99.9", "\"\"", "0 33.3333333333 100"}},
      {"appendonly", {"yes", "no"}},
      {"appendfsync", {"always", "everysec", "no"}},
      {"save", {"\"\"", "3600 1", "3600 1 300 100 60 10000"}},
      {"stop-writes-on-bgsave-error", {"yes", "no"}},
      {"auto-aof-rewrite-percentage", {"100", "0"}},
      {"auto-aof-rewrite-min-size", {"64mb", "1"}},
      {"bf-error-rate", {"0.01", "1e-12", "0.1", "0.3333333333333333"}},
      {"bf-initial-size", {"100", "1", "1099511627776"}},
      {"bf-expansion-factor", {"2", "0", "32768"}},
      {"bf-layout", {"auto", "blocked", "paged", "classic"}},
      {"cf-error-rate", {"0.01", "0.001"}},
      {"cf-initial-size", {"1024", "510"}},
      {"cf-expansion-factor", {"2", "0"}},
      {"cf-max-expansions", {"32", "65535"}},
      {"cf-bucket-size", {"2", "255"}},
      {"cf-max-iterations", {"20", "1"}},
  };
  return samples;
}

inline const std::string& random_sample(const Directive& directive, std::mt19937& random) {
  const auto& values = sample_values().at(directive.name);
  return values[random() % values.size()];
}

// The Config that a text gives; a failure of the test when it is refused.
inline Config config_from(std::string_view text, const std::string& path = "") {
  ConfigLoader loader;
  MaybeConfigError error = loader.load_text(text, path);
  if (!error) error = loader.finish();
  if (error) ADD_FAILURE() << error->text() << "\nin\n" << text;
  return loader.config();
}

// Every directive drawn from its samples.
inline Config random_config(std::mt19937& random) {
  std::string text;
  for (const Directive& directive : directives()) {
    text += std::string(directive.name) + " " + random_sample(directive, random) + "\n";
  }
  return config_from(text);
}

// The message for a text that must be refused.
inline std::string error_of(std::string_view text, const std::string& path = "") {
  ConfigLoader loader;
  MaybeConfigError error = loader.load_text(text, path);
  if (!error) error = loader.finish();
  return error ? error->text() : "(accepted)";
}

}  // namespace iris::server
