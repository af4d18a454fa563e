// The parser of request_parser.h. The common request, short, whole and well-formed, is taken by
// parse_short(); everything else goes the way of parse_array() or parse_inline(), where the unusual
// (a cut, a sign, a number too long, an error) has functions of its own.

#include "protocol/request_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "protocol/inline_request.h"

namespace iris::protocol {

namespace {

// Numbers of at most so many digits cannot overflow and are read without looking for it.
constexpr size_t kQuickDigits = 18;
// The quick path does not look at max_line_bytes, so the other one must not mind lines that the
// quick one takes: "$", 18 digits and some air.
constexpr uint64_t kMinLineLimitBytes = 32;

// "... expected '$', got 'x'" for every x that may be shown raw, so that an error needs no memory.
class UnexpectedTypeTexts {
 public:
  constexpr UnexpectedTypeTexts() {
    for (size_t i = 0; i < kCount; ++i) {
      for (size_t j = 0; j < kPattern.size(); ++j) texts_[i][j] = kPattern[j];
      texts_[i][kPattern.size() - 2] = static_cast<char>(kFirst + i);
    }
  }
  constexpr std::string_view of(char got) const {
    const bool printable = got >= kFirst && got <= kLast;
    const auto& text = texts_[static_cast<size_t>((printable ? got : '?') - kFirst)];
    return {text.data(), text.size()};
  }

 private:
  static constexpr std::string_view kPattern = "ERR Protocol error: expected '$', got '?'";
  static constexpr char kFirst = ' ';
  static constexpr char kLast = '~';
  static constexpr size_t kCount = kLast - kFirst + 1;

  std::array<std::array<char, kPattern.size()>, kCount> texts_{};
};
constexpr UnexpectedTypeTexts kUnexpectedTypeTexts;

// A decimal as Redis takes it in a length: an optional '-', no '+', no blank, no leading zero (so
// neither "-0"), nothing after it, within 64 bits.
bool parse_strict_integer(std::string_view text, int64_t& value) {
  if (text == "0") {
    value = 0;
    return true;
  }
  const size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() == sign || text[sign] < '1' || text[sign] > '9') return false;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc() && stop == end;
}

// Looks for `wanted` in the first bytes of a line, `scanned` of which are known not to hold it.
// A line of `limit` bytes still has its end found, in byte limit + 1.
const char* find_in_line(const char* line, size_t available, uint64_t limit, size_t scanned,
                         char wanted) {
  const size_t window = available > limit ? static_cast<size_t>(limit + 1) : available;
  if (scanned >= window) return nullptr;
  return static_cast<const char*>(std::memchr(line + scanned, wanted, window - scanned));
}

bool is_crlf(const char* at) {
  return std::memcmp(at, "\r\n", 2) == 0;
}

struct ShortLength {
  size_t value;
  const char* end;  // the byte after it; null: it is something else
};

// Reads "<digits> CRLF" of one or two digits, without a leading zero. Looks at four bytes at most.
inline ShortLength read_short_length(const char* at) {
  size_t value = static_cast<unsigned char>(*at++) - size_t{'0'};
  if (value > 9) return {0, nullptr};
  if (*at != '\r') {
    const size_t digit = static_cast<unsigned char>(*at++) - size_t{'0'};
    if (digit > 9 || value == 0) return {0, nullptr};
    value = value * 10 + digit;
  }
  return {value, is_crlf(at) ? at + 2 : nullptr};
}

}  // namespace

ParseStatus RequestParser::parse_any(char* data, size_t size, const RequestLimits& limits,
                                     Args& args, size_t& consumed) {
  consumed = 0;
  if (!error_.empty()) return ParseStatus::kError;
  const size_t first = args.size();
  while (consumed < size) {
    char* request = data + consumed;
    const size_t available = size - consumed;
    size_t used = 0;
    const ParseStatus status = *request == '*'
                                   ? parse_array(request, available, limits, args, used)
                                   : parse_inline(request, available, limits, args, used);
    if (status != ParseStatus::kRequest) return status;
    consumed += used;
    if (args.size() > first) return ParseStatus::kRequest;
  }
  return ParseStatus::kIncomplete;
}

