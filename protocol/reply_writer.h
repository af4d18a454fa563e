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
// Invariant: no byte of a client's gets into a line-based reply raw. simple() and error() replace
// CR, LF and NUL, so that nobody can forge a reply inside an error text.
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
  void integer(int64_t value);
  void bulk(std::string_view bytes);
  void null();
  void null_array();
  void array(uint64_t size) { header('*', size); }
  void map(uint64_t pairs);
  void set(uint64_t size);
  void push(uint64_t size);
  void boolean(bool value);
  void real(double value);
  void big_number(std::string_view digits);
  // `format` has three letters: "txt" or "mkd".
  void verbatim(std::string_view format, std::string_view text);
  // Bytes that are already rendered.
  void raw(std::string_view bytes) { out_.append(bytes); }

  Version version() const { return version_; }
  ReplyBuffer& buffer() { return out_; }

 private:
  void header(char type, uint64_t size);
  void line(char type, std::string_view text);

  ReplyBuffer& out_;
  Version version_;
};

}  // namespace iris::protocol
