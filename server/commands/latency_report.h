// What LATENCY tells people and tools of measured times: pure functions of the measurements.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/latency_monitor.h"

namespace iris::server {

using LatencyEvents = std::map<std::string, LatencyEvent, std::less<>>;

// So many calls took at most so long.
struct LatencyStep {
  uint64_t up_to_us;
  uint64_t calls;
};

// A LatencyHistogram's buckets as LATENCY HISTOGRAM shows them: cumulative, in powers of two from
// 1024 ns, only the steps at which the count grows. A step's limit is rounded down to whole
// microseconds, as in Redis: 1, 2, 4, ... 32, 65, 131.
std::vector<LatencyStep> cumulative_steps(std::span<const uint64_t> buckets);

// The event's last samples as a small chart of ASCII columns, with their ages below:
//
//   command - high 300 ms, low 100 ms (all time high 300 ms)
//   ----------------------------------------------------------
//     `
//    _|
//    ||
//   _||
//
//   211
//   000
//   sss
std::string latency_graph(std::string_view name, const LatencyEvent& event, int64_t now_s);

// What the events mean and what to do, in sentences.
std::string latency_diagnosis(const LatencyEvents& events, uint32_t threshold_ms);

}  // namespace iris::server
