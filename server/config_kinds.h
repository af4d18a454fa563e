// The kinds of values that a directive can have: how each is read from words and printed.
//
// A kind is two functions bound to one member of Config, made by a template so that the table of
// directives stays a list of facts, checked by the compiler:
//
//   {"hz", integer<&Config::hz, 1, 500>, ...}
//
// The templates only move a value in and out of the member; what is allowed and how it is said is
// in plain functions below them. A reason never repeats the value, which may be a password.
// Kinds with a syntax of their own (bind, save ...) are in config_lists.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/config.h"

namespace iris::server {

// Why a value was refused, or nothing.
using Problem = std::optional<std::string>;
using Words = std::span<const std::string>;

enum class Shape : uint8_t {
  kWord,    // one word, whatever is in it
  kMemory,  // one word that is a number of bytes: written to files with a unit
  kList,    // any number of words; CONFIG SET gets them in one text, separated by spaces
};

struct DirectiveKind {
  Shape shape;
  // Leaves `config` alone when it returns a problem. `name` is the directive's.
  Problem (*parse)(std::string_view name, Words words, Config& config);
  // As CONFIG GET shows it; parse() takes it back.
  std::string (*print)(const Config& config);
};

// Sizes beyond this are refused, so that sums of a few of them cannot wrap.
inline constexpr uint64_t kMaxMemoryBytes = INT64_MAX;

// "64mb", "1k", "512": units b, k = 1000, kb = 1024, and so on with m and g; any case of letters.
[[nodiscard]] std::optional<uint64_t> memory_from_text(std::string_view text);
// The largest binary unit that leaves a whole number: 67108864 is "64mb".
[[nodiscard]] std::string memory_to_text(uint64_t bytes);
[[nodiscard]] std::optional<int64_t> integer_from_text(std::string_view text);
[[nodiscard]] std::optional<double> number_from_text(std::string_view text);
// The shortest text that reads back as the same number.
[[nodiscard]] std::string number_to_text(double number);

[[nodiscard]] Problem parse_yes_no(Words words, bool& value);
[[nodiscard]] Problem parse_integer(Words words, int64_t min, int64_t max, int64_t& value);
[[nodiscard]] Problem parse_memory(Words words, uint64_t min, uint64_t max, uint64_t& value);
[[nodiscard]] Problem parse_text(Words words, size_t min_bytes, size_t max_bytes,
                                 std::string& value);
[[nodiscard]] Problem parse_choice(Words words, std::span<const std::string_view> names,
                                   size_t& value);
// The filters' settings have texts of their own, which RedisBloom's users know.
[[nodiscard]] Problem parse_filter_integer(std::string_view name, Words words, int64_t min,
                                           int64_t max, int64_t& value);
[[nodiscard]] Problem parse_error_rate(std::string_view name, Words words, double& value);

// What `&Config::port` points at.
template <typename T>
T member_type(T Config::*);
template <auto kMember>
using MemberType = decltype(member_type(kMember));

template <auto kMember>
inline constexpr DirectiveKind yes_no{
    Shape::kWord,
    [](std::string_view, Words words, Config& config) {
      return parse_yes_no(words, config.*kMember);
    },
    [](const Config& config) { return std::string(config.*kMember ? "yes" : "no"); }};

template <auto kMember, int64_t kMin, int64_t kMax>
inline constexpr DirectiveKind integer{
    Shape::kWord,
    [](std::string_view, Words words, Config& config) {
      int64_t value = 0;
      Problem problem = parse_integer(words, kMin, kMax, value);
      if (!problem) config.*kMember = static_cast<MemberType<kMember>>(value);
      return problem;
    },
    [](const Config& config) { return std::to_string(config.*kMember); }};

template <auto kMember, uint64_t kMin, uint64_t kMax = kMaxMemoryBytes>
inline constexpr DirectiveKind memory{
    Shape::kMemory,
    [](std::string_view, Words words, Config& config) {
      return parse_memory(words, kMin, kMax, config.*kMember);
    },
    [](const Config& config) { return std::to_string(config.*kMember); }};

template <auto kMember, size_t kMinBytes, size_t kMaxBytes>
inline constexpr DirectiveKind text{Shape::kWord,
                                    [](std::string_view, Words words, Config& config) {
                                      return parse_text(words, kMinBytes, kMaxBytes,
                                                        config.*kMember);
                                    },
                                    [](const Config& config) { return config.*kMember; }};

// kNames are in the order of the enumeration's values.
template <auto kMember, const auto& kNames>
inline constexpr DirectiveKind choice{
    Shape::kWord,
    [](std::string_view, Words words, Config& config) {
      size_t value = 0;
      Problem problem = parse_choice(words, kNames, value);
      if (!problem) config.*kMember = static_cast<MemberType<kMember>>(value);
      return problem;
    },
    [](const Config& config) { return std::string(kNames[static_cast<size_t>(config.*kMember)]); }};

template <auto kMember, int64_t kMin, int64_t kMax>
inline constexpr DirectiveKind filter_integer{
    Shape::kWord,
    [](std::string_view name, Words words, Config& config) {
      int64_t value = 0;
      Problem problem = parse_filter_integer(name, words, kMin, kMax, value);
      if (!problem) config.*kMember = static_cast<MemberType<kMember>>(value);
      return problem;
    },
    [](const Config& config) { return std::to_string(config.*kMember); }};

template <auto kMember>
inline constexpr DirectiveKind error_rate{
    Shape::kWord,
    [](std::string_view name, Words words, Config& config) {
      return parse_error_rate(name, words, config.*kMember);
    },
    [](const Config& config) { return number_to_text(config.*kMember); }};

}  // namespace iris::server
