#include "server/monitors.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "server/text.h"

namespace iris::server {

void Monitors::add(std::shared_ptr<ClientRecord> client) {
  std::lock_guard<std::mutex> lock(mutex_);
  clients_.push_back(std::move(client));
  count_.store(clients_.size(), std::memory_order_relaxed);
}

void Monitors::remove(uint64_t client_id) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(clients_, [&](const auto& client) { return client->id == client_id; });
  count_.store(clients_.size(), std::memory_order_relaxed);
}

void Monitors::show(Control& control, int64_t now_us, uint32_t db, std::string_view address,
                    std::span<const std::string_view> args) {
  char start[64];
  std::snprintf(start, sizeof start, "+%lld.%06lld [%u ",
                static_cast<long long>(now_us / 1'000'000),
                static_cast<long long>(now_us % 1'000'000), db);
  std::string line(start);
  line.append(address).append("]");
  for (std::string_view arg : args) line.append(" ").append(quoted(arg));
  line += "\r\n";
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& client : clients_) control.send_to_client(*client, line);
}

}  // namespace iris::server
