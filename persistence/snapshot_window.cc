#include "persistence/snapshot_window.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "filters/check.h"

namespace iris::persistence {

namespace {

// Large enough that moving an unfinished piece from the end of the buffer to its start, once a
// refill, costs nothing beside the reading.
constexpr uint64_t kBufferBytes = uint64_t{4} << 20;

}  // namespace

bool ReadWindow::look(uint64_t offset, uint64_t size, std::string_view& view) {
  CHECK(offset >= start_ && offset <= file_bytes_ && size <= file_bytes_ - offset);
  if (offset - start_ > filled_ || filled_ - (offset - start_) < size) {
    const size_t passed = static_cast<size_t>(std::min<uint64_t>(offset - start_, filled_));
    // Down to a multiple of 8, for the addresses' sake.
    const size_t kept_from = passed & ~size_t{7};
    if (kept_from > 0) std::memmove(buffer_.get(), buffer_.get() + kept_from, filled_ - kept_from);
    filled_ -= kept_from;
    start_ += kept_from;
    if (offset - start_ > filled_) {
      start_ = offset & ~uint64_t{7};
      filled_ = 0;
    }
    if (!read_more(offset - start_ + size)) return false;
  }
  view = {buffer_.get() + (offset - start_), static_cast<size_t>(size)};
  return true;
}

// Until the buffer holds the first `size` bytes from start_ on.
bool ReadWindow::read_more(uint64_t size) {
  const uint64_t wanted = std::max(size, std::min(kBufferBytes, file_bytes_));
  if (wanted > capacity_) {
    std::unique_ptr<char[]> larger(new (std::nothrow) char[wanted]);
    if (larger == nullptr) {
      error_ = "not enough memory";
      return false;
    }
    if (filled_ > 0) std::memcpy(larger.get(), buffer_.get(), filled_);
    buffer_ = std::move(larger);
    capacity_ = static_cast<size_t>(wanted);
  }
  while (filled_ < size) {
    const int64_t got =
        file_.read(start_ + filled_, {buffer_.get() + filled_, capacity_ - filled_});
    if (got <= 0) {
      error_ = got == 0 ? "the file became shorter while it was read"
                        : "cannot read: " + std::generic_category().message(static_cast<int>(-got));
      return false;
    }
    filled_ += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace iris::persistence
