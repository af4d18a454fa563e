#include "bench/loadgen/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace iris::loadgen {

namespace {

constexpr double kUs = 1e6;  // in a second

__attribute__((format(printf, 2, 3))) void append(std::string& text, const char* format, ...) {
  char line[256];
  va_list values;
  va_start(values, format);
  const int size = std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  if (size > 0) text.append(line, std::min(static_cast<size_t>(size), sizeof line - 1));
}

std::string command_line(const Options& options) {
  std::string line;
  for (const std::string& word : options.command) line += (line.empty() ? "" : " ") + word;
  return line;
}

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      quoted += '\\';
      quoted += byte;
    } else if (static_cast<unsigned char>(byte) < 0x20) {
      append(quoted, "\\u%04x", static_cast<unsigned>(byte));
    } else {
      quoted += byte;
    }
  }
  return quoted + "\"";
}

double per_request_us(double seconds, const Result& result) {
  return result.requests > 0 ? seconds * kUs / static_cast<double>(result.requests) : 0;
}

double percentile_us(const Result& result, double share) {
  return static_cast<double>(result.latencies.percentile_ns(share)) / 1e3;
}

double max_us(const Result& result) {
  return static_cast<double>(result.latencies.max_ns()) / 1e3;
}

double per_second(const Result& result) {
  return result.seconds > 0 ? static_cast<double>(result.requests) / result.seconds : 0;
}

}  // namespace

std::string report_text(const Options& options, const Result& result) {
  std::string text = command_line(options) + "\n";
  append(text, "  %llu connections, pipeline %llu, %llu threads\n",
         static_cast<unsigned long long>(options.connections),
         static_cast<unsigned long long>(options.pipeline),
         static_cast<unsigned long long>(options.threads));
  append(text, "  %llu requests in %.3f s: %.0f a second\n",
         static_cast<unsigned long long>(result.requests), result.seconds, per_second(result));
  append(text, "  latency, us: p50 %.1f, p99 %.1f, p99.9 %.1f, max %.1f\n",
         percentile_us(result, 0.5), percentile_us(result, 0.99), percentile_us(result, 0.999),
         max_us(result));
  if (result.server_cpu) {
    const CpuUse& cpu = *result.server_cpu;
    append(text, "  server CPU, us a request: %.3f (user %.3f, system %.3f)\n",
           per_request_us(cpu.user_s + cpu.system_s, result), per_request_us(cpu.user_s, result),
           per_request_us(cpu.system_s, result));
  }
  append(text, "  own CPU, us a request: %.3f (user %.3f, system %.3f)\n",
         per_request_us(result.own_cpu.user_s + result.own_cpu.system_s, result),
         per_request_us(result.own_cpu.user_s, result),
         per_request_us(result.own_cpu.system_s, result));
  return text;
}

std::string report_json(const Options& options, const Result& result) {
  std::string json = "{\"command\": " + json_string(command_line(options));
  append(json, ", \"connections\": %llu, \"pipeline\": %llu, \"threads\": %llu, \"rate\": %.1f",
         static_cast<unsigned long long>(options.connections),
         static_cast<unsigned long long>(options.pipeline),
         static_cast<unsigned long long>(options.threads), options.rate);
  append(json, ", \"requests\": %llu, \"seconds\": %.6f, \"requests_per_second\": %.1f",
         static_cast<unsigned long long>(result.requests), result.seconds, per_second(result));
  append(json, ", \"latency_us\": {\"p50\": %.3f, \"p99\": %.3f, \"p99.9\": %.3f, \"max\": %.3f}",
         percentile_us(result, 0.5), percentile_us(result, 0.99), percentile_us(result, 0.999),
         max_us(result));
  const auto append_cpu = [&](const char* name, const CpuUse& cpu) {
    append(json, ", \"%s\": {\"user\": %.5f, \"system\": %.5f}", name,
           per_request_us(cpu.user_s, result), per_request_us(cpu.system_s, result));
  };
  if (result.server_cpu) append_cpu("server_cpu_us", *result.server_cpu);
  append_cpu("own_cpu_us", result.own_cpu);
  return json + "}\n";
}

}  // namespace iris::loadgen
