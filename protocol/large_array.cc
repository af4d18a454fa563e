#include "protocol/large_array.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace iris::protocol {

namespace {

std::atomic<uint64_t> g_mapped_bytes{0};

bool mapped(size_t bytes) {
  return bytes >= LargeMemory::kMappedFromBytes;
}

void* map(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) (void)::madvise(memory, bytes, MADV_HUGEPAGE);  // only advice
  return memory;
}

}  // namespace

void* LargeMemory::grow(void* memory, size_t old_bytes, size_t new_bytes) {
  if (!mapped(new_bytes)) {
    void* grown = std::realloc(memory, new_bytes);
    if (grown == nullptr) throw std::bad_alloc();
    return grown;
  }
  void* grown =
      mapped(old_bytes) ? ::mremap(memory, old_bytes, new_bytes, MREMAP_MAYMOVE) : map(new_bytes);
  if (grown == MAP_FAILED) throw std::bad_alloc();
  g_mapped_bytes.fetch_add(new_bytes, std::memory_order_relaxed);
  if (mapped(old_bytes)) {
    g_mapped_bytes.fetch_sub(old_bytes, std::memory_order_relaxed);
  } else if (memory != nullptr) {
    std::memcpy(grown, memory, old_bytes);
    std::free(memory);
  }
  return grown;
}

void LargeMemory::release(void* memory, size_t bytes) {
  if (!mapped(bytes)) {
    std::free(memory);
    return;
  }
  ::munmap(memory, bytes);
  g_mapped_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

uint64_t LargeMemory::mapped_bytes() {
  return g_mapped_bytes.load(std::memory_order_relaxed);
}

}  // namespace iris::protocol
