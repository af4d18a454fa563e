// The CPU time that another process has used, all of its threads together, from /proc.
//
// The scheduler counts nanoseconds (schedstat of each thread), while the division into user and
// system time comes in ticks of 10 ms (stat). So the sum is taken from the first and divided as the
// second says. Where the kernel keeps no schedstat, ticks must do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace iris::loadgen {

struct CpuTicks {
  uint64_t user;
  uint64_t system;
};

struct CpuSample {
  CpuTicks ticks;
  uint64_t on_core_ns;  // 0: not known
};

struct CpuUse {
  double user_s;
  double system_s;
};

// From the text of /proc/PID/stat.
std::optional<CpuTicks> parse_stat(std::string_view text);

// Nothing if there is no such process.
std::optional<CpuSample> sample_cpu(pid_t pid);

CpuUse cpu_between(const CpuSample& before, const CpuSample& after);

}  // namespace iris::loadgen
