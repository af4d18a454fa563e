// Memory for what a large request needs until it is whole: its bytes, and where its arguments are.
//
// Such memory is asked for and given back with every large request, and an allocator that gives
// memory back to the kernel pays for each page anew: a BF.MADD of a million items touches some
// 80 MB on its way, 20,000 pages, a sixth of its time. From 2 MB on it is therefore a mapping of
// its own that is advised to huge pages, and is gone when it is freed.
//
// For containers (std::basic_string, std::vector). Memory that cannot be had is an error that
// nobody catches, as with any container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace iris::protocol {

class LargeMemory {
 public:
  static constexpr size_t kMappedFromBytes = size_t{2} << 20;

  static void* map(size_t size_bytes);
  static void unmap(void* memory, size_t size_bytes);
  // Of all that is mapped now, by this whole process: the allocator's own figures do not have it.
  static uint64_t mapped_bytes();
};

template <typename T>
class LargeAllocator {
 public:
  using value_type = T;

  LargeAllocator() = default;
  template <typename U>
  explicit LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(size_t count) {
    if (!mapped(count)) return std::allocator<T>().allocate(count);
    return static_cast<T*>(LargeMemory::map(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) {
    if (!mapped(count)) return std::allocator<T>().deallocate(memory, count);
    LargeMemory::unmap(memory, count * sizeof(T));
  }

  bool operator==(const LargeAllocator&) const = default;

 private:
  // Containers never ask for more than their max_size(), so the product does not overflow.
  static bool mapped(size_t count) { return count >= LargeMemory::kMappedFromBytes / sizeof(T); }
};

}  // namespace iris::protocol
