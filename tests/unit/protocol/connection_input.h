// A connection's input as the server keeps it, for tests and fuzzing: pieces arrive, requests are
// cut out, the unfinished rest stays at offset 0.
//
// It is as unkind as the parser's contract allows: with every piece the bytes move to a new block
// of exactly their size, so that a sanitizer sees a view kept too long or a byte read too far, and
// `args` holds a guard that must stay first and alone whenever no request came out.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_parser.h"

namespace iris::protocol {

// What came out of an input: equal for equal bytes, however they were cut.
struct Transcript {
  std::vector<std::vector<std::string>> requests;
  std::string error;
  std::string pending;  // bytes of the unfinished request; nothing after an error

  bool operator==(const Transcript&) const = default;
};

class ConnectionInput {
 public:
  explicit ConnectionInput(const RequestLimits& limits = {}) : limits_(limits) {}

  void receive(std::string_view piece) {
    if (!transcript_.error.empty()) return;
    const size_t size = transcript_.pending.size() + piece.size();
    std::unique_ptr<char[]> block(new char[size]);
    transcript_.pending.copy(block.get(), std::string::npos);
    piece.copy(block.get() + transcript_.pending.size(), std::string_view::npos);
    transcript_.pending.clear();
    size_t start = 0;
    while (parse_one(block.get() + start, size - start, start)) {
    }
    if (transcript_.error.empty()) transcript_.pending.assign(block.get() + start, size - start);
  }

  const Transcript& transcript() const { return transcript_; }

 private:
  // False when more bytes are needed or an error ended it all.
  bool parse_one(char* data, size_t size, size_t& start) {
    Args args;
    args.push_back(kGuard);
    size_t consumed = 0;
    const ParseStatus status = parser_.parse(data, size, limits_, args, consumed);
    start += consumed;
    require(consumed <= size, "consumed what was not there");
    require(!args.empty() && args[0].data() == kGuard.data(),
            "an argument of the caller's was touched");
    if (status == ParseStatus::kRequest) {
      require(args.size() > 1, "a request without an argument");
      transcript_.requests.emplace_back(args.begin() + 1, args.end());
      return true;
    }
    require(args.size() == 1, "arguments of no request");
    if (status == ParseStatus::kError) transcript_.error = parser_.error();
    return false;
  }

  // Not a GoogleTest expectation: the fuzzer uses this too.
  static void require(bool condition, const char* broken) {
    if (condition) return;
    std::fprintf(stderr, "the parser broke its contract: %s\n", broken);
    std::abort();
  }

  static constexpr std::string_view kGuard = "guard";

  RequestLimits limits_;
  RequestParser parser_;
  Transcript transcript_;
};

inline Transcript parse_whole(std::string_view bytes, const RequestLimits& limits = {}) {
  ConnectionInput input(limits);
  input.receive(bytes);
  return input.transcript();
}

}  // namespace iris::protocol
