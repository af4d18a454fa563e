#include "bench/loadgen/reply_counter.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace iris::loadgen {

namespace {

// Longer than any error text; a stream without line ends is no RESP.
constexpr size_t kMaxLineBytes = 64 << 10;
constexpr size_t kMaxDepth = 32;
// What Redis allows for a bulk string.
constexpr int64_t kMaxBulkBytes = int64_t{512} << 20;

}  // namespace

uint64_t ReplyCounter::feed(std::string_view bytes) {
  complete_ = 0;
  while (!bytes.empty() && !failed()) {
    if (payload_left_ > 0) {
      const size_t taken = std::min<uint64_t>(payload_left_, bytes.size());
      bytes.remove_prefix(taken);
      payload_left_ -= taken;
      if (payload_left_ == 0) end_element();
      continue;
    }
    const void* const end = std::memchr(bytes.data(), '\n', bytes.size());
    if (end == nullptr) {
      line_ += bytes;
      if (line_.size() > kMaxLineBytes) fail("a line of the reply has no end");
      break;
    }
    const size_t size = static_cast<size_t>(static_cast<const char*>(end) - bytes.data()) + 1;
    if (line_.empty()) {
      read_line(bytes.substr(0, size));
    } else {
      line_ += bytes.substr(0, size);
      read_line(std::exchange(line_, {}));
    }
    bytes.remove_prefix(size);
  }
  return complete_;
}

void ReplyCounter::read_line(std::string_view line) {
  if (line.size() < 3 || line[line.size() - 2] != '\r') return fail("the reply is not RESP2");
  const char type = line[0];
  const std::string_view text = line.substr(1, line.size() - 3);
  if (type == '-') return fail("the server answered: " + std::string(text));
  if (elements_left_.empty() && !is_expected(type)) {
    return fail("a reply of another type than the expected: '" + std::string(1, type) + "'");
  }
  if (type == ':' || type == '+') return end_element();
  if (type != '$' && type != '*') return fail("the reply is not RESP2");

  int64_t size = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (problem != std::errc() || end != text.data() + text.size() || size < -1 ||
      size > kMaxBulkBytes) {
    return fail("a length in the reply is no length");
  }
  if (size == -1) return end_element();  // null
  if (type == '*') return read_array(size);
  payload_left_ = static_cast<uint64_t>(size) + 2;
}

void ReplyCounter::read_array(int64_t elements) {
  if (elements == 0) return end_element();
  if (elements_left_.size() == kMaxDepth) return fail("the reply's arrays are nested too deep");
  elements_left_.push_back(static_cast<uint64_t>(elements));
}

void ReplyCounter::end_element() {
  while (!elements_left_.empty()) {
    if (--elements_left_.back() > 0) return;
    elements_left_.pop_back();
  }
  ++complete_;
}

bool ReplyCounter::is_expected(char type) const {
  switch (expected_) {
    case ReplyKind::kInteger:
      return type == ':';
    case ReplyKind::kSimple:
      return type == '+';
    case ReplyKind::kBulk:
      return type == '$';
    case ReplyKind::kArray:
      return type == '*';
    case ReplyKind::kAnyButError:
      return true;
  }
  return true;
}

void ReplyCounter::fail(const std::string& error) {
  error_ = error;
}

}  // namespace iris::loadgen
