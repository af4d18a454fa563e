// Frees what was removed from the keyspace, on a thread of its own: unmapping a filter of a
// gigabyte takes tens of milliseconds, which no worker should spend.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "server/keyspace.h"

namespace iris::server {

class Reaper {
 public:
  Reaper();
  // Frees what is left and joins.
  ~Reaper();

  void dispose(Garbage garbage);
  size_t pending() const;

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Garbage> heap_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace iris::server
