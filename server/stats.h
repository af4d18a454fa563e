// What INFO counts. Each thread that runs commands has counters of its own, which only it changes,
// so counting is a plain addition; readers add the threads up.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/latency_histogram.h"

namespace iris::server {

// Changed by one thread, read by any.
class Counter {
 public:
  void add(uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }
  void reset() { value_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

struct CommandCounters {
  Counter calls;
  Counter time_ns;
  Counter rejected;  // refused before they ran: arity, authentication, memory
  Counter failed;    // ran and answered an error
  // Made at the first call: most commands are never called.
  std::atomic<LatencyHistogram*> histogram{nullptr};

  ~CommandCounters() { delete histogram.load(); }
  void add_time(uint64_t per_call_ns, uint64_t times, bool track_latency);
};

class alignas(64) MemberStats {
 public:
  explicit MemberStats(size_t command_ids) : commands(command_ids) {}

  Counter commands_processed;
  Counter input_bytes;
  Counter output_bytes;
  Counter keyspace_hits;
  Counter keyspace_misses;
  Counter connections_accepted;
  Counter connections_rejected;
  Counter output_limit_disconnections;
  Counter query_limit_disconnections;
  Counter error_replies;
  std::vector<CommandCounters> commands;

  // Counts an error reply by its code, the first word: "ERR", "WRONGTYPE". There are few codes.
  void count_error(std::string_view error);
  void add_errors_to(std::map<std::string, uint64_t>& sums) const;
  void reset();

 private:
  mutable std::mutex errors_mutex_;
  std::map<std::string, uint64_t, std::less<>> errors_;
};

class Stats {
 public:
  Stats(size_t members, size_t commands);

  MemberStats& member(size_t index) { return *members_[index]; }
  const std::vector<std::unique_ptr<MemberStats>>& members() const { return members_; }
  uint64_t sum(Counter MemberStats::*counter) const;
  void reset();

  // The background round samples these; INFO shows the rates between the last two samples.
  struct Rates {
    double commands_per_s = 0;
    double input_bytes_per_s = 0;
    double output_bytes_per_s = 0;
  };
  void sample_rates(int64_t now_ms);
  Rates rates() const;

 private:
  std::vector<std::unique_ptr<MemberStats>> members_;
  mutable std::mutex rates_mutex_;
  Rates rates_;
  int64_t sampled_ms_ = 0;
  uint64_t sampled_commands_ = 0;
  uint64_t sampled_input_bytes_ = 0;
  uint64_t sampled_output_bytes_ = 0;
};

}  // namespace iris::server
