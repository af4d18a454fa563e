// Glob patterns, as KEYS, SCAN MATCH and CONFIG GET know them:
//
//   *        any bytes, also none          [abc]    one of these bytes
//   ?        exactly one byte              [a-z]    one byte of the range, either end first
//   \x       the byte x itself             [^abc]   one byte that is none of these
//
// A class that is not closed ends with the pattern, `\` as the last byte is itself, and inside a
// class `\x` is x. Bytes are bytes: there is no notion of UTF-8.
//
// The work is bounded by pattern length times text length, whatever the pattern. Every element but
// `*` takes exactly one byte, so when a match fails after a star it is enough to let the *last*
// star take one byte more: whatever an earlier star could still reach, the last one reaches too.
// Trying them all by recursion is exponential, and was a way to stop a Redis with one KEYS.
#pragma once

#include <string_view>

namespace iris::server {

enum class GlobCase : bool { kSensitive, kInsensitive };

// True when `pattern` matches the whole of `text`. Letters of ASCII only are folded.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text,
                              GlobCase letters = GlobCase::kSensitive);

// True when `pattern` matches every text; KEYS * and SCAN MATCH * need not look at names at all.
[[nodiscard]] bool glob_matches_all(std::string_view pattern);

}  // namespace iris::server
