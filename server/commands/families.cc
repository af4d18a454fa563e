#include "server/commands/families.h"

#include <vector>

namespace iris::server {

std::span<const std::span<const CommandSpec>> command_families() {
  static const std::vector<std::span<const CommandSpec>> families = {
      connection_commands(), transaction_commands(), key_commands(),
      expiry_commands(),     scan_commands(),        bloom_commands(),
  };
  return families;
}

}  // namespace iris::server
