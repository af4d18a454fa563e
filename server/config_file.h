// Reading configuration: files, standard input and the command line, in redis.conf's syntax.
//
//   # a comment has a line of its own
//   port 6380
//   maxmemory 2gb
//   include /etc/iris/*.conf
//
// A ConfigLoader starts from the defaults and is fed sources one after the other; later values win.
// Two directives differ, as in Redis: several `save` lines add up (`save ""` forgets those before
// it), and a `client-output-buffer-limit` line changes only the classes it names.
//
// `include` reads another file in its place. A pattern (* ? [) takes what it matches in the order
// of names, also nothing; a plain name must exist. A relative name is looked up beside the file
// that includes it, not in the working directory as Redis does: a folder of configuration can be
// moved, and works wherever the server is started from. For standard input and the command line
// there is no such folder and the working directory is meant.
//
// Everything is bounded: depth and number of included files, and their size. A file that includes
// itself, through others or links too, is refused. The first error ends the reading; the Config
// is then half built and must not be used.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config.h"
#include "server/config_directives.h"

namespace iris::server {

struct ConfigError {
  std::string where;      // "FILE:LINE", "FILE" or "command line"
  std::string directive;  // may be empty; printable
  std::string reason;

  // FILE:LINE: directive "x": reason
  [[nodiscard]] std::string text() const;
};
using MaybeConfigError = std::optional<ConfigError>;

class ConfigLoader {
 public:
  explicit ConfigLoader(Config defaults = {}) : config_(std::move(defaults)) {}

  // `path` "-" is standard input.
  [[nodiscard]] MaybeConfigError load(const std::string& path);
  // Text that came from, or is about to go to, `path`; an empty path is standard input.
  [[nodiscard]] MaybeConfigError load_text(std::string_view text, const std::string& path);
  // One directive with its values, from the command line.
  [[nodiscard]] MaybeConfigError load_words(std::span<const std::string> words);

  // To be called once after the last source: looks for values that exclude each other.
  [[nodiscard]] MaybeConfigError finish() const;

  const Config& config() const { return config_; }

 private:
  // A source that is being read: the last one of open_ included by the one before it.
  struct Source {
    std::string name;
    std::string folder;
    std::optional<std::pair<uint64_t, uint64_t>> identity;  // device and inode
  };

  MaybeConfigError read_lines(std::string_view text, Source source);
  MaybeConfigError load_file(const std::string& path);
  MaybeConfigError apply(std::span<const std::string> words, const std::string& where);
  MaybeConfigError include(const std::string& pattern, const std::string& where);

  Config config_;
  std::vector<Source> open_;
  size_t files_read_ = 0;
  // Where each directive was said last, to blame the right line for a conflict.
  std::map<std::string_view, std::string> said_at_;
  // All words so far of each directive whose lines add up.
  std::map<std::string_view, std::vector<std::string>> accumulated_;
};

// The whole content of a file, bounded; "-" is standard input. `error` says why there is none.
[[nodiscard]] std::optional<std::string> read_config_text(const std::string& path,
                                                          std::string& error);

}  // namespace iris::server
