#include "server/info.h"

#include <algorithm>

#include "server/info_sections.h"
#include "server/text.h"

namespace iris::server {

namespace {

// The smallest of Redis's sets that has the section; each set is part of the next.
enum class InfoSet : uint8_t { kDefault, kAll, kEverything };

struct Section {
  std::string_view name;
  InfoSet set;
  void (*render)(const InfoContext&, InfoText&);
  std::string_view other_name = {};
};

constexpr Section kSections[] = {
    {"server", InfoSet::kDefault, server_section},
    {"clients", InfoSet::kDefault, clients_section},
    {"memory", InfoSet::kDefault, memory_section},
    {"persistence", InfoSet::kDefault, persistence_section},
    {"stats", InfoSet::kDefault, stats_section},
    {"replication", InfoSet::kDefault, replication_section},
    {"cpu", InfoSet::kDefault, cpu_section},
    {"modules", InfoSet::kDefault, modules_section, "module_list"},
    {"commandstats", InfoSet::kAll, command_stats_section},
    {"errorstats", InfoSet::kDefault, error_stats_section},
    {"latencystats", InfoSet::kAll, latency_stats_section},
    {"cluster", InfoSet::kDefault, cluster_section},
    {"keyspace", InfoSet::kDefault, keyspace_section},
    // A module's own figures come last and not with ALL, as in Redis.
    {"modules", InfoSet::kEverything, bloom_section, "bf"},
};

bool asks_for(std::string_view name, const Section& section) {
  if (equal_ignoring_case(name, "default")) return section.set <= InfoSet::kDefault;
  if (equal_ignoring_case(name, "all")) return section.set <= InfoSet::kAll;
  if (equal_ignoring_case(name, "everything")) return true;
  return equal_ignoring_case(name, section.name) ||
         (!section.other_name.empty() && equal_ignoring_case(name, section.other_name));
}

}  // namespace

std::string render_info(const InfoContext& context, std::span<const std::string_view> names) {
  constexpr std::string_view kNoName[] = {"default"};
  if (names.empty()) names = kNoName;
  InfoText text;
  for (const Section& section : kSections) {
    const bool wanted = std::any_of(names.begin(), names.end(),
                                    [&](std::string_view name) { return asks_for(name, section); });
    if (wanted) section.render(context, text);
  }
  return text.take();
}

}  // namespace iris::server
