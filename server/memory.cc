#include "server/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "filters/cell_memory.h"
#include "protocol/large_array.h"

#if defined(IRIS_JEMALLOC)
#include <jemalloc/jemalloc.h>
#else
#include <malloc.h>
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#include <sanitizer/allocator_interface.h>
#define IRIS_SANITIZER_ALLOCATOR
#endif
#endif

namespace iris::server {

#if defined(IRIS_JEMALLOC)

namespace {

uint64_t jemalloc_figure(const char* name) {
  size_t value = 0;
  size_t size = sizeof value;
  return mallctl(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

// What the allocator takes for a block: its size classes are up to a fifth apart.
uint64_t allocated_size(uint64_t bytes) {
  return bytes > 0 && bytes < filters::CellMemory::kMappedFromBytes ? nallocx(bytes, 0) : bytes;
}

}  // namespace

AllocatorFigures allocator_figures() {
  // The figures are cached; a new epoch makes jemalloc add them up again.
  uint64_t epoch = 1;
  size_t size = sizeof epoch;
  mallctl("epoch", &epoch, &size, &epoch, size);
  return {jemalloc_figure("stats.allocated"), jemalloc_figure("stats.active"),
          jemalloc_figure("stats.resident"), jemalloc_figure("stats.retained")};
}

std::string allocator_name() {
  const char* version = nullptr;
  size_t size = sizeof version;
  if (mallctl("version", static_cast<void*>(&version), &size, nullptr, 0) != 0) return "jemalloc";
  const std::string text(version);
  return "jemalloc-" + text.substr(0, text.find('-'));
}

std::string allocator_report() {
  std::string report;
  malloc_stats_print(
      [](void* out, const char* text) { static_cast<std::string*>(out)->append(text); }, &report,
      nullptr);
  return report;
}

void purge_allocator() {
  char command[32];
  std::snprintf(command, sizeof command, "arena.%u.purge",
                static_cast<unsigned>(MALLCTL_ARENAS_ALL));
  mallctl(command, nullptr, nullptr, nullptr, 0);
}

#else

namespace {

uint64_t allocated_size(uint64_t bytes) {
  return bytes;
}

}  // namespace

AllocatorFigures allocator_figures() {
#if defined(IRIS_SANITIZER_ALLOCATOR)
  const uint64_t allocated = __sanitizer_get_current_allocated_bytes();
  const uint64_t heap = __sanitizer_get_heap_size();
  return {allocated, heap, heap, 0};
#else
  const struct mallinfo2 info = mallinfo2();
  return {info.uordblks + info.hblkhd, info.arena + info.hblkhd, info.arena + info.hblkhd, 0};
#endif
}

std::string allocator_name() {
  return "libc";
}
std::string allocator_report() {
  return "Stats not supported for the current allocator";
}
void purge_allocator() {
  malloc_trim(0);
}

#endif

uint64_t mapped_bytes() {
  return filters::CellMemory::mapped_bytes() + protocol::LargeMemory::mapped_bytes();
}

uint64_t resident_bytes() {
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%lu %lu", &total_pages, &resident_pages);
  std::fclose(file);
  return read == 2 ? resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

uint64_t Memory::used_bytes() const {
  return sampled_.load(std::memory_order_relaxed) + announced_.load(std::memory_order_relaxed) +
         mapped_bytes();
}

uint64_t Memory::counted_bytes() const {
  const uint64_t used = used_bytes();
  return used - std::min(used, log_bytes());
}

bool Memory::allows(uint64_t more, uint64_t limit) const {
  if (limit == 0) return true;
  const uint64_t counted = counted_bytes();
  return counted <= limit && allocated_size(more) <= limit - counted;
}

void Memory::announce(uint64_t bytes) {
  if (bytes >= filters::CellMemory::kMappedFromBytes) return;
  announced_.fetch_add(allocated_size(bytes), std::memory_order_relaxed);
}

void Memory::sample(uint64_t log_bytes) {
  // Announced after this line and before the allocator is asked: counted twice until the next
  // sample, which errs on the safe side.
  announced_.store(0, std::memory_order_relaxed);
  log_bytes_.store(log_bytes, std::memory_order_relaxed);
  sampled_.store(allocator_figures().allocated, std::memory_order_relaxed);
  const uint64_t used = used_bytes();
  if (used > peak_bytes()) peak_.store(used, std::memory_order_relaxed);
}

void Memory::note_startup() {
  sample(0);
  startup_.store(used_bytes(), std::memory_order_relaxed);
}

}  // namespace iris::server
