#include "server/config_kinds.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>

#include "server/config_words.h"

namespace iris::server {
namespace {

// A default that BF.RESERVE would refuse is refused here already.
constexpr double kMinErrorRate = 1e-12;

struct Unit {
  std::string_view name;
  uint64_t bytes;
};
// From large to small, which is the order memory_to_text() tries them in.
constexpr std::array<Unit, 8> kUnits{{{"gb", 1ull << 30},
                                      {"mb", 1ull << 20},
                                      {"kb", 1ull << 10},
                                      {"g", 1'000'000'000},
                                      {"m", 1'000'000},
                                      {"k", 1'000},
                                      {"b", 1},
                                      {"", 1}}};

Problem expect_one(Words words) {
  if (words.size() == 1) return std::nullopt;
  return "wrong number of arguments: one value is expected";
}

template <typename T>
Problem out_of_bounds(T min, T max) {
  return "argument must be between " + std::to_string(min) + " and " + std::to_string(max) +
         " inclusive";
}

template <typename T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<uint64_t> memory_from_text(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = whole_number<uint64_t>(text.substr(0, digits));
  if (!number) return std::nullopt;
  const std::string name = lower_case(text.substr(digits));
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const Unit& known) { return known.name == name; });
  if (unit == kUnits.end() || *number > UINT64_MAX / unit->bytes) return std::nullopt;
  return *number * unit->bytes;
}

std::string memory_to_text(uint64_t bytes) {
  for (const Unit& unit : {kUnits[0], kUnits[1], kUnits[2]}) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0) {
      return std::to_string(bytes / unit.bytes) + std::string(unit.name);
    }
  }
  return std::to_string(bytes);
}

std::optional<int64_t> integer_from_text(std::string_view text) {
  return whole_number<int64_t>(text);
}

std::optional<double> number_from_text(std::string_view text) {
  const auto number = whole_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::string number_to_text(double number) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), result.ptr};
}

Problem parse_yes_no(Words words, bool& value) {
  if (Problem problem = expect_one(words)) return problem;
  const std::string word = lower_case(words[0]);
  if (word != "yes" && word != "no") return "argument must be 'yes' or 'no'";
  value = word == "yes";
  return std::nullopt;
}

Problem parse_integer(Words words, int64_t min, int64_t max, int64_t& value) {
  if (Problem problem = expect_one(words)) return problem;
  const auto number = integer_from_text(words[0]);
  if (!number) return "argument couldn't be parsed into an integer";
  if (*number < min || *number > max) return out_of_bounds(min, max);
  value = *number;
  return std::nullopt;
}

Problem parse_memory(Words words, uint64_t min, uint64_t max, uint64_t& value) {
  if (Problem problem = expect_one(words)) return problem;
  const auto bytes = memory_from_text(words[0]);
  if (!bytes) return "argument must be a memory value, such as 100mb or 1gb";
  if (*bytes < min || *bytes > max) return out_of_bounds(min, max);
  value = *bytes;
  return std::nullopt;
}

Problem parse_text(Words words, size_t min_bytes, size_t max_bytes, std::string& value) {
  if (Problem problem = expect_one(words)) return problem;
  if (words[0].size() < min_bytes) return "argument must not be empty";
  if (words[0].size() > max_bytes) {
    return "argument must not be longer than " + std::to_string(max_bytes) + " bytes";
  }
  // Most texts become paths, where the system would silently stop reading at a NUL.
  if (words[0].find('\0') != std::string::npos) return "argument must not contain a NUL byte";
  value = words[0];
  return std::nullopt;
}

Problem parse_choice(Words words, std::span<const std::string_view> names, size_t& value) {
  if (Problem problem = expect_one(words)) return problem;
  const auto found = std::find(names.begin(), names.end(), lower_case(words[0]));
  if (found != names.end()) {
    value = static_cast<size_t>(found - names.begin());
    return std::nullopt;
  }
  std::string reason = "argument(s) must be one of the following: ";
  for (const std::string_view name : names) {
    if (name != names.front()) reason += ", ";
    reason += name;
  }
  return reason;
}

Problem parse_filter_integer(std::string_view name, Words words, int64_t min, int64_t max,
                             int64_t& value) {
  if (Problem problem = expect_one(words)) return problem;
  const auto number = integer_from_text(words[0]);
  if (number && *number >= min && *number <= max) {
    value = *number;
    return std::nullopt;
  }
  return "Value for `" + std::string(name) + "` must be in the range [" + std::to_string(min) +
         ", " + std::to_string(max) + "]";
}

Problem parse_error_rate(std::string_view name, Words words, double& value) {
  if (Problem problem = expect_one(words)) return problem;
  const auto rate = number_from_text(words[0]);
  if (rate && *rate >= kMinErrorRate && *rate < 1) {
    value = *rate;
    return std::nullopt;
  }
  // Between 0 and the smallest rate the usual text would claim that the value is fine.
  const bool too_small = rate && *rate > 0 && *rate < kMinErrorRate;
  return "Value for `" + std::string(name) + "` must be in the range " +
         (too_small ? "[" + number_to_text(kMinErrorRate) : std::string("(0.000000")) +
         ", 1.000000)";
}

}  // namespace iris::server
