// The latency monitor: events that took longer than `latency-monitor-threshold`, for LATENCY. One
// history an event name, one sample a second at most (the worst of it), as in Redis.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace iris::server {

struct LatencySample {
  int64_t time_s;
  int64_t duration_ms;
};

struct LatencyEvent {
  std::deque<LatencySample> history;
  int64_t worst_ms = 0;
};

class LatencyMonitor {
 public:
  void add(std::string_view event, int64_t time_s, int64_t duration_ms);
  std::map<std::string, LatencyEvent, std::less<>> events() const;
  // Forgets one event; false if it was not known.
  bool forget(std::string_view event);
  size_t forget_all();

 private:
  static constexpr size_t kSamples = 160;

  mutable std::mutex mutex_;
  std::map<std::string, LatencyEvent, std::less<>> events_;
};

}  // namespace iris::server
