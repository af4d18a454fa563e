// INFO: the state of the server as text, in Redis's sections, names and order, because every
// monitoring tool parses them. Fields of things that Iris does not have (forks, scripts, replicas,
// eviction) show what is true of them, 0, where tools look for them; what Redis measures and Iris
// does not is left out rather than invented.
//
// One function a section (info_sections.h), chosen by the table in info.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/engine.h"

namespace iris::server {

// What the sections are made from. The reader is inside the world lock.
struct InfoContext {
  const Engine& engine;
  int64_t now_ms;
};

// The sections that `names` asks for, each once, in the table's order. A name is a section's, or
// "default" (as no name at all), "all", "everything", in any case; unknown ones add nothing.
std::string render_info(const InfoContext& context, std::span<const std::string_view> names);

}  // namespace iris::server
