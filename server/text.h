// Text as Redis reads and writes it: strict numbers, printable quotes, case-blind comparison.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace iris::server {

// A whole decimal number and nothing else: no spaces, no '+', no leading zeros, no overflow.
std::optional<int64_t> parse_integer(std::string_view text);
// A finite or infinite number, all of the text; never NaN.
std::optional<double> parse_real(std::string_view text);

// Equality of names: short and mostly equal. A few loads of a fixed size, which may overlap, cover
// any length up to 16 without a call or a loop.
inline bool equal_names(std::string_view a, std::string_view b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  const auto same_ends = [&](size_t bytes) {
    return std::memcmp(a.data(), b.data(), bytes) == 0 &&
           std::memcmp(a.data() + size - bytes, b.data() + size - bytes, bytes) == 0;
  };
  if (size >= 8 && size <= 16) return same_ends(8);
  if (size >= 4 && size < 8) return same_ends(4);
  if (size > 0 && size < 4) return same_ends(1) && a[size / 2] == b[size / 2];
  return a == b;
}
bool equal_ignoring_case(std::string_view a, std::string_view b);
std::string lower_case(std::string_view text);

// "a\x00b\r\n": in double quotes with escapes, so that any bytes fit on a line.
std::string quoted(std::string_view bytes);
// 1536 -> "1.50K", as INFO shows sizes to people.
std::string human_bytes(uint64_t bytes);

// Compares two secrets in a time that does not tell where they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace iris::server
