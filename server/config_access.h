// CONFIG GET and CONFIG SET on a Config.
//
// Both are plain functions of values. The caller runs CONFIG SET in the exclusive state, puts the
// new Config in place of the old one, and compares the two where a change needs action.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config.h"

namespace iris::server {

// Name and value of every directive that any of the glob patterns matches, each once, in the order
// of the table. Letters of either case match.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> config_get(
    const Config& config, std::span<const std::string_view> patterns);

struct ConfigSetting {
  std::string_view name;
  std::string_view value;
};

// Either the new Config or the text of the error reply, which begins with ERR.
struct ConfigSetResult {
  std::optional<Config> config;
  std::string error;
};

// All or nothing. Nothing of a client's raw bytes but a printable, shortened name is in the error.
[[nodiscard]] ConfigSetResult config_set(const Config& config,
                                         std::span<const ConfigSetting> settings);

}  // namespace iris::server
