// Who is connected: one small record a connection, readable by every thread.
//
// A connection belongs to its worker and nobody else touches it. What CLIENT LIST and CLIENT KILL
// need of it is copied here: numbers as atomics that only the owner stores, texts under a mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace iris::server {

struct Command;

enum ClientFlag : uint32_t {
  kClientMulti = 1u << 0,
  kClientMonitor = 1u << 1,
  kClientCloseAfterReply = 1u << 2,
  kClientCloseSoon = 1u << 3,
  kClientUnix = 1u << 4,
  kClientNoEvict = 1u << 5,
  kClientNoTouch = 1u << 6,
  kClientBlocked = 1u << 8,  // it waits for the disk, or the end of its own long command
  kClientLocal = 1u << 7,    // on this machine: a Unix socket or the loopback interface
};

// What a client calls itself.
struct ClientNames {
  std::string name;
  std::string library;
  std::string library_version;
};

// Printable and without spaces, so that a name cannot break a line of CLIENT LIST.
bool valid_client_name(std::string_view name);

class ClientRecord {
 public:
  ClientRecord(uint64_t client_id, int socket, uint32_t owner, std::string peer, std::string local,
               int64_t now_ms)
      : id(client_id),
        fd(socket),
        worker(owner),
        address(std::move(peer)),
        local_address(std::move(local)),
        connected_ms(now_ms),
        active_ms(now_ms) {}

  ClientNames names() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return names_;
  }
  void set_names(ClientNames names) {
    std::lock_guard<std::mutex> lock(mutex_);
    names_ = std::move(names);
  }

  void set_flag(uint32_t flag, bool on) {
    if (on) {
      flags.fetch_or(flag, std::memory_order_relaxed);
    } else {
      flags.fetch_and(~flag, std::memory_order_relaxed);
    }
  }
  bool has_flag(uint32_t flag) const { return (flags.load(std::memory_order_relaxed) & flag) != 0; }

  const uint64_t id;
  const int fd;
  const uint32_t worker;
  const std::string address;
  const std::string local_address;
  const int64_t connected_ms;

  std::atomic<int64_t> active_ms;
  std::atomic<const Command*> last_command{nullptr};
  std::atomic<uint32_t> flags{0};
  std::atomic<uint32_t> db{0};
  std::atomic<uint32_t> version{2};
  std::atomic<int32_t> queued_commands{-1};  // -1: not in MULTI
  std::atomic<uint64_t> queued_bytes{0};
  std::atomic<uint32_t> watched_keys{0};
  std::atomic<uint64_t> input_bytes{0};
  std::atomic<uint64_t> output_bytes{0};
  std::atomic<uint64_t> output_chunks{0};

 private:
  mutable std::mutex mutex_;
  ClientNames names_;
};

class ClientRegistry {
 public:
  std::shared_ptr<ClientRecord> add(int fd, uint32_t worker, std::string address,
                                    std::string local_address, int64_t now_ms);
  void remove(uint64_t id);
  // Ordered by id.
  std::vector<std::shared_ptr<ClientRecord>> list() const;
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<ClientRecord>> clients_;
  std::atomic<size_t> size_{0};
  uint64_t last_id_ = 0;
};

}  // namespace iris::server
