#include "server/latency_monitor.h"

#include <algorithm>

namespace iris::server {

void LatencyMonitor::add(std::string_view event, int64_t time_s, int64_t duration_ms) {
  std::lock_guard<std::mutex> lock(mutex_);
  LatencyEvent& known = events_.try_emplace(std::string(event)).first->second;
  known.worst_ms = std::max(known.worst_ms, duration_ms);
  if (!known.history.empty() && known.history.back().time_s == time_s) {
    LatencySample& last = known.history.back();
    last.duration_ms = std::max(last.duration_ms, duration_ms);
    return;
  }
  known.history.push_back({time_s, duration_ms});
  if (known.history.size() > kSamples) known.history.pop_front();
}

std::map<std::string, LatencyEvent, std::less<>> LatencyMonitor::events() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return events_;
}

bool LatencyMonitor::forget(std::string_view event) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = events_.find(event);
  if (found == events_.end()) return false;
  events_.erase(found);
  return true;
}

size_t LatencyMonitor::forget_all() {
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t count = events_.size();
  events_.clear();
  return count;
}

}  // namespace iris::server
