// Latencies of a run: a log-linear histogram with 128 steps a power of two, so a percentile is too
// high by less than 0.8 % and never too low. The server has one as well; that one is coarser, since
// it keeps one for each command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace iris::loadgen {

class LatencyHistogram {
 public:
  LatencyHistogram();

  void add(uint64_t latency_ns, uint64_t times);
  void add_all(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  uint64_t max_ns() const { return max_ns_; }
  // The smallest latency that at least `share` (0 to 1) of all stay within, rounded up to the end
  // of its step; 0 if there are none.
  uint64_t percentile_ns(double share) const;

 private:
  static size_t step_of(uint64_t latency_ns);
  static uint64_t end_of(size_t step);

  std::vector<uint64_t> steps_;
  uint64_t count_ = 0;
  uint64_t max_ns_ = 0;
};

}  // namespace iris::loadgen
