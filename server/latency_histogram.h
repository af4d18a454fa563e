// How long commands take: a log-linear histogram with 8 steps a power of two, so a percentile is
// right within 12 %. One thread adds, any thread reads.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

namespace iris::server {

class LatencyHistogram {
 public:
  static constexpr uint32_t kStepBits = 3;
  // Up to 2^40 ns, about 18 minutes; what is slower counts as that.
  static constexpr uint32_t kBuckets = (40 - kStepBits + 1) << kStepBits;

  void add(uint64_t duration_ns, uint64_t times) {
    std::atomic<uint64_t>& bucket = buckets_[bucket_of(duration_ns)];
    bucket.store(bucket.load(std::memory_order_relaxed) + times, std::memory_order_relaxed);
  }
  void reset() {
    for (auto& bucket : buckets_) bucket.store(0, std::memory_order_relaxed);
  }
  void add_to(std::vector<uint64_t>& sums) const {
    sums.resize(kBuckets);
    for (uint32_t i = 0; i < kBuckets; i++) sums[i] += buckets_[i].load(std::memory_order_relaxed);
  }

  static uint32_t bucket_of(uint64_t duration_ns) {
    const auto width = static_cast<uint32_t>(std::bit_width(duration_ns));
    if (width <= kStepBits) return static_cast<uint32_t>(duration_ns);
    const uint32_t shift = width - kStepBits - 1;
    const uint32_t bucket = ((shift + 1) << kStepBits) +
                            static_cast<uint32_t>((duration_ns >> shift) & ((1u << kStepBits) - 1));
    return bucket < kBuckets ? bucket : kBuckets - 1;
  }
  // The largest duration that falls into the bucket.
  static uint64_t upper_bound_ns(uint32_t bucket) {
    if (bucket < (1u << kStepBits)) return bucket;
    const uint32_t shift = (bucket >> kStepBits) - 1;
    const uint64_t step = (bucket & ((1u << kStepBits) - 1)) + (1u << kStepBits);
    return ((step + 1) << shift) - 1;
  }

 private:
  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
};

}  // namespace iris::server
