#include "server/stats.h"

namespace iris::server {

namespace {

// Codes are our own words, but an error of a loaded module or a long text must not grow the map.
constexpr size_t kMaxErrorCodes = 128;

uint64_t growth(uint64_t now, uint64_t before) {
  return now >= before ? now - before : now;
}

}  // namespace

void CommandCounters::add_time(uint64_t per_call_ns, uint64_t times, bool track_latency) {
  calls.add(times);
  time_ns.add(per_call_ns * times);
  if (!track_latency) return;
  LatencyHistogram* tracked = histogram.load(std::memory_order_relaxed);
  if (tracked == nullptr) {
    tracked = new LatencyHistogram();
    histogram.store(tracked, std::memory_order_release);
  }
  tracked->add(per_call_ns, times);
}

void MemberStats::count_error(std::string_view error) {
  const std::string_view code = error.substr(0, error.find(' '));
  error_replies.add();
  std::lock_guard<std::mutex> lock(errors_mutex_);
  auto found = errors_.find(code);
  if (found != errors_.end()) {
    found->second++;
  } else if (errors_.size() < kMaxErrorCodes) {
    errors_.emplace(code, 1);
  }
}

void MemberStats::add_errors_to(std::map<std::string, uint64_t>& sums) const {
  std::lock_guard<std::mutex> lock(errors_mutex_);
  for (const auto& [code, count] : errors_) sums[code] += count;
}

void MemberStats::reset() {
  for (Counter* counter :
       {&commands_processed, &input_bytes, &output_bytes, &keyspace_hits, &keyspace_misses,
        &connections_accepted, &connections_rejected, &output_limit_disconnections,
        &query_limit_disconnections, &error_replies}) {
    counter->reset();
  }
  for (CommandCounters& command : commands) {
    for (Counter* counter :
         {&command.calls, &command.time_ns, &command.rejected, &command.failed}) {
      counter->reset();
    }
    if (LatencyHistogram* histogram = command.histogram.load()) histogram->reset();
  }
  std::lock_guard<std::mutex> lock(errors_mutex_);
  errors_.clear();
}

Stats::Stats(size_t members, size_t commands) {
  for (size_t i = 0; i < members; i++) members_.push_back(std::make_unique<MemberStats>(commands));
}

uint64_t Stats::sum(Counter MemberStats::*counter) const {
  uint64_t sum = 0;
  for (const auto& member : members_) sum += ((*member).*counter).get();
  return sum;
}

void Stats::reset() {
  for (const auto& member : members_) member->reset();
}

void Stats::sample_rates(int64_t now_ms) {
  const uint64_t commands = sum(&MemberStats::commands_processed);
  const uint64_t input = sum(&MemberStats::input_bytes);
  const uint64_t output = sum(&MemberStats::output_bytes);
  std::lock_guard<std::mutex> lock(rates_mutex_);
  if (now_ms > sampled_ms_ && sampled_ms_ > 0) {
    const double seconds = static_cast<double>(now_ms - sampled_ms_) / 1000.0;
    rates_.commands_per_s = static_cast<double>(growth(commands, sampled_commands_)) / seconds;
    rates_.input_bytes_per_s = static_cast<double>(growth(input, sampled_input_bytes_)) / seconds;
    rates_.output_bytes_per_s =
        static_cast<double>(growth(output, sampled_output_bytes_)) / seconds;
  }
  sampled_ms_ = now_ms;
  sampled_commands_ = commands;
  sampled_input_bytes_ = input;
  sampled_output_bytes_ = output;
}

Stats::Rates Stats::rates() const {
  std::lock_guard<std::mutex> lock(rates_mutex_);
  return rates_;
}

}  // namespace iris::server
