// How much memory is in use, as cheaply as the hot path needs it and as exactly as a limit must be.
//
//   used = what the allocator had given out at the last sample (10 a second; asking it is slow)
//        + what was asked for since then, as announced by those who asked
//        + what is mapped, for large filters (filters/cell_memory.h) and for large requests
//          (protocol/large_array.h), both counted to the byte
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace iris::server {

struct AllocatorFigures {
  uint64_t allocated = 0;
  uint64_t active = 0;
  uint64_t resident = 0;
  uint64_t retained = 0;
};

AllocatorFigures allocator_figures();
// "jemalloc-5.3.0", or "libc" in builds without it.
std::string allocator_name();
// The allocator's own report, for MEMORY MALLOC-STATS.
std::string allocator_report();
// Gives unused pages back to the system.
void purge_allocator();
// What is mapped beside the allocator.
uint64_t mapped_bytes();
// Resident memory of this process as the kernel counts it.
uint64_t resident_bytes();

class Memory {
 public:
  uint64_t used_bytes() const;
  // The same without the log's buffer, which has a limit of its own: what `maxmemory` is held
  // against, as in Redis.
  uint64_t counted_bytes() const;
  uint64_t log_bytes() const { return log_bytes_.load(std::memory_order_relaxed); }
  // Whether `more` bytes would stay within `limit` (0: no limit).
  bool allows(uint64_t more, uint64_t limit) const;
  // Somebody is about to allocate so much. Large cells are not counted here: their mappings count
  // themselves.
  void announce(uint64_t bytes);
  // Asks the allocator again; called by the background round. `log_bytes` is what the log's buffer
  // takes of it.
  void sample(uint64_t log_bytes);

  uint64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  void reset_peak() { peak_.store(used_bytes(), std::memory_order_relaxed); }
  uint64_t startup_bytes() const { return startup_.load(std::memory_order_relaxed); }
  // What is in use before the first client: overhead that no data set explains.
  void note_startup();

 private:
  std::atomic<uint64_t> sampled_{0};
  std::atomic<uint64_t> log_bytes_{0};
  std::atomic<uint64_t> announced_{0};
  std::atomic<uint64_t> peak_{0};
  std::atomic<uint64_t> startup_{0};
};

}  // namespace iris::server
