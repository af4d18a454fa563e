// Renders replies in RESP2 or RESP3. A handler says what it means (a map, a boolean, a double) and
// the writer renders what the connection's protocol has for it:
//
//   call        RESP3               RESP2
//   null        _                   $-1
//   null_array  _                   *-1
//   map(n)      %n                  *2n
//   set(n)      ~n                  *n
//   push(n)     >n                  *n
//   boolean     #t / #f             :1 / :0
//   real        ,3.25               $4 3.25
//   big_number  (123                $3 123
//   verbatim    =7 txt:abc          $3 abc
//
// Aggregates are written as a header followed by their elements.
//
// Invariant: no byte of a client's gets into a line-based reply raw. simple(), error() and
// big_number() replace CR, LF and NUL by a space, so that nobody can forge a reply inside an error
// text. Everything else carries its length, and may carry any byte.
//
// What a filter answers all day (:1, #f, the header of a short array) is inline: one reservation
// and one store of a size the compiler knows.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/reply_buffer.h"

namespace iris::protocol {

enum class Version : uint8_t { kResp2 = 2, kResp3 = 3 };

class ReplyWriter {
 public:
  ReplyWriter(ReplyBuffer& out, Version version) : out_(out), version_(version) {}

  void simple(std::string_view text);
  void ok() { raw("+OK\r\n"); }
  // `text` starts with its code: "ERR syntax error". No leading '-'.
  void error(std::string_view text);
  void integer(int64_t value) {
    if (value >= 0 && value < 10) return digit_line(':', static_cast<char>('0' + value));
    long_integer(value);
  }
  void bulk(std::string_view bytes);
  void null() { is_resp3() ? raw("_\r\n") : raw("$-1\r\n"); }
  void null_array() { is_resp3() ? raw("_\r\n") : raw("*-1\r\n"); }
  void array(uint64_t size) { header('*', size); }
  void map(uint64_t pairs) { is_resp3() ? header('%', pairs) : header('*', pairs * 2); }
  void set(uint64_t size) { header(is_resp3() ? '~' : '*', size); }
  void push(uint64_t size) { header(is_resp3() ? '>' : '*', size); }
  void boolean(bool value) {
    // Computed: what a filter answers is a coin toss, which a branch would lose every other time.
    if (is_resp3()) return digit_line('#', static_cast<char>('f' + value * ('t' - 'f')));
    digit_line(':', static_cast<char>('0' + value));
  }
  // One for each character, which is '1' or '0'.
  void booleans(std::string_view answers);
  // Integers without an exponent, the rest as the shortest text that reads back equal; inf, -inf,
  // nan.
  void real(double value);
  void big_number(std::string_view digits);
  // `format` has three letters ("txt" or "mkd"); RESP2 has no place for it.
  void verbatim(std::string_view format, std::string_view text);
  // Bytes that are already rendered.
  void raw(std::string_view bytes) { out_.append(bytes); }

  Version version() const { return version_; }
  ReplyBuffer& buffer() { return out_; }

 private:
  bool is_resp3() const { return version_ == Version::kResp3; }

  // A whole reply of one character.
  void digit_line(char type, char digit) {
    char* to = out_.reserve(4);
    to[0] = type;
    to[1] = digit;
    to[2] = '\r';
    to[3] = '\n';
    out_.commit(4);
  }
  void header(char type, uint64_t size) {
    if (size < 10) return digit_line(type, static_cast<char>('0' + size));
    long_header(type, size);
  }
  void long_header(char type, uint64_t size);
  void long_integer(int64_t value);
  void line(char type, std::string_view text);

  ReplyBuffer& out_;
  Version version_;
};

}  // namespace iris::protocol
