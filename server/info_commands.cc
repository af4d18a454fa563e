#include "server/info_commands.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include "server/info_sections.h"

namespace iris::server {

namespace {

constexpr double kNsPerUs = 1000;

double microseconds(uint64_t ns) {
  return static_cast<double>(ns) / kNsPerUs;
}

}  // namespace

CommandFigures command_figures(const Stats& stats, uint32_t command_id) {
  CommandFigures figures;
  for (const auto& member : stats.members()) {
    const CommandCounters& counters = member->commands[command_id];
    figures.calls += counters.calls.get();
    figures.time_ns += counters.time_ns.get();
    figures.rejected += counters.rejected.get();
    figures.failed += counters.failed.get();
  }
  return figures;
}

std::string command_figures_text(const CommandFigures& figures) {
  const double per_call_us =
      ratio(microseconds(figures.time_ns), static_cast<double>(figures.calls));
  return "calls=" + std::to_string(figures.calls) +
         ",usec=" + std::to_string(figures.time_ns / static_cast<uint64_t>(kNsPerUs)) +
         ",usec_per_call=" + InfoText::decimal(per_call_us, 2) +
         ",rejected_calls=" + std::to_string(figures.rejected) +
         ",failed_calls=" + std::to_string(figures.failed);
}

std::vector<uint64_t> latency_buckets(const Stats& stats, uint32_t command_id) {
  std::vector<uint64_t> buckets;
  for (const auto& member : stats.members()) {
    const auto& histogram = member->commands[command_id].histogram;
    if (const LatencyHistogram* made = histogram.load(std::memory_order_acquire)) {
      made->add_to(buckets);
    }
  }
  return buckets;
}

uint64_t percentile_ns(const std::vector<uint64_t>& buckets, double percent) {
  const uint64_t total = std::accumulate(buckets.begin(), buckets.end(), uint64_t{0});
  const double rank = std::ceil(static_cast<double>(total) * percent / 100);
  double seen = 0;
  for (uint32_t bucket = 0; bucket < buckets.size(); bucket++) {
    seen += static_cast<double>(buckets[bucket]);
    if (buckets[bucket] > 0 && seen >= rank) return LatencyHistogram::upper_bound_ns(bucket);
  }
  return 0;
}

std::string percentile_name(double percent) {
  char name[32];
  std::snprintf(name, sizeof name, "p%g", percent);
  return name;
}

void command_stats_section(const InfoContext& context, InfoText& text) {
  const Engine& engine = context.engine;
  text.section("Commandstats");
  for (uint32_t id = 0; id < engine.commands.ids(); id++) {
    const CommandFigures figures = command_figures(engine.stats, id);
    if (figures.empty()) continue;
    text.field("cmdstat_" + engine.commands.by_id(id).full_name, command_figures_text(figures));
  }
}

void error_stats_section(const InfoContext& context, InfoText& text) {
  std::map<std::string, uint64_t> errors;
  for (const auto& member : context.engine.stats.members()) member->add_errors_to(errors);
  text.section("Errorstats");
  for (const auto& [code, count] : errors) {
    text.field("errorstat_" + code, "count=" + std::to_string(count));
  }
}

void latency_stats_section(const InfoContext& context, InfoText& text) {
  const Engine& engine = context.engine;
  text.section("Latencystats");
  if (!engine.config.latency_tracking) return;
  for (uint32_t id = 0; id < engine.commands.ids(); id++) {
    const std::vector<uint64_t> buckets = latency_buckets(engine.stats, id);
    if (std::accumulate(buckets.begin(), buckets.end(), uint64_t{0}) == 0) continue;
    std::string values;
    for (const double percent : engine.config.latency_tracking_info_percentiles) {
      if (!values.empty()) values += ',';
      values += percentile_name(percent) + "=" +
                InfoText::decimal(microseconds(percentile_ns(buckets, percent)), 3);
    }
    text.field("latency_percentiles_usec_" + engine.commands.by_id(id).full_name, values);
  }
}

}  // namespace iris::server
