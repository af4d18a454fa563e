#include "protocol/large_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace iris::protocol {

namespace {

std::atomic<uint64_t> g_mapped_bytes{0};

void* map(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) (void)::madvise(memory, bytes, MADV_HUGEPAGE);  // only advice
  return memory;
}

}  // namespace

void LargeBuffer::append(std::string_view bytes) {
  if (bytes.empty()) return;
  std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
  extend(bytes.size());
}

char* LargeBuffer::room(size_t bytes) {
  if (capacity_ - size_ < bytes) grow(std::max(size_ + bytes, 2 * capacity_));
  return data_ + size_;
}

void LargeBuffer::keep_last(size_t count) {
  const std::string_view kept = view().substr(size_ - count);
  if (count > capacity_ / 4) {
    std::memmove(data_, kept.data(), count);
    size_ = count;
    return;
  }
  LargeBuffer smaller;
  smaller.append(kept);
  std::swap(data_, smaller.data_);
  std::swap(capacity_, smaller.capacity_);
  size_ = count;
}

void LargeBuffer::grow(size_t wanted) {
  if (wanted >= kMappedFromBytes) return grow_mapped(wanted);
  void* grown = std::realloc(data_, wanted);
  if (grown == nullptr) throw std::bad_alloc();
  data_ = static_cast<char*>(grown);
  capacity_ = wanted;
}

void LargeBuffer::grow_mapped(size_t wanted) {
  // The kernel aligns a mapping of whole huge pages.
  const size_t bytes = (wanted + kMappedFromBytes - 1) / kMappedFromBytes * kMappedFromBytes;
  void* grown = mapped() ? ::mremap(data_, capacity_, bytes, MREMAP_MAYMOVE) : map(bytes);
  if (grown == MAP_FAILED) throw std::bad_alloc();
  if (mapped()) {
    g_mapped_bytes.fetch_sub(capacity_, std::memory_order_relaxed);
  } else if (data_ != nullptr) {
    std::memcpy(grown, data_, size_);
    std::free(data_);
  }
  g_mapped_bytes.fetch_add(bytes, std::memory_order_relaxed);
  data_ = static_cast<char*>(grown);
  capacity_ = bytes;
}

void LargeBuffer::release() {
  if (mapped()) {
    ::munmap(data_, capacity_);
    g_mapped_bytes.fetch_sub(capacity_, std::memory_order_relaxed);
  } else {
    std::free(data_);
  }
  data_ = nullptr;
  size_ = capacity_ = 0;
}

uint64_t LargeBuffer::mapped_bytes() {
  return g_mapped_bytes.load(std::memory_order_relaxed);
}

}  // namespace iris::protocol
