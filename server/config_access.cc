#include "server/config_access.h"

#include <algorithm>

#include "server/config_directives.h"
#include "server/config_words.h"
#include "server/glob.h"

namespace iris::server {
namespace {

ConfigSetResult failed(std::string_view name, std::string_view reason) {
  std::string error = "ERR CONFIG SET failed (possibly related to argument '";
  error += name;
  error += "') - ";
  error += reason;
  return {std::nullopt, std::move(error)};
}

// A list comes as one text and is cut at white space; any other value is taken as it is.
std::vector<std::string> words_of(const Directive& directive, std::string_view value) {
  if (directive.kind.shape != Shape::kList) return {std::string(value)};
  std::vector<std::string> words;
  while (!(value = trimmed(value)).empty()) {
    const size_t end = std::min(value.find_first_of(" \t\r\n\v\f"), value.size());
    words.emplace_back(value.substr(0, end));
    value.remove_prefix(end);
  }
  if (words.empty()) words.emplace_back();
  return words;
}

}  // namespace

std::vector<std::pair<std::string_view, std::string>> config_get(
    const Config& config, std::span<const std::string_view> patterns) {
  std::vector<std::pair<std::string_view, std::string>> found;
  for (const Directive& directive : directives()) {
    const bool wanted =
        std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
          return glob_match(pattern, directive.name, GlobCase::kInsensitive);
        });
    if (wanted) found.emplace_back(directive.name, directive.kind.print(config));
  }
  return found;
}

ConfigSetResult config_set(const Config& config, std::span<const ConfigSetting> settings) {
  std::vector<const Directive*> chosen;
  for (const ConfigSetting& setting : settings) {
    const Directive* directive = find_directive(setting.name);
    if (directive == nullptr) {
      return {std::nullopt, "ERR Unknown option or number of arguments for CONFIG SET - '" +
                                printable(setting.name) + "'"};
    }
    if (directive->change == Change::kOnlyAtStart) {
      return failed(directive->name, "can't set immutable config");
    }
    if (std::find(chosen.begin(), chosen.end(), directive) != chosen.end()) {
      return failed(directive->name, "duplicate parameter");
    }
    chosen.push_back(directive);
  }

  Config changed = config;
  for (size_t i = 0; i < settings.size(); ++i) {
    const auto words = words_of(*chosen[i], settings[i].value);
    const Problem problem = chosen[i]->kind.parse(chosen[i]->name, words, changed);
    if (problem) return failed(chosen[i]->name, *problem);
  }
  if (const auto conflict = find_conflict(changed)) {
    const bool blamed =
        std::find(chosen.begin(), chosen.end(), conflict->directive) != chosen.end();
    return failed((blamed ? conflict->directive : conflict->other)->name,
                  std::string(conflict->directive->name) + " " + conflict->reason);
  }
  return {std::move(changed), ""};
}

}  // namespace iris::server
