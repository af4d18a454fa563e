#include "server/glob.h"

#include <algorithm>
#include <cstddef>

namespace iris::server {
namespace {

unsigned char folded(char c, GlobCase letters) {
  const bool fold = letters == GlobCase::kInsensitive && c >= 'A' && c <= 'Z';
  return static_cast<unsigned char>(fold ? c - 'A' + 'a' : c);
}

// One element of a pattern, held against one byte.
struct Step {
  bool matches;
  size_t next;  // where the following element begins
};

// `at` is the byte after '['.
Step match_class(std::string_view pattern, size_t at, unsigned char byte, GlobCase letters) {
  const bool negated = at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;
  bool found = false;
  while (at < pattern.size() && pattern[at] != ']') {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) {
      found |= folded(pattern[at + 1], letters) == byte;
      at += 2;
    } else if (at + 2 < pattern.size() && pattern[at + 1] == '-') {
      const auto [low, high] =
          std::minmax({folded(pattern[at], letters), folded(pattern[at + 2], letters)});
      found |= low <= byte && byte <= high;
      at += 3;
    } else {
      found |= folded(pattern[at], letters) == byte;
      at += 1;
    }
  }
  const size_t next = std::min(at + 1, pattern.size());
  return {found != negated, next};
}

// Any element but a star.
Step match_one(std::string_view pattern, size_t at, unsigned char byte, GlobCase letters) {
  switch (pattern[at]) {
    case '?':
      return {true, at + 1};
    case '[':
      return match_class(pattern, at + 1, byte, letters);
    case '\\':
      if (at + 1 < pattern.size()) ++at;
      break;
    default:
      break;
  }
  return {folded(pattern[at], letters) == byte, at + 1};
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text, GlobCase letters) {
  constexpr size_t kNoStar = static_cast<size_t>(-1);
  size_t p = 0;
  size_t t = 0;
  size_t after_star = kNoStar;  // the element behind the last star passed
  size_t star_end = 0;          // where in the text the bytes that it took end

  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_end = t;
      continue;
    }
    if (after_star == pattern.size()) return true;  // a star at the end takes all that is left
    if (p < pattern.size()) {
      const Step step = match_one(pattern, p, folded(text[t], letters), letters);
      if (step.matches) {
        p = step.next;
        ++t;
        continue;
      }
    }
    if (after_star == kNoStar) return false;
    p = after_star;
    t = ++star_end;
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool glob_matches_all(std::string_view pattern) {
  return !pattern.empty() && pattern.find_first_not_of('*') == std::string_view::npos;
}

}  // namespace iris::server
