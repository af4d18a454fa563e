#include "server/config_file.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "server/config_words.h"

namespace iris::server {
namespace {

constexpr size_t kMaxIncludeDepth = 16;
constexpr size_t kMaxFiles = 1024;
constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr const char* kStandardInput = "-";

std::string system_message(int error) {
  return std::generic_category().message(error);
}

std::optional<std::pair<uint64_t, uint64_t>> identity_of(const std::string& path) {
  struct stat info {};
  if (path.empty() || stat(path.c_str(), &info) != 0) return std::nullopt;
  return std::pair<uint64_t, uint64_t>(info.st_dev, info.st_ino);
}

std::optional<std::string> read_all(int fd, std::string& error) {
  std::string text;
  std::array<char, 16 << 10> buffer;
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error = "cannot read: " + system_message(errno);
      return std::nullopt;
    }
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > kMaxFileBytes) {
      error = "is larger than " + std::to_string(kMaxFileBytes) + " bytes";
      return std::nullopt;
    }
  }
}

bool is_pattern(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

// Sorted by name. A pattern that matches nothing is no error.
std::vector<std::string> expand(const std::string& pattern) {
  if (!is_pattern(pattern)) return {pattern};
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

}  // namespace

std::string ConfigError::text() const {
  std::string out = where + ": ";
  if (!directive.empty()) out += "directive \"" + directive + "\": ";
  return out + reason;
}

std::optional<std::string> read_config_text(const std::string& path, std::string& error) {
  if (path == kStandardInput) return read_all(STDIN_FILENO, error);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    error = "cannot open: " + system_message(errno);
    return std::nullopt;
  }
  auto text = read_all(fd, error);
  close(fd);
  return text;
}

MaybeConfigError ConfigLoader::load(const std::string& path) {
  if (path != kStandardInput) return load_file(path);
  std::string error;
  const auto text = read_config_text(path, error);
  if (!text) return ConfigError{"standard input", "", error};
  return load_text(*text, "");
}

MaybeConfigError ConfigLoader::load_text(std::string_view text, const std::string& path) {
  if (path.empty()) return read_lines(text, {"standard input", "", std::nullopt});
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return read_lines(text, {path, folder, identity_of(path)});
}

MaybeConfigError ConfigLoader::load_file(const std::string& path) {
  if (++files_read_ > kMaxFiles) {
    return ConfigError{path, "", "more than " + std::to_string(kMaxFiles) + " files included"};
  }
  std::string error;
  const auto text = read_config_text(path, error);
  if (!text) return ConfigError{path, "", error};
  return load_text(*text, path);
}

MaybeConfigError ConfigLoader::read_lines(std::string_view text, Source source) {
  open_.push_back(std::move(source));
  const std::string name = open_.back().name;
  MaybeConfigError error;
  for (size_t line_number = 1; !text.empty() && !error; ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;

    const std::string where = name + ":" + std::to_string(line_number);
    const auto words = split_words(line);
    // Of a line that cannot be read only its first word is shown: the rest may be a password.
    error =
        words ? apply(*words, where)
              : ConfigError{where, printable(line.substr(0, line.find(' '))), "unbalanced quotes"};
  }
  open_.pop_back();
  return error;
}

MaybeConfigError ConfigLoader::load_words(std::span<const std::string> words) {
  return apply(words, "command line");
}

MaybeConfigError ConfigLoader::apply(std::span<const std::string> words, const std::string& where) {
  const std::string name = lower_case(words[0]);
  Words values = words.subspan(1);
  if (name == "include") {
    if (values.size() == 1) return include(values[0], where);
    return ConfigError{where, name, "wrong number of arguments: one path is expected"};
  }

  const Directive* directive = find_directive(name);
  if (directive == nullptr) {
    const std::string_view closest = closest_directive(name);
    std::string reason = "unknown directive";
    if (!closest.empty()) reason += "; did you mean \"" + std::string(closest) + "\"?";
    return ConfigError{where, printable(name), reason};
  }

  if (directive->lines == Lines::kAddUp) {
    auto& all = accumulated_[directive->name];
    const bool forgets = values.size() == 1 && values[0].empty();
    if (forgets || (all.size() == 1 && all[0].empty())) all.clear();
    all.insert(all.end(), values.begin(), values.end());
    // An empty line must not hide behind the values of those before it.
    if (!values.empty()) values = all;
  }
  if (Problem problem = directive->kind.parse(directive->name, values, config_)) {
    return ConfigError{where, std::string(directive->name), *problem};
  }
  said_at_[directive->name] = where;
  return std::nullopt;
}

MaybeConfigError ConfigLoader::include(const std::string& pattern, const std::string& where) {
  if (open_.size() >= kMaxIncludeDepth) {
    return ConfigError{
        where, "include",
        "files include each other more than " + std::to_string(kMaxIncludeDepth) + " levels deep"};
  }
  std::filesystem::path path(pattern);
  if (path.is_relative() && !open_.empty()) path = open_.back().folder / path;

  for (const std::string& file : expand(path.string())) {
    const auto identity = identity_of(file);
    const bool cycle = identity && std::any_of(open_.begin(), open_.end(), [&](const Source& open) {
                         return open.identity == identity;
                       });
    if (cycle) return ConfigError{where, "include", "the file includes itself: " + file};
    if (!identity) return ConfigError{where, "include", "cannot find " + file};
    if (MaybeConfigError error = load_file(file)) return error;
  }
  return std::nullopt;
}

MaybeConfigError ConfigLoader::finish() const {
  const auto conflict = find_conflict(config_);
  if (!conflict) return std::nullopt;
  const std::string_view name = conflict->directive->name;
  // With only one of the two said, that is the line to look at; the other is at its default.
  auto said = said_at_.find(name);
  if (said == said_at_.end()) said = said_at_.find(conflict->other->name);
  const std::string where = said == said_at_.end() ? "configuration" : said->second;
  return ConfigError{where, std::string(name), conflict->reason};
}

}  // namespace iris::server
