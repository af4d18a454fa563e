// A growing array for what a large request needs: its bytes until it is whole, and its arguments.
//
// Such memory is asked for and given back with every large request, and an allocator that gives
// memory back to the kernel pays for each page anew: a BF.MADD of a million items took 20,000 page
// faults, a sixth of its time. From 2 MB on it is therefore a mapping of its own that is advised to
// huge pages and grows by being mapped elsewhere: no byte is copied, and none is cleared but those
// that are new.
//
// Memory that cannot be had is an error that nobody catches, as with any container.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace iris::protocol {

// Sizes are rounded ones.
class LargeMemory {
 public:
  static constexpr size_t kMappedFromBytes = size_t{2} << 20;

  // Whole lines, or whole huge pages, which the kernel aligns.
  static constexpr size_t rounded(size_t bytes) {
    const size_t unit = bytes < kMappedFromBytes ? kLineBytes : kMappedFromBytes;
    return (bytes + unit - 1) / unit * unit;
  }
  // Makes it larger and keeps what is in it; null is memory of 0 bytes.
  static void* grow(void* memory, size_t old_bytes, size_t new_bytes);
  static void release(void* memory, size_t bytes);
  // Of all that is mapped now, by this whole process: the allocator's own figures do not have it.
  static uint64_t mapped_bytes();

 private:
  static constexpr size_t kLineBytes = 64;
};

template <typename T>
class LargeArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using const_iterator = const T*;

  LargeArray() = default;
  ~LargeArray() { release(); }
  LargeArray(const LargeArray&) = delete;
  LargeArray& operator=(const LargeArray&) = delete;

  T* data() { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t index) const { return data_[index]; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity_bytes() const { return capacity_ * sizeof(T); }

  void push_back(const T& value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }
  void append(std::span<const T> values) {
    if (values.empty()) return;
    std::memcpy(room(values.size()), values.data(), values.size_bytes());
    size_ += values.size();
  }
  // Room for so many behind the last; extend() appends what was written there.
  T* room(size_t count) {
    if (capacity_ - size_ < count) grow(size_ + count);
    return data_ + size_;
  }
  void extend(size_t count) { size_ += count; }

  // Keeps the first ones only, and all memory.
  void truncate(size_t count) { size_ = count; }
  // Keeps the last ones only, and no memory that is out of proportion to them.
  void keep_last(size_t count) {
    const std::span<const T> kept(end() - count, count);
    if (count > capacity_ / 4) {
      std::memmove(data_, kept.data(), kept.size_bytes());
      size_ = count;
      return;
    }
    LargeArray smaller;
    smaller.append(kept);
    swap(smaller);
  }
  // Empties it and gives the memory back.
  void release() {
    LargeMemory::release(data_, capacity_bytes());
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  void swap(LargeArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  [[gnu::noinline]] void grow(size_t least) {
    const size_t bytes = LargeMemory::rounded(std::max(least, 2 * capacity_) * sizeof(T));
    data_ = static_cast<T*>(LargeMemory::grow(data_, capacity_bytes(), bytes));
    capacity_ = bytes / sizeof(T);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace iris::protocol
