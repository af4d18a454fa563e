// The text of INFO as it grows: sections with a title, fields as lines.
//
//   # Server\r\n
//   redis_version:7.2.4\r\n
//   \r\n
//   # Clients\r\n
#pragma once

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace iris::server {

class InfoText {
 public:
  void section(std::string_view title) {
    if (!text_.empty()) text_ += "\r\n";
    text_.append("# ").append(title).append("\r\n");
  }
  void field(std::string_view name, std::string_view value) {
    text_.append(name).append(":").append(value).append("\r\n");
  }
  template <std::integral Number>
  void field(std::string_view name, Number value) {
    field(name, std::to_string(value));
  }
  void real(std::string_view name, double value, int decimals = 2, std::string_view unit = {}) {
    field(name, decimal(value, decimals) + std::string(unit));
  }

  std::string take() { return std::exchange(text_, {}); }

  static std::string decimal(double value, int decimals) {
    char digits[64];
    const int size = std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
    return size > 0 && static_cast<size_t>(size) < sizeof digits ? digits : "0";
  }

 private:
  std::string text_;
};

// What there is of `part` in each unit of `whole`; 0 when there is no whole.
inline double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace iris::server
