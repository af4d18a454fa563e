// Counts the replies in a stream of RESP2 bytes, however it is cut into reads, and looks at their
// types: a benchmark of error messages would be a fast one.
//
// An array counts as one reply, with all that is in it. The first error reply, also one inside an
// array, ends the counting: error() has its text. So does a reply of another type than the
// expected, and what is not RESP2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace iris::loadgen {

enum class ReplyKind : uint8_t { kAnyButError, kInteger, kSimple, kBulk, kArray };

class ReplyCounter {
 public:
  explicit ReplyCounter(ReplyKind expected) : expected_(expected) {}

  // Whole replies that these bytes complete.
  uint64_t feed(std::string_view bytes);

  bool failed() const { return !error_.empty(); }
  // Why the counting ended; empty: all is well.
  const std::string& error() const { return error_; }

 private:
  void read_line(std::string_view line);
  void read_array(int64_t elements);
  void end_element();
  bool is_expected(char type) const;
  void fail(const std::string& error);

  const ReplyKind expected_;
  uint64_t complete_ = 0;
  uint64_t payload_left_ = 0;            // of a bulk string, with its CRLF
  std::string line_;                     // the begin of a line whose end has not come
  std::vector<uint64_t> elements_left_;  // of each array that is open, the innermost last
  std::string error_;
};

}  // namespace iris::loadgen
