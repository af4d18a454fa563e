#include "protocol/large_allocator.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

namespace iris::protocol {

namespace {

std::atomic<uint64_t> g_mapped_bytes{0};

}  // namespace

void* LargeMemory::map(size_t size_bytes) {
  void* memory =
      ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();    // what a container expects of its allocator
  (void)::madvise(memory, size_bytes, MADV_HUGEPAGE);  // only advice
  g_mapped_bytes.fetch_add(size_bytes, std::memory_order_relaxed);
  return memory;
}

void LargeMemory::unmap(void* memory, size_t size_bytes) {
  ::munmap(memory, size_bytes);
  g_mapped_bytes.fetch_sub(size_bytes, std::memory_order_relaxed);
}

uint64_t LargeMemory::mapped_bytes() {
  return g_mapped_bytes.load(std::memory_order_relaxed);
}

}  // namespace iris::protocol
