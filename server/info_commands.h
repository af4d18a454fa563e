// How long commands took, added up over the threads that ran them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/stats.h"

namespace iris::server {

struct CommandFigures {
  uint64_t calls = 0;
  uint64_t time_ns = 0;
  uint64_t rejected = 0;
  uint64_t failed = 0;

  bool empty() const { return calls == 0 && rejected == 0 && failed == 0; }
};

CommandFigures command_figures(const Stats& stats, uint32_t command_id);

// "calls=3,usec=12,usec_per_call=4.00,rejected_calls=0,failed_calls=1"
std::string command_figures_text(const CommandFigures& figures);

// The histogram's buckets; empty if no call was ever timed.
std::vector<uint64_t> latency_buckets(const Stats& stats, uint32_t command_id);

// The duration that `percent` of the calls did not exceed, rounded up to its bucket's end; 0 if
// there were none.
uint64_t percentile_ns(const std::vector<uint64_t>& buckets, double percent);

// 99.9 -> "p99.9"
std::string percentile_name(double percent);

}  // namespace iris::server
