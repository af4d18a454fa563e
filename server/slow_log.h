// The slow log: the last commands that took longer than `slowlog-log-slower-than`, for SLOWLOG.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iris::server {

struct SlowCommand {
  uint64_t id = 0;
  int64_t time_s = 0;
  int64_t duration_us = 0;
  std::vector<std::string> args;  // long ones cut, as in Redis
  std::string client_address;
  std::string client_name;
};

class SlowLog {
 public:
  void add(std::span<const std::string_view> args, int64_t time_s, int64_t duration_us,
           std::string client_address, std::string client_name, size_t max_entries);
  // Newest first.
  std::vector<SlowCommand> newest(size_t count) const;
  size_t size() const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::deque<SlowCommand> commands_;
  uint64_t next_id_ = 0;
};

}  // namespace iris::server
