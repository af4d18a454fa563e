#include "server/commands/families.h"

#include <vector>

namespace iris::server {

std::span<const std::span<const CommandSpec>> command_families() {
  static const std::vector<std::span<const CommandSpec>> families = {
      connection_commands(),    transaction_commands(),   key_commands(),
      expiry_commands(),        scan_commands(),          dump_commands(),
      bloom_commands(),         bloom_admin_commands(),   bloom_dump_commands(),
      spectral_commands(),      spectral_item_commands(), spectral_admin_commands(),
      spectral_dump_commands(), client_commands(),        command_commands(),
      info_commands(),          config_commands(),        slowlog_commands(),
      latency_commands(),       memory_commands(),        object_commands(),
      debug_commands(),         monitor_commands(),       admin_commands(),
      admin_cluster_commands(), admin_acl_commands(),     admin_module_commands(),
      admin_lolwut_commands(),  snapshot_commands(),
  };
  return families;
}

}  // namespace iris::server
