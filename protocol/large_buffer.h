// The bytes of a request that is not whole yet, however large it gets.
//
// Such memory is asked for and given back with every large request, and an allocator that gives
// memory back to the kernel pays for each page anew: a BF.MADD of a million items took 20,000 page
// faults, a sixth of its time. From 2 MB on it is therefore a mapping of its own that is advised to
// huge pages, grows by being mapped elsewhere (no byte is copied, and none is cleared but those
// that are new), and is gone when it is released.
//
// Memory that cannot be had is an error that nobody catches, as with any container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace iris::protocol {

class LargeBuffer {
 public:
  static constexpr size_t kMappedFromBytes = size_t{2} << 20;

  LargeBuffer() = default;
  ~LargeBuffer() { release(); }
  LargeBuffer(const LargeBuffer&) = delete;
  LargeBuffer& operator=(const LargeBuffer&) = delete;

  char* data() { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {data_, size_}; }

  void append(std::string_view bytes);
  // Room for so many bytes behind the last; extend() appends what was written there.
  char* room(size_t bytes);
  void extend(size_t bytes) { size_ += bytes; }
  // Keeps the last bytes only, and no memory that is out of proportion to them.
  void keep_last(size_t count);

  // Of all that is mapped now, by this whole process: the allocator's own figures do not have it.
  static uint64_t mapped_bytes();

 private:
  bool mapped() const { return capacity_ >= kMappedFromBytes; }
  void release();
  void grow(size_t wanted);
  void grow_mapped(size_t wanted);

  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace iris::protocol
