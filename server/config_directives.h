// The table of directives: every name that a configuration file, the command line and CONFIG know.
//
// One row says everything about a setting: its name, its kind of value and the member of Config it
// lives in, whether it may change while the server runs, and a line for people. Reading files,
// CONFIG GET, SET and REWRITE, and --help are loops over this table; a new setting is a member, a
// row, and a paragraph of conf/iris.conf (a test insists on the last).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/config.h"
#include "server/config_kinds.h"

namespace iris::server {

enum class Change : uint8_t { kAtRuntime, kOnlyAtStart };

// What a second line of the same directive means.
enum class Lines : uint8_t {
  kLastWins,
  kAddUp,       // all lines together are the value
  kEachItsPart  // a line changes the part of the value that it names
};

struct Directive {
  std::string_view name;  // lower case
  const DirectiveKind& kind;
  Change change;
  std::string_view doc;
  // A secret's value is shown by CONFIG GET, as clients expect, and nowhere else.
  bool secret = false;
  Lines lines = Lines::kLastWins;
};

[[nodiscard]] std::span<const Directive> directives();

// Any case of letters. nullptr when there is none.
[[nodiscard]] const Directive* find_directive(std::string_view name);

// The known name closest to a mistyped one, or empty when none is close.
[[nodiscard]] std::string_view closest_directive(std::string_view name);

// The words that a line of a file needs to say this value.
[[nodiscard]] std::vector<std::string> directive_words(const Directive& directive,
                                                       const Config& config);

// Two settings that are fine alone and wrong together.
struct Conflict {
  const Directive* directive;  // the one to blame
  const Directive* other;
  std::string reason;
};
[[nodiscard]] std::optional<Conflict> find_conflict(const Config& config);

}  // namespace iris::server