size_t RequestParser::parse_short(const char* data, size_t size, const RequestLimits& limits,
                                  Args& args) {
  // "$0 CRLF CRLF" is the shortest bulk, and longer than any short length's line.
  constexpr ptrdiff_t kShortestBulk = 6;
  const char* const end = data + size;
  if (end - data < kShortestBulk || *data != '*') return 0;
  const ShortLength count = read_short_length(data + 1);
  if (count.end == nullptr || count.value == 0 || count.value > limits.max_args) return 0;
  if (!limits.authenticated && count.value > RequestLimits::kStrangerMaxArgs) return 0;
  const size_t first = args.size();
  const char* at = count.end;
  for (size_t wanted = count.value; wanted > 0; --wanted) {
    ShortLength bytes{0, nullptr};
    if (end - at >= kShortestBulk && *at == '$') bytes = read_short_length(at + 1);
    const char* const payload = bytes.end;
    if (payload == nullptr || bytes.value > limits.max_bulk_bytes ||
        end - payload < static_cast<ptrdiff_t>(bytes.value + 2) ||
        !is_crlf(payload + bytes.value)) {
      args.truncate(first);
      return 0;
    }
    args.push_back({payload, bytes.value});
    at = payload + bytes.value + 2;
  }
  return static_cast<size_t>(at - data);
}

ParseStatus RequestParser::parse_array(const char* data, size_t size, const RequestLimits& limits,
                                       Args& args, size_t& used) {
  if (wanted_ == 0) {
    const ParseStatus status = parse_count(data, size, limits);
    if (status != ParseStatus::kRequest) return status;
  }
  const size_t first = args.size();
  const bool from_the_first = position_ == bulks_begin_;
  const ParseStatus status = parse_bulks(data, size, limits, from_the_first ? &args : nullptr);
  if (status != ParseStatus::kRequest) {
    args.truncate(first);
    return status;
  }
  if (!from_the_first) read_checked_bulks(data, args);
  used = position_;
  bulks_begin_ = position_ = 0;
  return status;
}

// Reads "*<count> CRLF" into wanted_; 0 for an empty request.
ParseStatus RequestParser::parse_count(const char* data, size_t size, const RequestLimits& limits) {
  const Length length = read_length(data, size, 0, limits);
  switch (length.status) {
    case LengthStatus::kRead:
      break;
    case LengthStatus::kIncomplete:
      return ParseStatus::kIncomplete;
    case LengthStatus::kInvalid:
      return fail("ERR Protocol error: invalid multibulk length");
    case LengthStatus::kTooLong:
      return fail("ERR Protocol error: too big mbulk count string");
  }
  const uint64_t count = length.value > 0 ? static_cast<uint64_t>(length.value) : 0;
  if (count > limits.max_args) return fail("ERR Protocol error: invalid multibulk length");
  if (!limits.authenticated && count > RequestLimits::kStrangerMaxArgs) {
    return fail("ERR Protocol error: unauthenticated multibulk length");
  }
  wanted_ = count;
  bulks_begin_ = position_ = length.end;
  return ParseStatus::kRequest;
}

// Checks bulk strings from position_ on until none is wanted, and appends them to `args` if that is
// given. The members follow only when a bulk is complete, so on return they say where to go on.
ParseStatus RequestParser::parse_bulks(const char* data, size_t size, const RequestLimits& limits,
                                       Args* args) {
  for (; wanted_ > 0; --wanted_) {
    if (position_ >= size) return ParseStatus::kIncomplete;
    if (data[position_] != '$') return fail(kUnexpectedTypeTexts.of(data[position_]));
    const Length length = read_length(data, size, position_, limits);
    switch (length.status) {
      case LengthStatus::kRead:
        break;
      case LengthStatus::kIncomplete:
        return ParseStatus::kIncomplete;
      case LengthStatus::kInvalid:
        return fail("ERR Protocol error: invalid bulk length");
      case LengthStatus::kTooLong:
        return fail("ERR Protocol error: too big bulk count string");
    }
    const uint64_t bytes = static_cast<uint64_t>(length.value);
    if (length.value < 0 || bytes > limits.max_bulk_bytes) {
      return fail("ERR Protocol error: invalid bulk length");
    }
    if (!limits.authenticated && bytes > RequestLimits::kStrangerMaxBulkBytes) {
      return fail("ERR Protocol error: unauthenticated bulk length");
    }
    const size_t available = size - length.end;
    if (available < bytes || available - bytes < 2) return ParseStatus::kIncomplete;
    const char* payload = data + length.end;
    if (payload[bytes] != '\r' || payload[bytes + 1] != '\n') {
      return fail("ERR Protocol error: expected CRLF after a bulk string");
    }
    if (args != nullptr) args->push_back({payload, bytes});
    position_ = length.end + bytes + 2;
  }
  return ParseStatus::kRequest;
}

