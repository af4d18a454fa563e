// Clients as CLIENT LIST shows them, and what they take.
#pragma once

#include <cstdint>
#include <string>

#include "server/client_registry.h"

namespace iris::server {

// A client that CLIENT KILL has marked is gone for everyone who asks, although its worker may not
// have closed it yet.
bool is_leaving(const ClientRecord& client);

// What Redis calls the flags: "N" for a plain client, else a letter for each thing it is in.
std::string client_flags(const ClientRecord& client);

// One line of CLIENT LIST, with the newline, in the format of Redis.
std::string client_line(const ClientRecord& client, int64_t now_ms);

// The connection itself and what it holds back: unfinished input, unsent output, queued commands.
uint64_t client_memory_bytes(const ClientRecord& client);

}  // namespace iris::server
