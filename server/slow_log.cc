#include "server/slow_log.h"

#include <algorithm>

namespace iris::server {

namespace {

// Redis's limits: an entry shows at most so many arguments, and so many bytes of each.
constexpr size_t kMaxArgs = 32;
constexpr size_t kMaxArgBytes = 128;

std::vector<std::string> shortened(std::span<const std::string_view> args) {
  std::vector<std::string> result;
  const size_t shown = std::min(args.size(), kMaxArgs);
  for (size_t i = 0; i < shown; i++) {
    if (args.size() > kMaxArgs && i == kMaxArgs - 1) {
      result.push_back("... (" + std::to_string(args.size() - kMaxArgs + 1) + " more arguments)");
    } else if (args[i].size() > kMaxArgBytes) {
      result.push_back(std::string(args[i].substr(0, kMaxArgBytes)) + "... (" +
                       std::to_string(args[i].size() - kMaxArgBytes) + " more bytes)");
    } else {
      result.emplace_back(args[i]);
    }
  }
  return result;
}

}  // namespace

void SlowLog::add(std::span<const std::string_view> args, int64_t time_s, int64_t duration_us,
                  std::string client_address, std::string client_name, size_t max_entries) {
  std::lock_guard<std::mutex> lock(mutex_);
  commands_.push_front({next_id_++, time_s, duration_us, shortened(args), std::move(client_address),
                        std::move(client_name)});
  while (commands_.size() > max_entries) commands_.pop_back();
}

std::vector<SlowCommand> SlowLog::newest(size_t count) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto end =
      commands_.begin() + static_cast<std::ptrdiff_t>(std::min(count, commands_.size()));
  return {commands_.begin(), end};
}

size_t SlowLog::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return commands_.size();
}

void SlowLog::clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  commands_.clear();
}

}  // namespace iris::server
