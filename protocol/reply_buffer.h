// Bytes on their way out: a growable buffer that, unlike std::string, never fills what it is about
// to overwrite. A worker renders all replies of a tick into one of these.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace iris::protocol {

class ReplyBuffer {
 public:
  // Room for `size` more bytes at the end; valid until the next call. commit() makes them count.
  char* reserve(size_t size) {
    if (capacity_ - size_ < size) grow(size);
    return data_.get() + size_;
  }
  void commit(size_t size) { size_ += size; }

  void append(std::string_view bytes) {
    if (bytes.empty()) return;  // its data() may be null, which memcpy forbids
    std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
    commit(bytes.size());
  }

  // Drops everything from `size` on.
  void truncate(size_t size) { size_ = size; }
  void clear() { size_ = 0; }
  // Gives the memory back; for a buffer that one huge reply has blown up.
  void release();

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  const char* data() const { return data_.get(); }
  std::string_view view(size_t from = 0) const { return {data_.get() + from, size_ - from}; }

 private:
  void grow(size_t size);

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace iris::protocol
