// Removes expired keys that nobody asks for. Readers never see an expired key, so this is about
// memory only: slot after slot is looked through, a bounded time each background round.
#pragma once

#include <cstdint>

#include "server/engine.h"

namespace iris::server {

class ActiveExpiry {
 public:
  ActiveExpiry(Engine& engine, size_t member) : engine_(engine), member_(member) {}

  // Looks through slots for at most `budget_us`, or until all were seen once.
  void run(int64_t budget_us);

 private:
  // Collects expired keys from here on; returns false when the round trip is complete.
  bool collect(int64_t now_ms, int64_t deadline_ns);
  void remove_collected(int64_t now_ms);

  struct ExpiredKey {
    size_t db;
    std::string name;
  };

  Engine& engine_;
  const size_t member_;
  size_t db_ = 0;
  uint32_t slot_ = 0;
  std::vector<ExpiredKey> expired_;
};

}  // namespace iris::server
