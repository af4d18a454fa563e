#include "protocol/reply_buffer.h"

#include <algorithm>

namespace iris::protocol {

namespace {
constexpr size_t kFirstCapacityBytes = 1024;
}

void ReplyBuffer::grow(size_t size) {
  const size_t capacity = std::max({kFirstCapacityBytes, capacity_ * 2, size_ + size});
  std::unique_ptr<char[]> data(new char[capacity]);
  if (size_ > 0) std::memcpy(data.get(), data_.get(), size_);
  data_ = std::move(data);
  capacity_ = capacity;
}

void ReplyBuffer::release() {
  data_.reset();
  size_ = capacity_ = 0;
}

}  // namespace iris::protocol
