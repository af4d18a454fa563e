// Reads a file from its front to its back through one buffer: big reads, and what was read is
// looked at where it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "persistence/file_system.h"

namespace iris::persistence {

class ReadWindow {
 public:
  ReadWindow(File& file, uint64_t file_bytes) : file_(file), file_bytes_(file_bytes) {}

  uint64_t file_bytes() const { return file_bytes_; }
  // Makes `view` the bytes from `offset` on, valid until the next call. They must be within the
  // file; no offset may be smaller than one before. Where offsets are multiples of 8, so are the
  // addresses. False: error() says why in half a sentence.
  [[nodiscard]] bool look(uint64_t offset, uint64_t size, std::string_view& view);
  const std::string& error() const { return error_; }

 private:
  bool read_more(uint64_t size);

  File& file_;
  const uint64_t file_bytes_;
  // Not a std::string, which would throw when there is no memory, and clear what is read into.
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  uint64_t start_ = 0;  // the offset of the buffer's first byte
  size_t filled_ = 0;
  std::string error_;
};

}  // namespace iris::persistence
