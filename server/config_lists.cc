#include "server/config_lists.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <utility>
#include <vector>

#include "server/config_words.h"

namespace iris::server {
namespace {

// Limits, so that a mistake in a generated file is an error and not a slow server.
constexpr size_t kMaxBindAddresses = 16;
constexpr size_t kMaxSaveRules = 64;
constexpr size_t kMaxPercentiles = 32;
constexpr int64_t kMaxThreads = 64;
constexpr uint32_t kMaxMode = 0777;
// Of host names, IPv4, IPv6 with its zone, and the marks '*' and '-'.
constexpr std::string_view kAddressBytes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:%_*-";

// How an empty list is written: one empty word, since a directive without any is an error.
bool is_empty_list(Words words) {
  return words.size() == 1 && words[0].empty();
}

void append_word(std::string& text, std::string_view word) {
  if (!text.empty()) text += ' ';
  text += word;
}

Problem parse_bind(std::string_view, Words words, Config& config) {
  if (words.empty()) return "wrong number of arguments: at least one address is expected";
  if (words.size() > kMaxBindAddresses) {
    return "at most " + std::to_string(kMaxBindAddresses) + " addresses are allowed";
  }
  std::vector<std::string> addresses;
  if (!is_empty_list(words)) addresses.assign(words.begin(), words.end());
  for (const std::string& address : addresses) {
    const bool odd = address.empty() || address == "-" ||
                     address.find_first_not_of(kAddressBytes) != std::string::npos;
    if (odd) return "each argument must be an address, '*' or an address after '-'";
  }
  config.bind = std::move(addresses);
  return std::nullopt;
}

std::string print_bind(const Config& config) {
  std::string out;
  for (const std::string& address : config.bind) append_word(out, address);
  return out;
}

// By ClientClass. CONFIG GET says "slave", the name that tools written for Redis look for.
constexpr std::array<std::string_view, kClientClasses> kClassNames{"normal", "slave", "pubsub"};

std::optional<size_t> class_from_text(std::string_view text) {
  const std::string name = lower_case(text);
  for (size_t i = 0; i < kClassNames.size(); ++i) {
    if (name == kClassNames[i]) return i;
  }
  if (name == "replica") return static_cast<size_t>(ClientClass::kReplica);
  return std::nullopt;
}

// Classes that are not named keep their limits, so one line can say one class.
Problem parse_output_limits(std::string_view, Words words, Config& config) {
  constexpr size_t kWordsAClass = 4;
  if (words.empty() || words.size() % kWordsAClass != 0) {
    return "wrong number of arguments: <class> <hard> <soft> <soft seconds> are expected";
  }
  auto limits = config.client_output_buffer_limit;
  for (size_t i = 0; i < words.size(); i += kWordsAClass) {
    const auto index = class_from_text(words[i]);
    if (!index) return "the client class must be one of the following: normal, replica, pubsub";
    OutputBufferLimit& limit = limits[*index];
    int64_t seconds = 0;
    Problem problem = parse_memory(words.subspan(i + 1, 1), 0, kMaxMemoryBytes, limit.hard_bytes);
    if (!problem) {
      problem = parse_memory(words.subspan(i + 2, 1), 0, kMaxMemoryBytes, limit.soft_bytes);
    }
    if (!problem) problem = parse_integer(words.subspan(i + 3, 1), 0, INT32_MAX, seconds);
    if (problem) return problem;
    limit.soft_s = static_cast<uint32_t>(seconds);
  }
  config.client_output_buffer_limit = limits;
  return std::nullopt;
}

std::string print_output_limits(const Config& config) {
  std::string out;
  for (size_t i = 0; i < kClassNames.size(); ++i) {
    const OutputBufferLimit& limit = config.client_output_buffer_limit[i];
    append_word(out, kClassNames[i]);
    append_word(out, std::to_string(limit.hard_bytes));
    append_word(out, std::to_string(limit.soft_bytes));
    append_word(out, std::to_string(limit.soft_s));
  }
  return out;
}

Problem parse_percentiles(std::string_view, Words words, Config& config) {
  if (words.empty()) return "wrong number of arguments: at least one value is expected";
  if (words.size() > kMaxPercentiles) {
    return "at most " + std::to_string(kMaxPercentiles) + " percentiles are allowed";
  }
  std::vector<double> percentiles;
  if (!is_empty_list(words)) {
    for (const std::string& word : words) {
      const auto number = number_from_text(word);
      if (!number || *number < 0 || *number > 100) {
        return "each argument must be a number between 0 and 100";
      }
      percentiles.push_back(*number);
    }
  }
  config.latency_tracking_info_percentiles = std::move(percentiles);
  return std::nullopt;
}

std::string print_percentiles(const Config& config) {
  std::string out;
  for (const double percentile : config.latency_tracking_info_percentiles) {
    append_word(out, number_to_text(percentile));
  }
  return out;
}

// The words are all the rules there shall be. That several lines of a file add up is the reader's
// business (config_file.cc), because CONFIG SET replaces.
Problem parse_save(std::string_view, Words words, Config& config) {
  std::vector<SaveRule> rules;
  if (!is_empty_list(words)) {
    if (words.empty() || words.size() % 2 != 0) {
      return "Invalid save parameters: pairs of <seconds> <changes>, or \"\", are expected";
    }
    if (words.size() / 2 > kMaxSaveRules) {
      return "at most " + std::to_string(kMaxSaveRules) + " save rules are allowed";
    }
    for (size_t i = 0; i < words.size(); i += 2) {
      const auto seconds = integer_from_text(words[i]);
      const auto changes = integer_from_text(words[i + 1]);
      if (!seconds || *seconds < 1 || *seconds > INT32_MAX || !changes || *changes < 0) {
        return "Invalid save parameters: seconds must be at least 1 and changes at least 0";
      }
      rules.push_back({static_cast<uint32_t>(*seconds), static_cast<uint64_t>(*changes)});
    }
  }
  config.save = std::move(rules);
  return std::nullopt;
}

std::string print_save(const Config& config) {
  std::string out;
  for (const SaveRule& rule : config.save) {
    append_word(out, std::to_string(rule.seconds));
    append_word(out, std::to_string(rule.changes));
  }
  return out;
}

Problem parse_threads(std::string_view, Words words, Config& config) {
  int64_t threads = 0;
  const bool automatic = words.size() == 1 && lower_case(words[0]) == "auto";
  if (!automatic && parse_integer(words, 1, kMaxThreads, threads)) {
    return "argument must be 'auto' or between 1 and " + std::to_string(kMaxThreads) + " inclusive";
  }
  config.threads = static_cast<uint32_t>(threads);
  return std::nullopt;
}

std::string print_threads(const Config& config) {
  return config.threads == 0 ? "auto" : std::to_string(config.threads);
}

Problem parse_mode(std::string_view, Words words, Config& config) {
  uint32_t mode = 0;
  const std::string word = words.size() == 1 ? words[0] : std::string();
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), mode, 8);
  if (error != std::errc{} || end != word.data() + word.size()) {
    return "argument couldn't be parsed as an octal number";
  }
  if (mode > kMaxMode) return "argument must be between 0 and 777 inclusive";
  config.unixsocketperm = mode;
  return std::nullopt;
}

std::string print_mode(const Config& config) {
  std::array<char, 16> buffer{};
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), config.unixsocketperm, 8);
  return {buffer.data(), result.ptr};
}

}  // namespace

const DirectiveKind kBindKind{Shape::kList, parse_bind, print_bind};
const DirectiveKind kClientOutputBufferLimitKind{Shape::kList, parse_output_limits,
                                                 print_output_limits};
const DirectiveKind kPercentilesKind{Shape::kList, parse_percentiles, print_percentiles};
const DirectiveKind kSaveKind{Shape::kList, parse_save, print_save};
const DirectiveKind kThreadsKind{Shape::kWord, parse_threads, print_threads};
const DirectiveKind kUnixSocketPermKind{Shape::kWord, parse_mode, print_mode};

}  // namespace iris::server
