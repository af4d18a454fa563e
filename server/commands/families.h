// The command families: one file each, with its handlers and, at its end, its part of the table.
#pragma once

#include <span>

#include "server/command.h"

namespace iris::server {

std::span<const CommandSpec> connection_commands();   // PING, HELLO, AUTH, SELECT, ...
std::span<const CommandSpec> transaction_commands();  // MULTI, EXEC, WATCH, ...
std::span<const CommandSpec> key_commands();          // DEL, RENAME, COPY, FLUSHALL, ...
std::span<const CommandSpec> expiry_commands();       // EXPIRE, TTL, PERSIST, ...
std::span<const CommandSpec> scan_commands();         // SCAN, KEYS, RANDOMKEY
std::span<const CommandSpec> bloom_commands();        // BF.ADD, BF.EXISTS, ...

// All of them, in the order in which COMMAND lists them.
std::span<const std::span<const CommandSpec>> command_families();

}  // namespace iris::server
