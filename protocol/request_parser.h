// Cuts requests out of a connection's input, in place: arguments are views into the input buffer
// and nothing is allocated because of an announced length.
//
//   *2 CRLF $4 CRLF PING CRLF $5 CRLF hello CRLF      a RESP array of bulk strings
//   PING "hello world" LF                             an inline command, as typed in telnet
//
// A request may arrive in pieces, cut at any byte. The parser remembers how far it came, so a huge
// request costs one pass over its bytes however it was cut.
//
// Contract: while a request is unfinished, its first byte stays at offset 0 of what parse() is
// given; the caller may move the bytes between calls. Inline arguments are unescaped in place (they
// only get shorter), which is why the input is not const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace iris::protocol {

struct RequestLimits {
  uint64_t max_bulk_bytes = 512ull << 20;
  uint64_t max_args = (1ull << 31) - 1;
  // A line that announces a length, or a whole inline request.
  uint64_t max_line_bytes = 64 << 10;
  // Before authentication a stranger gets less, with error texts of their own.
  bool authenticated = true;
};

enum class ParseStatus : uint8_t { kRequest, kIncomplete, kError };

class RequestParser {
 public:
  // Parses one request at data[0, size). kRequest: its arguments (at least one) were appended to
  // `args` and `consumed` says how many bytes it took. kIncomplete: `args` is as before; the first
  // `consumed` bytes (empty requests) are done with. kError: error() is the text to send before
  // closing.
  ParseStatus parse(char* data, size_t size, const RequestLimits& limits,
                    std::vector<std::string_view>& args, size_t& consumed);

  // "ERR Protocol error: ..."; no raw byte of the client's that could end a line is in it.
  std::string_view error() const;

  // Arguments of the unfinished request seen so far; for CLIENT LIST and memory accounting.
  size_t memory_bytes() const;
};

}  // namespace iris::protocol
