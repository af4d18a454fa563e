#include "server/client_registry.h"

namespace iris::server {

bool valid_client_name(std::string_view name) {
  for (const char c : name) {
    if (c < '!' || c > '~') return false;
  }
  return true;
}

std::shared_ptr<ClientRecord> ClientRegistry::add(int fd, uint32_t worker, std::string address,
                                                  std::string local_address, int64_t now_ms) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t id = ++last_id_;
  auto record = std::make_shared<ClientRecord>(id, fd, worker, std::move(address),
                                               std::move(local_address), now_ms);
  clients_.emplace(id, record);
  size_.store(clients_.size(), std::memory_order_relaxed);
  return record;
}

void ClientRegistry::remove(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  clients_.erase(id);
  size_.store(clients_.size(), std::memory_order_relaxed);
}

std::vector<std::shared_ptr<ClientRecord>> ClientRegistry::list() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<ClientRecord>> clients;
  clients.reserve(clients_.size());
  for (const auto& [id, record] : clients_) clients.push_back(record);
  return clients;
}

}  // namespace iris::server
