#include "server/commands/latency_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "server/latency_histogram.h"

namespace iris::server {

namespace {

constexpr uint32_t kFirstStepBits = 10;  // 1024 ns, about a microsecond
constexpr uint32_t kLastStepBits = 40;   // where the histogram ends

constexpr size_t kGraphColumns = 80;
constexpr size_t kGraphRows = 4;
// Heights inside a row, from the bottom.
constexpr std::string_view kGraphMarks = "_-`";

std::string age_text(int64_t seconds) {
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 86'400) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86'400) + "d";
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The columns' heights in marks: 0 for the lowest sample, the top mark for the highest.
std::vector<size_t> column_heights(std::span<const LatencySample> samples, int64_t low,
                                   int64_t high) {
  constexpr auto kTop = static_cast<int64_t>(kGraphRows * kGraphMarks.size() - 1);
  std::vector<size_t> heights;
  for (const LatencySample& sample : samples) {
    const int64_t range = std::max<int64_t>(high - low, 1);
    heights.push_back(static_cast<size_t>((sample.duration_ms - low) * kTop / range));
  }
  return heights;
}

std::string graph_row(std::span<const size_t> heights, size_t row_from_bottom) {
  std::string line;
  for (const size_t height : heights) {
    const size_t row = height / kGraphMarks.size();
    if (row == row_from_bottom) {
      line += kGraphMarks[height % kGraphMarks.size()];
    } else {
      line += row > row_from_bottom ? '|' : ' ';
    }
  }
  return without_trailing_spaces(line) + "\n";
}

// Each column's label is written downwards.
std::string label_rows(std::span<const std::string> labels) {
  size_t longest = 0;
  for (const std::string& label : labels) longest = std::max(longest, label.size());
  std::string rows;
  for (size_t i = 0; i < longest; i++) {
    std::string line;
    for (const std::string& label : labels) line += i < label.size() ? label[i] : ' ';
    rows += without_trailing_spaces(line) + "\n";
  }
  return rows;
}

struct EventFigures {
  int64_t average_ms = 0;
  int64_t deviation_ms = 0;  // mean absolute deviation
  double period_s = 0;       // between two samples
};

EventFigures figures_of(const LatencyEvent& event) {
  EventFigures figures;
  const auto count = static_cast<int64_t>(event.history.size());
  if (count == 0) return figures;
  for (const LatencySample& sample : event.history) figures.average_ms += sample.duration_ms;
  figures.average_ms /= count;
  for (const LatencySample& sample : event.history) {
    figures.deviation_ms += std::abs(sample.duration_ms - figures.average_ms);
  }
  figures.deviation_ms /= count;
  const int64_t span_s = event.history.back().time_s - event.history.front().time_s;
  if (count > 1) figures.period_s = static_cast<double>(span_s) / static_cast<double>(count - 1);
  return figures;
}

std::string advice_for(std::string_view name) {
  if (name == "command") {
    return "   Commands of linear or unknown cost took this long. SLOWLOG GET says which: ask for\n"
           "   fewer items or keys at a time, and use SCAN instead of KEYS.\n";
  }
  if (name == "fast-command") {
    return "   Commands that should take microseconds took this long, so the machine was busy "
           "with\n"
           "   something else: swapping, other processes, a hypervisor, or more worker threads\n"
           "   than cores. Compare with `redis-cli --intrinsic-latency 100` on this machine.\n";
  }
  return "   See LATENCY HISTORY for when it happened.\n";
}

}  // namespace

std::vector<LatencyStep> cumulative_steps(std::span<const uint64_t> buckets) {
  std::vector<LatencyStep> steps;
  uint64_t calls = 0;
  uint32_t bucket = 0;
  for (uint32_t bits = kFirstStepBits; bits <= kLastStepBits; bits++) {
    const uint64_t limit_ns = (1ull << bits) - 1;
    const uint64_t calls_before = calls;
    while (bucket < buckets.size() && LatencyHistogram::upper_bound_ns(bucket) <= limit_ns) {
      calls += buckets[bucket++];
    }
    if (calls > calls_before) steps.push_back({limit_ns / 1000, calls});
  }
  return steps;
}

std::string latency_graph(std::string_view name, const LatencyEvent& event, int64_t now_s) {
  const size_t shown = std::min(event.history.size(), kGraphColumns);
  const std::vector<LatencySample> samples(event.history.end() - static_cast<std::ptrdiff_t>(shown),
                                           event.history.end());
  int64_t low = samples.empty() ? 0 : samples[0].duration_ms;
  int64_t high = low;
  std::vector<std::string> labels;
  for (const LatencySample& sample : samples) {
    low = std::min(low, sample.duration_ms);
    high = std::max(high, sample.duration_ms);
    labels.push_back(age_text(std::max<int64_t>(now_s - sample.time_s, 0)));
  }
  std::string graph(name);
  graph += " - high " + std::to_string(high) + " ms, low " + std::to_string(low) +
           " ms (all time high " + std::to_string(event.worst_ms) + " ms)\n";
  graph += std::string(kGraphColumns, '-') + "\n";
  const std::vector<size_t> heights = column_heights(samples, low, high);
  for (size_t row = kGraphRows; row-- > 0;) graph += graph_row(heights, row);
  return graph + "\n" + label_rows(labels);
}

std::string latency_diagnosis(const LatencyEvents& events, uint32_t threshold_ms) {
  if (events.empty() && threshold_ms == 0) {
    return "Latency monitoring is off. \"CONFIG SET latency-monitor-threshold <milliseconds>\" "
           "turns it on.\n";
  }
  if (events.empty()) {
    return "Nothing took " + std::to_string(threshold_ms) +
           " ms or longer since the monitor was turned on or reset.\n";
  }
  std::string text = "Latency spikes were observed:\n\n";
  int number = 0;
  for (const auto& [name, event] : events) {
    const EventFigures figures = figures_of(event);
    std::array<char, 256> line;
    std::snprintf(line.data(), line.size(),
                  "%d. %s: %zu latency spikes (average %lldms, mean deviation %lldms, period %.2f "
                  "sec). Worst all time event %lldms.\n",
                  ++number, name.c_str(), event.history.size(),
                  static_cast<long long>(figures.average_ms),
                  static_cast<long long>(figures.deviation_ms), figures.period_s,
                  static_cast<long long>(event.worst_ms));
    text += line.data();
    text += advice_for(name);
  }
  return text;
}

}  // namespace iris::server
