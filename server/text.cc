#include "server/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace iris::server {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = text.substr(!text.empty() && text.front() == '-' ? 1 : 0);
  if (digits.empty() || (digits.front() == '0' && text.size() > 1)) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  // Too small or too large for a double: as strtod does, the nearest that there is.
  if (error == std::errc::result_out_of_range) {
    const bool tiny = text.find("e-") != text.npos || text.find("E-") != text.npos;
    return tiny ? 0.0 : (text.front() == '-' ? -HUGE_VAL : HUGE_VAL);
  }
  if (error != std::errc() || std::isnan(value)) return std::nullopt;
  return value;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

std::string quoted(std::string_view bytes) {
  std::string result = "\"";
  for (const char c : bytes) {
    switch (c) {
      case '\\':
      case '"':
        result += '\\';
        result += c;
        break;
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\t':
        result += "\\t";
        break;
      case '\a':
        result += "\\a";
        break;
      case '\b':
        result += "\\b";
        break;
      default:
        if (c >= ' ' && c <= '~') {
          result += c;
        } else {
          char escape[8];
          std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
          result += escape;
        }
    }
  }
  return result + "\"";
}

std::string human_bytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + "B";
  double value = static_cast<double>(bytes);
  const char* unit = "KMGTPE";
  for (value /= 1024; value >= 1024 && unit[1] != '\0'; value /= 1024) unit++;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%c", value, *unit);
  return text;
}

bool equal_secrets(std::string_view a, std::string_view b) {
  // Walks over the longer one whatever happens.
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::max(a.size(), b.size()); i++) {
    const char x = i < a.size() ? a[i] : '\0';
    const char y = i < b.size() ? b[i] : '\0';
    difference |= static_cast<unsigned>(static_cast<unsigned char>(x ^ y));
  }
  return difference == 0;
}

}  // namespace iris::server
