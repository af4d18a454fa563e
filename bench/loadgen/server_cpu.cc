#include "bench/loadgen/server_cpu.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace iris::loadgen {

namespace {

// Of a thread that ended meanwhile, or a kernel without it: 0.
uint64_t on_core_ns(const std::string& schedstat) {
  std::ifstream file(schedstat);
  uint64_t ns = 0;
  file >> ns;
  return file ? ns : 0;
}

}  // namespace

std::optional<CpuTicks> parse_stat(std::string_view text) {
  // "PID (name) S ...": the name may hold anything, brackets and spaces too.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::istringstream fields{std::string(text.substr(name_end + 1))};
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;  // utime is the 14th field, stime the 15th
  CpuTicks ticks{};
  fields >> ticks.user >> ticks.system;
  if (!fields) return std::nullopt;
  return ticks;
}

std::optional<CpuSample> sample_cpu(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::ifstream file(process + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const auto ticks = parse_stat(text);
  if (!ticks) return std::nullopt;
  CpuSample sample{*ticks, 0};
  std::error_code ignored;
  std::filesystem::directory_iterator task(process + "/task", ignored);
  for (; task != std::filesystem::directory_iterator(); task.increment(ignored)) {
    sample.on_core_ns += on_core_ns(task->path().string() + "/schedstat");
  }
  return sample;
}

CpuUse cpu_between(const CpuSample& before, const CpuSample& after) {
  const auto user = static_cast<double>(after.ticks.user - before.ticks.user);
  const auto system = static_cast<double>(after.ticks.system - before.ticks.system);
  const auto ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  double total_s = (user + system) / ticks_a_second;
  if (after.on_core_ns > before.on_core_ns) {
    total_s = static_cast<double>(after.on_core_ns - before.on_core_ns) / 1e9;
  }
  const double user_share = user + system > 0 ? user / (user + system) : 0;
  return {total_s * user_share, total_s * (1 - user_share)};
}

}  // namespace iris::loadgen
