#include "filters/cell_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace iris::filters {
namespace {

constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;
constexpr uint64_t kPageBytes = 4096;
// User space ends at 2^47 on x86-64; half of it is more than any machine has, and sums of two such
// sizes stay far from overflow.
constexpr uint64_t kMaxBytes = uint64_t{1} << 46;

std::atomic<uint64_t> g_mapped_bytes{0};

constexpr uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// The kernel gives huge pages only to aligned 2 MB ranges, and older kernels do not align mappings
// by themselves: map 2 MB more and give the ends back.
std::byte* map_zeroed(uint64_t footprint_bytes) {
  const uint64_t length = footprint_bytes + kHugePageBytes;
  void* mapping =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(mapping);
  const uint64_t before = round_up(start, kHugePageBytes) - start;
  const uint64_t after = length - before - footprint_bytes;
  std::byte* cells = static_cast<std::byte*>(mapping) + before;
  if (before > 0) ::munmap(mapping, before);
  if (after > 0) ::munmap(cells + footprint_bytes, after);
  // Only advice: where huge pages are switched off the filter works all the same.
  (void)::madvise(cells, footprint_bytes, MADV_HUGEPAGE);
  g_mapped_bytes.fetch_add(footprint_bytes, std::memory_order_relaxed);
  return static_cast<std::byte*>(cells);
}

}  // namespace

uint64_t CellMemory::footprint_bytes_for(uint64_t size_bytes) {
  if (size_bytes > kMaxBytes) return std::numeric_limits<uint64_t>::max();
  return round_up(size_bytes, size_bytes >= kMappedFromBytes ? kPageBytes : kAlignment);
}

uint64_t CellMemory::mapped_bytes() {
  return g_mapped_bytes.load(std::memory_order_relaxed);
}

std::optional<CellMemory> CellMemory::allocate(uint64_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kMaxBytes) return std::nullopt;
  const uint64_t footprint = footprint_bytes_for(size_bytes);
  std::byte* data = nullptr;
  if (size_bytes >= kMappedFromBytes) {
    data = map_zeroed(footprint);
  } else {
    data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, footprint));
    if (data != nullptr) std::memset(data, 0, footprint);
  }
  if (data == nullptr) return std::nullopt;
  return CellMemory(data, size_bytes);
}

CellMemory::CellMemory(CellMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

CellMemory& CellMemory::operator=(CellMemory&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

void CellMemory::release() {
  if (data_ == nullptr) return;
  if (mapped()) {
    ::munmap(data_, footprint_bytes());
    g_mapped_bytes.fetch_sub(footprint_bytes(), std::memory_order_relaxed);
  } else {
    std::free(data_);
  }
  data_ = nullptr;
  size_bytes_ = 0;
}

}  // namespace iris::filters
