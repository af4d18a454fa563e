// The sections of INFO. Each is bounded work, whatever the number of keys.
#pragma once

#include "server/info.h"
#include "server/info_text.h"

namespace iris::server {

// info_server.cc
void server_section(const InfoContext& context, InfoText& text);
void cpu_section(const InfoContext& context, InfoText& text);
void persistence_section(const InfoContext& context, InfoText& text);
void replication_section(const InfoContext& context, InfoText& text);
void cluster_section(const InfoContext& context, InfoText& text);
// info_clients.cc
void clients_section(const InfoContext& context, InfoText& text);
// info_memory.cc
void memory_section(const InfoContext& context, InfoText& text);
// info_stats.cc
void stats_section(const InfoContext& context, InfoText& text);
// info_commands.cc
void command_stats_section(const InfoContext& context, InfoText& text);
void error_stats_section(const InfoContext& context, InfoText& text);
void latency_stats_section(const InfoContext& context, InfoText& text);
// info_keyspace.cc
void keyspace_section(const InfoContext& context, InfoText& text);
// info_modules.cc
void modules_section(const InfoContext& context, InfoText& text);
void bloom_section(const InfoContext& context, InfoText& text);

}  // namespace iris::server
