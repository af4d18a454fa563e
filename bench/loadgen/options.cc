#include "bench/loadgen/options.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <sstream>
#include <utility>

#include "bench/loadgen/item_bytes.h"

namespace iris::loadgen {

namespace {

constexpr uint64_t kMaxConnections = 10'000;
constexpr uint64_t kMaxPipeline = 10'000;
constexpr uint64_t kMaxThreads = 64;
constexpr double kMaxSeconds = 3600;
constexpr uint64_t kMaxRequests = 1'000'000'000'000;
constexpr double kMaxRate = 100e6;
constexpr uint64_t kMaxItems = 1'000'000'000'000'000;
constexpr uint64_t kMaxItemBytes = 1 << 20;
constexpr uint64_t kMaxKeys = 1'000'000'000;
// The requests of one pipeline are rendered ahead, for each thread.
constexpr uint64_t kMaxBatchBytes = 256 << 20;
// Zipf's sums are of doubles, and beyond this nearly all draws are the first item.
constexpr double kMaxExponent = 10;

// Takes a value into the options; the result says what is allowed instead, empty: it is fine.
using Setter = std::function<std::string(Options&, const std::string&)>;

struct Option {
  std::string name;
  std::string value;  // its name in the help; empty: it takes none
  std::string help;
  Setter set;
};

template <typename Number>
std::optional<Number> to_number(const std::string& text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The member is found through the nested parts of Options, hence a function.
Setter whole(const std::function<uint64_t&(Options&)>& member, uint64_t least, uint64_t most) {
  return [=](Options& options, const std::string& text) -> std::string {
    const auto number = to_number<uint64_t>(text);
    if (!number || *number < least || *number > most) {
      return "a whole number, " + std::to_string(least) + " to " + std::to_string(most);
    }
    member(options) = *number;
    return "";
  };
}

Setter positive(const std::function<double&(Options&)>& member, double most) {
  return [=](Options& options, const std::string& text) -> std::string {
    const auto number = to_number<double>(text);
    if (!number || !(*number > 0 && *number <= most)) {
      std::ostringstream allowed;
      allowed << "a number above 0, at most " << most;
      return allowed.str();
    }
    member(options) = *number;
    return "";
  };
}

std::string set_expect(Options& options, const std::string& text) {
  static const std::vector<std::pair<std::string, ReplyKind>> kKinds = {
      {"integer", ReplyKind::kInteger},
      {"simple", ReplyKind::kSimple},
      {"bulk", ReplyKind::kBulk},
      {"array", ReplyKind::kArray},
      {"any-but-error", ReplyKind::kAnyButError}};
  for (const auto& [name, kind] : kKinds) {
    if (text != name) continue;
    options.expect = kind;
    return "";
  }
  return "integer, simple, bulk, array or any-but-error";
}

std::string set_zipf(Options& options, const std::string& text) {
  options.items.order = ItemOrder::kZipf;
  return positive([](Options& o) -> double& { return o.items.exponent; }, kMaxExponent)(options,
                                                                                        text);
}

std::string set_host(Options& options, const std::string& text) {
  in6_addr address;  // also large enough for the other kind
  if (inet_pton(AF_INET, text.c_str(), &address) != 1 &&
      inet_pton(AF_INET6, text.c_str(), &address) != 1) {
    return "a numeric address, such as 127.0.0.1 or ::1";
  }
  options.host = text;
  return "";
}

std::string set_pid(Options& options, const std::string& text) {
  uint64_t pid = 0;
  std::string allowed =
      whole([&](Options&) -> uint64_t& { return pid; }, 1, 1 << 30)(options, text);
  options.pid = static_cast<pid_t>(pid);
  return allowed;
}

Setter text_of(const std::function<std::string&(Options&)>& member) {
  return [=](Options& options, const std::string& text) -> std::string {
    if (text.empty()) return "not empty";
    member(options) = text;
    return "";
  };
}

Setter flag(const std::function<void(Options&)>& raise) {
  return [=](Options& options, const std::string&) -> std::string {
    raise(options);
    return "";
  };
}

std::vector<Option> where_options() {
  return {
      {"--host", "ADDRESS", "numeric address of the server (127.0.0.1)", set_host},
      {"--port", "N", "its port (6379)",
       whole([](Options& o) -> uint64_t& { return o.port; }, 1, 65535)},
      {"--socket", "PATH", "its Unix socket, instead of host and port",
       text_of([](Options& o) -> std::string& { return o.unix_socket; })},
  };
}

std::vector<Option> load_options() {
  return {
      {"--connections", "N", "in all (50)",
       whole([](Options& o) -> uint64_t& { return o.connections; }, 1, kMaxConnections)},
      {"--pipeline", "N", "requests that a connection sends at once (1)",
       whole([](Options& o) -> uint64_t& { return o.pipeline; }, 1, kMaxPipeline)},
      {"--threads", "N", "that share the connections (1)",
       whole([](Options& o) -> uint64_t& { return o.threads; }, 1, kMaxThreads)},
      {"--seconds", "S", "how long to send (3)",
       positive([](Options& o) -> double& { return o.seconds; }, kMaxSeconds)},
      {"--requests", "N", "how many to send, instead of --seconds",
       whole([](Options& o) -> uint64_t& { return o.requests; }, 1, kMaxRequests)},
      {"--rate", "N", "requests a second in all, sent when due, answered or not",
       positive([](Options& o) -> double& { return o.rate; }, kMaxRate)},
  };
}

std::vector<Option> item_options() {
  return {
      {"--items", "N", "different items to choose from, uniformly (1000000)",
       whole([](Options& o) -> uint64_t& { return o.items.items; }, 1, kMaxItems)},
      {"--first", "N", "number of the first of them (0)",
       whole([](Options& o) -> uint64_t& { return o.items.first; }, 0, kMaxItems)},
      {"--zipf", "EXPONENT", "choose by Zipf's law instead: the k-th item as often as k^-EXPONENT",
       set_zipf},
      {"--sequential", "", "choose each item once, counting up from --first",
       flag([](Options& o) { o.items.order = ItemOrder::kSequential; })},
      {"--item-bytes", "N", "size of an item (12)",
       whole([](Options& o) -> uint64_t& { return o.item_bytes; }, 1, kMaxItemBytes)},
      {"--binary", "", "items of arbitrary bytes, not of digits",
       flag([](Options& o) { o.binary = true; })},
      {"--keys", "N", "different keys, chosen uniformly (1)",
       whole([](Options& o) -> uint64_t& { return o.keys.keys; }, 1, kMaxKeys)},
      {"--key-prefix", "TEXT", "what the number of a key is put behind (key:)",
       text_of([](Options& o) -> std::string& { return o.keys.prefix; })},
      {"--seed", "N", "of the random choices (1)",
       whole([](Options& o) -> uint64_t& { return o.seed; }, 0, kMaxItems)},
  };
}

std::vector<Option> result_options() {
  return {
      {"--expect", "TYPE",
       "of each reply: integer, simple, bulk, array, any-but-error (the default)", set_expect},
      {"--pid", "PID", "of the server: tell its CPU time an operation", set_pid},
      {"--json", "", "the result as one line of JSON", flag([](Options& o) { o.json = true; })},
      {"--help", "", "this text", flag([](Options& o) { o.help = true; })},
  };
}

const std::vector<std::pair<std::string, std::vector<Option>>>& option_groups() {
  static const std::vector<std::pair<std::string, std::vector<Option>>> kGroups = {
      {"Where:", where_options()},
      {"How much:", load_options()},
      {"What (the marks __item__ and __key__ in the command):", item_options()},
      {"And then:", result_options()}};
  return kGroups;
}

const Option* find_option(const std::string& name) {
  for (const auto& [title, options] : option_groups()) {
    for (const Option& option : options) {
      if (option.name == name) return &option;
    }
  }
  return nullptr;
}

// "PING" as a word of its own, or a whole command as one argument: 'BF.ADD __key__ __item__'.
std::vector<std::string> words_of(std::vector<std::string> arguments) {
  if (arguments.size() != 1) return arguments;
  std::istringstream line(arguments[0]);
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

// What only shows when all options are known; empty: nothing.
std::string contradiction(const Options& options) {
  if (options.command.empty()) return "a command is missing, such as: BF.ADD __key__ __item__";
  if (options.connections < options.threads) {
    return "--threads: allowed are at most as many as --connections";
  }
  const uint64_t fit =
      options.binary ? binary_items(options.item_bytes) : decimal_items(options.item_bytes);
  if (options.items.first + options.used_items() > fit) {
    return "--item-bytes: allowed are sizes that all items fit into, from --first on; " +
           std::to_string(options.item_bytes) + " bytes make " + std::to_string(fit) + " items";
  }
  if (options.batch_bytes() > kMaxBatchBytes) {
    return "--pipeline: allowed are at most " + std::to_string(kMaxBatchBytes) +
           " bytes of requests at once, these are " + std::to_string(options.batch_bytes());
  }
  return "";
}

}  // namespace

size_t Options::batch_bytes() const {
  return request().bytes().size() * pipeline;
}

RequestTemplate Options::request() const {
  return {command, {keys.width(), item_bytes}};
}

uint64_t Options::used_items() const {
  return items.order == ItemOrder::kSequential ? requests * request().items() : items.items;
}

std::variant<Options, std::string> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with("--"); ++at) {
    const std::string& name = arguments[at];
    if (name == "--") {
      ++at;
      break;
    }
    const Option* const option = find_option(name);
    if (option == nullptr) return name + ": no such option; --help lists those there are";
    std::string value;
    if (!option->value.empty()) {
      if (++at == arguments.size()) return name + ": a value is missing (" + option->help + ")";
      value = arguments[at];
    }
    const std::string allowed = option->set(options, value);
    if (!allowed.empty()) return name + " " + value + ": allowed is " + allowed;
  }
  if (options.help) return options;
  options.command = words_of({arguments.begin() + static_cast<ptrdiff_t>(at), arguments.end()});
  if (const std::string problem = contradiction(options); !problem.empty()) return problem;
  return options;
}

std::string help_text() {
  std::ostringstream text;
  text << "loadgen [OPTION...] COMMAND [ARGUMENT...]\n"
          "\n"
          "Sends one command again and again and tells how fast it is answered. In the command\n"
          "each __item__ becomes an item and each __key__ a key, drawn anew every time:\n"
          "\n"
          "  loadgen --pipeline 16 --items 10000000 --expect integer BF.ADD filter __item__\n"
          "\n"
          "Without --rate each connection sends --pipeline requests, waits for all replies, and\n"
          "sends the next; latency counts from the send. With --rate requests are sent when they\n"
          "are due, and latency counts from then: a server that stalls is charged for every\n"
          "request that it kept waiting. Exit code: 0, 1 if a reply was wrong or the server went\n"
          "away, 2 for a wrong command line.\n";
  constexpr size_t kColumn = 24;
  for (const auto& [title, options] : option_groups()) {
    text << "\n" << title << "\n";
    for (const Option& option : options) {
      std::string left = "  " + option.name + (option.value.empty() ? "" : " " + option.value);
      left.resize(std::max(kColumn, left.size() + 1), ' ');
      text << left << option.help << "\n";
    }
  }
  return text.str();
}

}  // namespace iris::loadgen
