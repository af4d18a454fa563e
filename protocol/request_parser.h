// Cuts requests out of a connection's input, in place: arguments are views into the input buffer
// and nothing is allocated because of an announced length.
//
//   *2 CRLF $4 CRLF PING CRLF $5 CRLF hello CRLF      a RESP array of bulk strings
//   PING "hello world" LF                             an inline command, as typed in telnet
//
// A request may arrive in pieces, cut at any byte. The parser remembers how far it came, so a huge
// request is checked in one pass over its bytes however it was cut, and then, its lengths being
// known to be right, gone through once more for its arguments. To keep those from piece to piece
// instead would take 16 bytes each, more than many an item has, and no less time.
//
//   *3 CRLF $3 CRLF SET CRLF $3 CRLF key CRLF $100 CRLF half of the val|
//           ^                                 ^
//           bulks_begin_                      position_, and wanted_ = 1
//
// A header is re-read when its payload was cut (at most 22 bytes a call); a line whose end has not
// come is searched from line_scanned_ on.
//
// Nearly every request is short and whole. Such a one is first tried in a single pass that keeps
// nothing but a pointer; if it meets anything else, it gives up without a trace and the resumable
// parser begins anew. That happens once a request at most, and costs 10 KB of reading at worst.
//
// Invariants:
//  1. How the input was cut changes neither the requests nor the error: every decision depends only
//     on bytes up to the one that decides.
//  2. The parser owns no heap memory: all that it needs is room in `args`, which grows with the
//     bytes received, never with a length announced.
//  3. An error is final: parse() repeats it, so that no byte after a broken request is executed.
//
// Contract: while a request is unfinished, its first byte stays at offset 0 of what parse() is
// given; the caller may move the bytes between calls. Inline arguments are unescaped in place (they
// only get shorter), which is why the input is not const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/args.h"

namespace iris::protocol {

struct RequestLimits {
  uint64_t max_bulk_bytes = 512ull << 20;
  uint64_t max_args = (1ull << 31) - 1;
  // A line that announces a length, or a whole inline request, without its end. A length's line
  // may always have 32 bytes.
  uint64_t max_line_bytes = 64 << 10;
  // Before authentication a stranger gets less, with error texts of their own.
  bool authenticated = true;

  static constexpr uint64_t kStrangerMaxArgs = 10;
  static constexpr uint64_t kStrangerMaxBulkBytes = 16 << 10;
};

enum class ParseStatus : uint8_t { kRequest, kIncomplete, kError };

class RequestParser {
 public:
  // Parses one request at data[0, size). kRequest: its arguments (at least one) were appended to
  // `args` and `consumed` says how many bytes it took. kIncomplete: `args` is as before; the first
  // `consumed` bytes (empty requests) are done with. kError: error() is the text to send before
  // closing.
  ParseStatus parse(char* data, size_t size, const RequestLimits& limits, Args& args,
                    size_t& consumed) {
    if (wanted_ == 0 && error_.empty()) {
      consumed = parse_short(data, size, limits, args);
      if (consumed > 0) {
        line_scanned_ = 0;  // the count's line may have been cut before
        return ParseStatus::kRequest;
      }
    }
    return parse_any(data, size, limits, args, consumed);
  }

  // "ERR Protocol error: ..."; no raw byte of the client's that could end a line is in it.
  std::string_view error() const { return error_; }

 private:
  enum class LengthStatus : uint8_t { kRead, kIncomplete, kInvalid, kTooLong };
  // A "$5 CRLF" or "*2 CRLF", and where the byte after it is. Returned by value: behind a pointer
  // it would go through memory, and where it ends is what the next step waits for.
  struct Length {
    LengthStatus status;
    int64_t value = 0;
    size_t end = 0;
  };

  // The single pass: the bytes of the request, or 0 if it is not short, not whole or not plain.
  static size_t parse_short(const char* data, size_t size, const RequestLimits& limits, Args& args);
  ParseStatus parse_any(char* data, size_t size, const RequestLimits& limits, Args& args,
                        size_t& consumed);

  // These see one request: data[0] is its first byte. An empty one is "used" without an argument.
  ParseStatus parse_array(const char* data, size_t size, const RequestLimits& limits, Args& args,
                          size_t& used);
  ParseStatus parse_inline(char* data, size_t size, const RequestLimits& limits, Args& args,
                           size_t& used);
  ParseStatus parse_count(const char* data, size_t size, const RequestLimits& limits);
  ParseStatus parse_bulks(const char* data, size_t size, const RequestLimits& limits, Args* args);
  void read_checked_bulks(const char* data, Args& args) const;

  Length read_length(const char* data, size_t size, size_t line, const RequestLimits& limits);
  Length read_unusual_length(const char* data, size_t size, size_t line,
                             const RequestLimits& limits);
  ParseStatus fail(std::string_view error);

  size_t bulks_begin_ = 0;   // after the line with their number
  size_t position_ = 0;      // of the line to read next
  size_t line_scanned_ = 0;  // so many bytes of that line hold no end of line
  uint64_t wanted_ = 0;      // arguments to come; 0 when not inside an array
  std::string_view error_;   // has static lifetime
};

}  // namespace iris::protocol
