#include "protocol/reply_writer.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace iris::protocol {

namespace {

// A type byte, 20 characters of a 64-bit number with its sign, CR LF.
constexpr size_t kNumberLineBytes = 24;
// "-1.2345678901234567e-308" has 24.
constexpr size_t kDoubleBytes = 32;

// Renders "<type><value> CR LF" and returns the byte after it.
template <typename Integer>
char* put_number_line(char* to, char type, Integer value) {
  *to = type;
  char* end = std::to_chars(to + 1, to + kNumberLineBytes, value).ptr;
  *end++ = '\r';
  *end++ = '\n';
  return end;
}

char* put_bytes(char* to, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

char* put_crlf(char* to) {
  to[0] = '\r';
  to[1] = '\n';
  return to + 2;
}

// A double that is an integer is printed as one, up to a quarter of the int64 range: beyond it the
// conversion could overflow.
bool is_printed_as_integer(double value) {
  constexpr double kLargest = 0x1p62;
  return std::fabs(value) <= kLargest && value == std::trunc(value);
}

// to_chars rather than snprintf: no locale can turn the point into a comma.
std::string_view print_double(double value, char (&to)[kDoubleBytes]) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  const char* end = is_printed_as_integer(value)
                        ? std::to_chars(to, to + kDoubleBytes, static_cast<int64_t>(value)).ptr
                        : std::to_chars(to, to + kDoubleBytes, value).ptr;
  return {to, static_cast<size_t>(end - to)};
}

}  // namespace

void ReplyWriter::simple(std::string_view text) {
  line('+', text);
}

void ReplyWriter::error(std::string_view text) {
  line('-', text);
}

void ReplyWriter::long_integer(int64_t value) {
  char* start = out_.reserve(kNumberLineBytes);
  out_.commit(static_cast<size_t>(put_number_line(start, ':', value) - start));
}

void ReplyWriter::long_header(char type, uint64_t size) {
  char* start = out_.reserve(kNumberLineBytes);
  out_.commit(static_cast<size_t>(put_number_line(start, type, size) - start));
}

void ReplyWriter::booleans(std::string_view answers) {
  constexpr size_t kLineBytes = 4;
  const char* const yes = is_resp3() ? "#t\r\n" : ":1\r\n";
  const char* const no = is_resp3() ? "#f\r\n" : ":0\r\n";
  char* to = out_.reserve(answers.size() * kLineBytes);
  for (const char answer : answers) {
    std::memcpy(to, answer == '1' ? yes : no, kLineBytes);
    to += kLineBytes;
  }
  out_.commit(answers.size() * kLineBytes);
}

void ReplyWriter::bulk(std::string_view bytes) {
  char* start = out_.reserve(kNumberLineBytes + bytes.size() + 2);
  char* end = put_number_line(start, '$', bytes.size());
  end = put_crlf(put_bytes(end, bytes));
  out_.commit(static_cast<size_t>(end - start));
}

void ReplyWriter::real(double value) {
  char text[kDoubleBytes];
  const std::string_view printed = print_double(value, text);
  is_resp3() ? line(',', printed) : bulk(printed);
}

void ReplyWriter::big_number(std::string_view digits) {
  is_resp3() ? line('(', digits) : bulk(digits);
}

void ReplyWriter::verbatim(std::string_view format, std::string_view text) {
  if (!is_resp3()) return bulk(text);
  const size_t payload_bytes = format.size() + 1 + text.size();
  char* start = out_.reserve(kNumberLineBytes + payload_bytes + 2);
  char* end = put_number_line(start, '=', payload_bytes);
  end = put_bytes(end, format);
  *end++ = ':';
  end = put_crlf(put_bytes(end, text));
  out_.commit(static_cast<size_t>(end - start));
}

void ReplyWriter::line(char type, std::string_view text) {
  char* start = out_.reserve(1 + text.size() + 2);
  char* end = start;
  *end++ = type;
  // One store a byte without a branch, which compilers turn into vector code.
  for (const char c : text) *end++ = (c == '\r' || c == '\n' || c == '\0') ? ' ' : c;
  out_.commit(static_cast<size_t>(put_crlf(end) - start));
}

}  // namespace iris::protocol
