// Clients that said MONITOR: every command that runs is shown to them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "server/client_registry.h"
#include "server/control.h"

namespace iris::server {

class Monitors {
 public:
  void add(std::shared_ptr<ClientRecord> client);
  void remove(uint64_t client_id);
  // Asked before every command, so it must cost nothing.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  // Shows one command: `+1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`.
  void show(Control& control, int64_t now_us, uint32_t db, std::string_view address,
            std::span<const std::string_view> args);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<ClientRecord>> clients_;
  std::atomic<size_t> count_{0};
};

}  // namespace iris::server
