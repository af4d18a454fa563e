#include "server/commands/client_filter.h"

#include "server/text.h"

namespace iris::server {

namespace {

// How much of a client's word an error shows.
constexpr size_t kShownBytes = 128;

std::string quoted_word(std::string_view word) {
  return "'" + std::string(word.substr(0, kShownBytes)) + "'";
}

std::string read_age(std::string_view value, ClientFilter& filter) {
  const auto age = parse_integer(value);
  if (!age) return "ERR maxage is not an integer or out of range";
  if (*age <= 0) return "ERR maxage should be greater than 0";
  filter.min_age_s = *age;
  return {};
}

std::string read_option(std::string_view option, std::string_view value, ClientFilter& filter) {
  if (equal_ignoring_case(option, "id")) {
    const auto id = parse_integer(value);
    if (!id || *id < 1) return "ERR client-id should be greater than 0";
    filter.id = static_cast<uint64_t>(*id);
  } else if (equal_ignoring_case(option, "type")) {
    const auto normal = means_normal_clients(value);
    if (!normal) return unknown_client_type(value);
    filter.normal = *normal;
  } else if (equal_ignoring_case(option, "addr")) {
    filter.address = value;
  } else if (equal_ignoring_case(option, "laddr")) {
    filter.local_address = value;
  } else if (equal_ignoring_case(option, "user")) {
    // Everyone is the default user.
    if (value != "default") return "ERR No such user " + quoted_word(value);
  } else if (equal_ignoring_case(option, "skipme")) {
    filter.skip_me = equal_ignoring_case(value, "yes");
    if (!filter.skip_me && !equal_ignoring_case(value, "no")) return "ERR syntax error";
  } else if (equal_ignoring_case(option, "maxage")) {
    return read_age(value, filter);
  } else {
    return "ERR syntax error";
  }
  return {};
}

}  // namespace

bool ClientFilter::matches(const ClientRecord& client, uint64_t my_id, int64_t now_ms) const {
  if (!normal || (skip_me && client.id == my_id)) return false;
  if (id != 0 && client.id != id) return false;
  if (address && client.address != *address) return false;
  if (local_address && client.local_address != *local_address) return false;
  return (now_ms - client.connected_ms) / 1000 >= min_age_s;
}

std::optional<bool> means_normal_clients(std::string_view type) {
  if (equal_ignoring_case(type, "normal")) return true;
  for (const std::string_view other : {"master", "replica", "slave", "pubsub"}) {
    if (equal_ignoring_case(type, other)) return false;
  }
  return std::nullopt;
}

std::string unknown_client_type(std::string_view type) {
  return "ERR Unknown client type " + quoted_word(type);
}

std::string read_client_filter(std::span<const std::string_view> words, ClientFilter& filter) {
  if (words.size() == 1) {
    filter.address = words[0];
    filter.skip_me = false;
    return {};
  }
  for (size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return "ERR syntax error";
    if (std::string error = read_option(words[i], words[i + 1], filter); !error.empty()) {
      return error;
    }
  }
  return {};
}

}  // namespace iris::server
