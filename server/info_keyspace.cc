#include "server/info_keyspace.h"

#include <algorithm>
#include <string>

#include "server/info_sections.h"

namespace iris::server {

namespace {

// Keys with an expiry that are looked at before the average is good enough.
constexpr uint64_t kSampledKeys = 256;

}  // namespace

int64_t average_ttl_ms(const Database& database, int64_t now_ms) {
  uint64_t sampled = 0;
  double sum_ms = 0;
  const uint64_t wanted = std::min(kSampledKeys, database.volatile_keys());
  for (uint32_t slot = database.next_used_slot(0); slot < Database::kSlots && sampled < wanted;
       slot = database.next_used_slot(slot + 1)) {
    if (database.slot_volatile_keys(slot) == 0) continue;
    database.visit_slot(slot, [&](const std::string&, const Entry& entry) {
      if (entry.expire_at_ms == kNeverExpires) return;
      sampled++;
      sum_ms += static_cast<double>(std::max<int64_t>(0, entry.expire_at_ms - now_ms));
    });
  }
  return sampled == 0 ? 0 : static_cast<int64_t>(sum_ms / static_cast<double>(sampled));
}

void keyspace_section(const InfoContext& context, InfoText& text) {
  const Keyspace& keyspace = context.engine.keyspace;
  text.section("Keyspace");
  for (size_t db = 0; db < keyspace.databases(); db++) {
    const Database& database = keyspace.database(db);
    if (database.size() == 0) continue;
    text.field("db" + std::to_string(db),
               "keys=" + std::to_string(database.size()) +
                   ",expires=" + std::to_string(database.volatile_keys()) +
                   ",avg_ttl=" + std::to_string(average_ttl_ms(database, context.now_ms)));
  }
}

}  // namespace iris::server