// Appends all bulk strings of a request that was checked up to position_.
void RequestParser::read_checked_bulks(const char* data, Args& args) const {
  const char* const end = data + position_;
  for (const char* at = data + bulks_begin_; at < end;) {
    size_t bytes = 0;
    for (++at; *at != '\r'; ++at) bytes = bytes * 10 + static_cast<size_t>(*at - '0');
    args.push_back({at + 2, bytes});
    at += 2 + bytes + 2;
  }
}

// Reads "<type><digits> CRLF" at data[line].
inline RequestParser::Length RequestParser::read_length(const char* data, size_t size, size_t line,
                                                        const RequestLimits& limits) {
  const size_t digits = line + 1;
  const size_t stop = std::min(size, digits + kQuickDigits);
  size_t at = digits;
  int64_t value = 0;
  for (; at < stop; ++at) {
    const unsigned digit = static_cast<unsigned char>(data[at]) - unsigned{'0'};
    if (digit > 9) break;
    value = value * 10 + digit;
  }
  const bool plain = at > digits && (data[digits] != '0' || at == digits + 1);
  if (plain && size - at >= 2 && data[at] == '\r' && data[at + 1] == '\n') [[likely]] {
    line_scanned_ = 0;
    return {LengthStatus::kRead, value, at + 2};
  }
  return read_unusual_length(data, size, line, limits);
}

// The line is cut, malformed, negative or very long.
RequestParser::Length RequestParser::read_unusual_length(const char* data, size_t size, size_t line,
                                                         const RequestLimits& limits) {
  const uint64_t limit = std::max(limits.max_line_bytes, kMinLineLimitBytes);
  const size_t available = size - line;
  const char* cr = find_in_line(data + line, available, limit, line_scanned_, '\r');
  if (cr == nullptr) {
    line_scanned_ = available;
    return {available > limit ? LengthStatus::kTooLong : LengthStatus::kIncomplete};
  }
  const size_t end = static_cast<size_t>(cr - data);
  line_scanned_ = end - line;
  if (end + 1 == size) return {LengthStatus::kIncomplete};
  line_scanned_ = 0;
  if (data[end + 1] != '\n') return {LengthStatus::kInvalid};
  int64_t value = 0;
  const std::string_view digits(data + line + 1, end - line - 1);
  if (!parse_strict_integer(digits, value)) return {LengthStatus::kInvalid};
  return {LengthStatus::kRead, value, end + 2};
}

ParseStatus RequestParser::parse_inline(char* data, size_t size, const RequestLimits& limits,
                                        Args& args, size_t& used) {
  const char* newline = find_in_line(data, size, limits.max_line_bytes, line_scanned_, '\n');
  if (newline == nullptr) {
    if (size > limits.max_line_bytes) return fail("ERR Protocol error: too big inline request");
    line_scanned_ = size;
    return ParseStatus::kIncomplete;
  }
  line_scanned_ = 0;
  const size_t line_bytes = static_cast<size_t>(newline - data);
  const size_t first = args.size();
  // A CR before the LF is a blank to the splitter.
  if (!split_inline_request(data, data + line_bytes, args)) {
    args.truncate(first);
    return fail("ERR Protocol error: unbalanced quotes in request");
  }
  used = line_bytes + 1;
  return ParseStatus::kRequest;
}

ParseStatus RequestParser::fail(std::string_view error) {
  error_ = error;
  return ParseStatus::kError;
}

}  // namespace iris::protocol
