#include "bench/loadgen/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace iris::loadgen {

namespace {

constexpr unsigned kStepBits = 7;
constexpr uint64_t kStepsPerPower = uint64_t{1} << kStepBits;
// Up to 2^40 ns, 18 minutes; what is slower counts as that, but max_ns() tells the truth.
constexpr unsigned kMostBits = 40;
constexpr size_t kSteps = (kMostBits - kStepBits + 1) * kStepsPerPower;

}  // namespace

LatencyHistogram::LatencyHistogram() : steps_(kSteps) {}

void LatencyHistogram::add(uint64_t latency_ns, uint64_t times) {
  if (times == 0) return;
  steps_[step_of(latency_ns)] += times;
  count_ += times;
  max_ns_ = std::max(max_ns_, latency_ns);
}

void LatencyHistogram::add_all(const LatencyHistogram& other) {
  for (size_t i = 0; i < kSteps; ++i) steps_[i] += other.steps_[i];
  count_ += other.count_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

uint64_t LatencyHistogram::percentile_ns(double share) const {
  const double wanted = std::ceil(share * static_cast<double>(count_));
  uint64_t seen = 0;
  for (size_t step = 0; step < kSteps; ++step) {
    seen += steps_[step];
    if (seen > 0 && static_cast<double>(seen) >= wanted) return std::min(end_of(step), max_ns_);
  }
  return max_ns_;
}

// Below 2^kStepBits a step is one value; above, the leading bit picks a group of steps and the next
// kStepBits bits a step of it.
size_t LatencyHistogram::step_of(uint64_t latency_ns) {
  const auto bits = static_cast<unsigned>(std::bit_width(latency_ns));
  if (bits <= kStepBits) return latency_ns;
  const unsigned shift = bits - kStepBits - 1;
  const uint64_t step = (shift + 1) * kStepsPerPower + ((latency_ns >> shift) - kStepsPerPower);
  return std::min<size_t>(step, kSteps - 1);
}

uint64_t LatencyHistogram::end_of(size_t step) {
  if (step < kStepsPerPower) return step;
  const uint64_t shift = step / kStepsPerPower - 1;
  return ((kStepsPerPower + step % kStepsPerPower + 1) << shift) - 1;
}

}  // namespace iris::loadgen
