// INFO memory.

#include <unistd.h>

#include <algorithm>

#include "server/info_clients.h"
#include "server/info_sections.h"
#include "server/text.h"

namespace iris::server {

namespace {

uint64_t system_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0
             ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes)
             : 0;
}

uint64_t clients_bytes(const Engine& engine) {
  uint64_t bytes = 0;
  for (const auto& client : engine.clients.list()) bytes += client_memory_bytes(*client);
  return bytes;
}

uint64_t tables_bytes(const Keyspace& keyspace) {
  uint64_t bytes = 0;
  for (size_t db = 0; db < keyspace.databases(); db++) {
    bytes += keyspace.database(db).overhead_bytes();
  }
  return bytes;
}

uint64_t difference(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

void size_field(InfoText& text, const std::string& name, uint64_t bytes) {
  text.field(name, bytes);
  text.field(name + "_human", human_bytes(bytes));
}

// "x_ratio" and "x_bytes": how much larger `actual` is than `needed`.
void excess_fields(InfoText& text, const std::string& name, uint64_t actual, uint64_t needed) {
  text.real(name + "_ratio", ratio(static_cast<double>(actual), static_cast<double>(needed)));
  text.field(name + "_bytes", static_cast<int64_t>(actual) - static_cast<int64_t>(needed));
}

// There is no scripting language; tools look for these.
void script_fields(InfoText& text) {
  text.field("used_memory_lua", 0);
  text.field("used_memory_vm_eval", 0);
  text.field("used_memory_lua_human", human_bytes(0));
  text.field("used_memory_scripts_eval", 0);
  text.field("number_of_cached_scripts", 0);
  text.field("number_of_functions", 0);
  text.field("number_of_libraries", 0);
  text.field("used_memory_vm_functions", 0);
  size_field(text, "used_memory_vm_total", 0);
  text.field("used_memory_functions", 0);
  size_field(text, "used_memory_scripts", 0);
}

void fragmentation_fields(InfoText& text, const AllocatorFigures& allocator, uint64_t used,
                          uint64_t rss) {
  // What is mapped beside the allocator, mostly large filters, is no overhead of the process.
  const uint64_t explained = allocator.resident + mapped_bytes();
  excess_fields(text, "allocator_frag", allocator.active, allocator.allocated);
  excess_fields(text, "allocator_rss", allocator.resident, allocator.active);
  excess_fields(text, "rss_overhead", rss, explained);
  excess_fields(text, "mem_fragmentation", rss, used);
}

void usage_fields(InfoText& text, const Engine& engine, uint64_t used, uint64_t overhead) {
  const uint64_t startup = engine.memory.startup_bytes();
  // The peak is sampled; what is used now may be beyond it.
  const uint64_t peak = std::max(engine.memory.peak_bytes(), used);
  const uint64_t dataset = difference(used, overhead);
  size_field(text, "used_memory_peak", peak);
  text.real("used_memory_peak_perc",
            100 * ratio(static_cast<double>(used), static_cast<double>(peak)), 2, "%");
  text.field("used_memory_overhead", overhead);
  text.field("used_memory_startup", startup);
  text.field("used_memory_dataset", dataset);
  text.real(
      "used_memory_dataset_perc",
      100 * ratio(static_cast<double>(dataset), static_cast<double>(difference(used, startup))), 2,
      "%");
}

}  // namespace

void memory_section(const InfoContext& context, InfoText& text) {
  const Engine& engine = context.engine;
  const AllocatorFigures allocator = allocator_figures();
  const uint64_t used = engine.memory.used_bytes();
  const uint64_t rss = resident_bytes();
  const uint64_t clients = clients_bytes(engine);
  text.section("Memory");
  size_field(text, "used_memory", used);
  size_field(text, "used_memory_rss", rss);
  usage_fields(text, engine, used,
               engine.memory.startup_bytes() + clients + tables_bytes(engine.keyspace));
  text.field("allocator_allocated", allocator.allocated);
  text.field("allocator_active", allocator.active);
  text.field("allocator_resident", allocator.resident);
  size_field(text, "total_system_memory", system_memory_bytes());
  script_fields(text);
  size_field(text, "maxmemory", engine.config.maxmemory_bytes);
  text.field("maxmemory_policy", "noeviction");
  fragmentation_fields(text, allocator, used, rss);
  text.field("mem_not_counted_for_evict", engine.memory.log_bytes());
  text.field("mem_replication_backlog", 0);
  text.field("mem_total_replication_buffers", 0);
  text.field("mem_clients_slaves", 0);
  text.field("mem_clients_normal", clients);
  text.field("mem_cluster_links", 0);
  text.field("mem_aof_buffer", engine.memory.log_bytes());
  text.field("mem_allocator", allocator_name());
  text.field("active_defrag_running", 0);
  text.field("lazyfree_pending_objects", engine.reaper.pending());
}

}  // namespace iris::server
