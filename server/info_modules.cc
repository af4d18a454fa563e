#include "server/info_modules.h"

#include <string>

#include "server/commands/bloom_module.h"
#include "server/info_sections.h"

namespace iris::server {

namespace {

// A few milliseconds of work at most, since each value is a miss of the cache or two.
constexpr uint64_t kCountedKeys = 10'000;

// The place where a kind of value tells its figures.
void count_value(const Value& value, BloomTotals& totals) {
  if (value.kind() != ValueKind::kBloom) return;
  totals.objects++;
  totals.memory_bytes += value.memory_bytes();
}

BloomTotals database_totals(const Database& database) {
  BloomTotals totals;
  uint64_t seen = 0;
  for (uint32_t slot = database.next_used_slot(0); slot < Database::kSlots && seen < kCountedKeys;
       slot = database.next_used_slot(slot + 1)) {
    database.visit_slot(slot, [&](const std::string&, const Entry& entry) {
      seen++;
      count_value(*entry.value, totals);
    });
  }
  if (seen == database.size()) return totals;
  const double scale = ratio(static_cast<double>(database.size()), static_cast<double>(seen));
  for (uint64_t* figure :
       {&totals.memory_bytes, &totals.objects, &totals.filters, &totals.items, &totals.capacity}) {
    *figure = static_cast<uint64_t>(static_cast<double>(*figure) * scale);
  }
  return totals;
}

}  // namespace

BloomTotals bloom_totals(const Keyspace& keyspace) {
  BloomTotals sum;
  for (size_t db = 0; db < keyspace.databases(); db++) {
    const BloomTotals part = database_totals(keyspace.database(db));
    sum.memory_bytes += part.memory_bytes;
    sum.objects += part.objects;
    sum.filters += part.filters;
    sum.items += part.items;
    sum.capacity += part.capacity;
  }
  return sum;
}

void modules_section(const InfoContext&, InfoText& text) {
  text.section("Modules");
  text.field("module", "name=bf,ver=" + std::to_string(kBloomModuleVersion) +
                           ",api=1,filters=0,usedby=[],using=[],options=[]");
}

// Names that redis_exporter and others know.
void bloom_section(const InfoContext& context, InfoText& text) {
  const BloomTotals totals = bloom_totals(context.engine.keyspace);
  text.section("bf_bloom_core_metrics");
  text.field("bf_bloom_total_memory_bytes", totals.memory_bytes);
  text.field("bf_bloom_num_objects", totals.objects);
  text.field("bf_bloom_num_filters_across_objects", totals.filters);
  text.field("bf_bloom_num_items_across_objects", totals.items);
  text.field("bf_bloom_capacity_across_objects", totals.capacity);
}

}  // namespace iris::server
