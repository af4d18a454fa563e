// The command families: one file each, with its handlers and, at its end, its part of the table.
#pragma once

#include <span>

#include "server/command.h"

namespace iris::server {

std::span<const CommandSpec> connection_commands();      // PING, HELLO, AUTH, SELECT, ...
std::span<const CommandSpec> transaction_commands();     // MULTI, EXEC, WATCH, ...
std::span<const CommandSpec> key_commands();             // DEL, RENAME, COPY, FLUSHALL, ...
std::span<const CommandSpec> expiry_commands();          // EXPIRE, TTL, PERSIST, ...
std::span<const CommandSpec> scan_commands();            // SCAN, KEYS, RANDOMKEY
std::span<const CommandSpec> dump_commands();            // DUMP, RESTORE
std::span<const CommandSpec> bloom_commands();           // BF.ADD, BF.EXISTS, ...
std::span<const CommandSpec> bloom_admin_commands();     // BF.RESERVE, BF.INFO, BF.MERGE, ...
std::span<const CommandSpec> bloom_dump_commands();      // BF.SCANDUMP, BF.LOADCHUNK
std::span<const CommandSpec> spectral_commands();        // CF.INCR, CF.DECR, CF.COUNT, ...
std::span<const CommandSpec> spectral_item_commands();   // CF.ADD, CF.INSERT, CF.EXISTS, ...
std::span<const CommandSpec> spectral_admin_commands();  // CF.RESERVE, CF.INFO, CF.MERGE, ...
std::span<const CommandSpec> spectral_dump_commands();   // CF.SCANDUMP, CF.LOADCHUNK
std::span<const CommandSpec> client_commands();          // CLIENT
std::span<const CommandSpec> command_commands();         // COMMAND
std::span<const CommandSpec> info_commands();            // INFO
std::span<const CommandSpec> config_commands();          // CONFIG
std::span<const CommandSpec> slowlog_commands();         // SLOWLOG
std::span<const CommandSpec> latency_commands();         // LATENCY
std::span<const CommandSpec> memory_commands();          // MEMORY
std::span<const CommandSpec> object_commands();          // OBJECT
std::span<const CommandSpec> debug_commands();           // DEBUG
std::span<const CommandSpec> monitor_commands();         // MONITOR
std::span<const CommandSpec> admin_commands();           // TIME, DBSIZE, SHUTDOWN
std::span<const CommandSpec> snapshot_commands();        // SAVE, BGSAVE, BGREWRITEAOF, LASTSAVE
std::span<const CommandSpec> admin_cluster_commands();   // ROLE, WAIT, CLUSTER, ...
std::span<const CommandSpec> admin_acl_commands();       // ACL
std::span<const CommandSpec> admin_module_commands();    // MODULE
std::span<const CommandSpec> admin_lolwut_commands();    // LOLWUT

// All of them, in the order in which COMMAND lists them.
std::span<const std::span<const CommandSpec>> command_families();

}  // namespace iris::server
