// The memory of a filter's cells: zeroed, aligned to a cache line, owned by one object, and had or
// not had as a value. Nothing here aborts when memory is short: a client chooses the sizes.
//
// Two sources, one rule (kMappedFromBytes):
//
//   below 2 MB   the allocator: a million filters of a few hundred bytes must not cost a page each
//   from 2 MB    a mapping of its own, aligned to 2 MB and advised to huge pages. A lookup in a big
//                filter is one random access: with 4 KB pages it pays for a TLB miss as well. There
//                is no fork in Iris, so huge pages never turn into 2 MB copies.
//
// Invariants
//   1. data() is aligned to kAlignment, and all of footprint_bytes() was zero at birth.
//   2. size_bytes() is what was asked for; the bytes from there up to footprint_bytes() belong to
//      nobody but may be read, so a reader may always load whole 8-byte words.
//   3. The process-wide mapped_bytes() is the sum of the footprints of all living mappings. It is
//      the one figure that the allocator's own statistics cannot know.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace iris::filters {

class CellMemory {
 public:
  static constexpr uint64_t kAlignment = 64;
  static constexpr uint64_t kMappedFromBytes = uint64_t{2} << 20;

  // Empty when the memory cannot be had, or when `size_bytes` is 0 or beyond what addresses reach.
  [[nodiscard]] static std::optional<CellMemory> allocate(uint64_t size_bytes);

  // What allocate() will take for `size_bytes`, or UINT64_MAX if no machine could give it.
  static uint64_t footprint_bytes_for(uint64_t size_bytes);

  // Of all living mappings of this process; relaxed, for reports only.
  static uint64_t mapped_bytes();

  CellMemory() = default;
  ~CellMemory() { release(); }
  CellMemory(CellMemory&& other) noexcept;
  CellMemory& operator=(CellMemory&& other) noexcept;
  CellMemory(const CellMemory&) = delete;
  CellMemory& operator=(const CellMemory&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  uint64_t size_bytes() const { return size_bytes_; }
  uint64_t footprint_bytes() const { return data_ ? footprint_bytes_for(size_bytes_) : 0; }
  bool mapped() const { return size_bytes_ >= kMappedFromBytes; }

 private:
  CellMemory(std::byte* data, uint64_t size_bytes) : data_(data), size_bytes_(size_bytes) {}
  void release();

  std::byte* data_ = nullptr;
  uint64_t size_bytes_ = 0;
};

}  // namespace iris::filters
