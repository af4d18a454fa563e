// Where time comes from. Everything that looks at a clock is given one, so tests can turn it.
#pragma once

#include <chrono>
#include <cstdint>

namespace iris::server {

class Clock {
 public:
  virtual ~Clock() = default;

  // Wall time since 1970: what expiry times are compared with.
  virtual int64_t wall_us() const {
    return since_epoch<std::chrono::system_clock, std::chrono::microseconds>();
  }
  // Never goes backwards: what durations are measured with.
  virtual int64_t monotonic_ns() const {
    return since_epoch<std::chrono::steady_clock, std::chrono::nanoseconds>();
  }

  int64_t wall_ms() const { return wall_us() / 1000; }
  int64_t monotonic_ms() const { return monotonic_ns() / 1'000'000; }

 private:
  template <class Source, class Unit>
  static int64_t since_epoch() {
    return std::chrono::duration_cast<Unit>(Source::now().time_since_epoch()).count();
  }
};

}  // namespace iris::server
