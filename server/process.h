// The process among other processes: going into the background, the pid file, the service manager,
// and how many cores and descriptors it may use.
#pragma once

#include <cstdint>
#include <string>

#include "server/config.h"

namespace iris::server {

// Before any thread is started: the parent exits 0, the child goes on without a terminal.
void go_into_background();

// Removes the file when it ends.
class PidFile {
 public:
  explicit PidFile(const Config& config);
  ~PidFile();
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;

 private:
  std::string path_;
};

// Sends `state` ("READY=1") to the service manager that started us; nothing if there is none.
void notify_service_manager(Supervised supervised, const char* state);

// The cores this process may use, with its affinity and its cgroup's quota counted; at least 1.
uint32_t usable_cores();

// Raises the limit of descriptors so that `maxclients` fit. Returns how many clients do fit.
uint32_t reserve_descriptors(uint32_t maxclients);

}  // namespace iris::server
