// Where the memory goes, and what that means: for MEMORY STATS and MEMORY DOCTOR.
#pragma once

#include <cstdint>
#include <string>

#include "server/memory.h"

namespace iris::server {

struct MemoryFigures {
  uint64_t used_bytes = 0;  // allocated and mapped: what maxmemory limits
  uint64_t peak_bytes = 0;
  uint64_t limit_bytes = 0;     // maxmemory; 0: none
  uint64_t resident_bytes = 0;  // of the process, as the kernel counts
  uint64_t mapped_bytes = 0;    // for what is large, past the allocator
  uint64_t clients = 0;
  uint64_t client_buffers_bytes = 0;
  AllocatorFigures allocator;

  // Resident for each byte in use.
  double fragmentation() const;
  // What the allocator holds in pages for each byte that it has given out.
  double allocator_fragmentation() const;
};

// What is wrong and what to do, in sentences.
std::string memory_diagnosis(const MemoryFigures& figures);

}  // namespace iris::server
