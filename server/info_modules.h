// What all Bloom filters of the keyspace come to, for INFO modules.
#pragma once

#include <cstdint>

#include "server/keyspace.h"

namespace iris::server {

struct BloomTotals {
  uint64_t memory_bytes = 0;
  uint64_t objects = 0;
  uint64_t filters = 0;  // layers
  uint64_t items = 0;
  uint64_t capacity = 0;
};

// Looks at a bounded number of keys a database. A database with more of them is told from that
// sample, scaled up: keys lie in the table by their hash, so any part of it is a fair one.
BloomTotals bloom_totals(const Keyspace& keyspace);

}  // namespace iris::server
