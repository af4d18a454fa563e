// Replaces a configuration file by a new version of it, atomically and durably: a temporary file in
// the same directory is written and synced, renamed over the old one, and the directory is synced.
// At no time is there a moment in which a crash leaves half a file under the name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace iris::server {

// Keeps the mode of the file that is there, and its owner where the system lets us. A new file is
// for its owner only, since it may hold a password. Returns why it failed; the old file is then
// untouched, unless only the last sync failed, which the reason says.
[[nodiscard]] std::optional<std::string> write_config_text(const std::string& path,
                                                           std::string_view text);

}  // namespace iris::server
