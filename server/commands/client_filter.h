// Which clients CLIENT KILL means. All given conditions must hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/client_registry.h"

namespace iris::server {

struct ClientFilter {
  uint64_t id = 0;  // 0: any
  std::optional<std::string_view> address;
  std::optional<std::string_view> local_address;
  int64_t min_age_s = 0;
  bool normal = true;  // false: a type was asked for that no client here has
  bool skip_me = true;

  bool matches(const ClientRecord& client, uint64_t my_id, int64_t now_ms) const;
};

// Whether clients of the type "normal" are meant, the only ones there are; nothing if Redis does
// not know the type either.
std::optional<bool> means_normal_clients(std::string_view type);
std::string unknown_client_type(std::string_view type);

// Reads "addr:port" (the old form, one word) or "ID 7 SKIPME no ..."; the views are into `words`.
// An error's text, empty if all is well.
std::string read_client_filter(std::span<const std::string_view> words, ClientFilter& filter);

}  // namespace iris::server
