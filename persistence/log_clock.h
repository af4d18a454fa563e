// Where the log's time comes from. Tests turn their own.
#pragma once

#include <chrono>
#include <cstdint>

namespace iris::persistence {

class LogClock {
 public:
  virtual ~LogClock() = default;

  // Never goes backwards, and is never 0.
  virtual int64_t now_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace iris::persistence
