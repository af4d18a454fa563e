#include "protocol/inline_request.h"

namespace iris::protocol {

namespace {

// Not isspace(), which asks the locale.
bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// 0-15, or -1 when `c` is no hexadecimal digit.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// Reads one argument from `in` and writes it to `out`. Invariant: out <= in, because no escape is
// shorter than the byte it stands for.
struct ArgumentReader {
  char* in;
  char* end;
  char* out;

  bool read() {
    while (in < end && !is_blank(*in)) {
      const char c = *in++;
      if (c == '"') return read_double_quoted();
      if (c == '\'') return read_single_quoted();
      *out++ = c;
    }
    return true;
  }

  bool read_double_quoted() {
    while (in < end) {
      const char c = *in++;
      if (c == '"') return at_boundary();
      if (c != '\\' || in == end) {
        *out++ = c;
      } else if (!read_hex_escape()) {
        *out++ = unescaped(*in++);
      }
    }
    return false;
  }

  bool read_single_quoted() {
    while (in < end) {
      const char c = *in++;
      if (c == '\'') return at_boundary();
      const bool escaped_quote = c == '\\' && in < end && *in == '\'';
      *out++ = escaped_quote ? *in++ : c;
    }
    return false;
  }

  // The xHH after a backslash.
  bool read_hex_escape() {
    if (end - in < 3 || in[0] != 'x') return false;
    const int high = hex_value(in[1]);
    const int low = hex_value(in[2]);
    if (high < 0 || low < 0) return false;
    *out++ = static_cast<char>(high * 16 + low);
    in += 3;
    return true;
  }

  bool at_boundary() const { return in == end || is_blank(*in); }
};

}  // namespace

bool split_inline_request(char* begin, char* end, Args& args) {
  char* in = begin;
  while (true) {
    while (in < end && is_blank(*in)) ++in;
    if (in == end) return true;
    ArgumentReader reader{in, end, in};
    if (!reader.read()) return false;
    args.push_back({in, static_cast<size_t>(reader.out - in)});
    in = reader.in;
  }
}

}  // namespace iris::protocol
