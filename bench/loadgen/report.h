// What a run found, for people and as JSON.
#pragma once

#include <optional>
#include <string>

#include "bench/loadgen/latency_histogram.h"
#include "bench/loadgen/options.h"
#include "bench/loadgen/server_cpu.h"

namespace iris::loadgen {

struct Result {
  uint64_t requests = 0;  // answered
  double seconds = 0;     // from the first request to the last reply
  LatencyHistogram latencies;
  std::optional<CpuUse> server_cpu;
  CpuUse own_cpu{};
};

std::string report_text(const Options& options, const Result& result);
std::string report_json(const Options& options, const Result& result);

}  // namespace iris::loadgen
