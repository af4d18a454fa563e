// INFO stats: what the server has done since its start, or since CONFIG RESETSTAT.

#include <cmath>

#include "server/info_sections.h"

namespace iris::server {

namespace {

constexpr double kBytesPerKilobyte = 1024;

void network_fields(const Stats& stats, InfoText& text) {
  const Stats::Rates rates = stats.rates();
  text.field("total_connections_received", stats.sum(&MemberStats::connections_accepted));
  text.field("total_commands_processed", stats.sum(&MemberStats::commands_processed));
  text.field("instantaneous_ops_per_sec", std::llround(rates.commands_per_s));
  text.field("total_net_input_bytes", stats.sum(&MemberStats::input_bytes));
  text.field("total_net_output_bytes", stats.sum(&MemberStats::output_bytes));
  text.field("total_net_repl_input_bytes", 0);
  text.field("total_net_repl_output_bytes", 0);
  text.real("instantaneous_input_kbps", rates.input_bytes_per_s / kBytesPerKilobyte);
  text.real("instantaneous_output_kbps", rates.output_bytes_per_s / kBytesPerKilobyte);
  text.field("instantaneous_input_repl_kbps", "0.00");
  text.field("instantaneous_output_repl_kbps", "0.00");
  text.field("rejected_connections", stats.sum(&MemberStats::connections_rejected));
}

void keyspace_fields(const Engine& engine, InfoText& text) {
  text.field("expired_keys", engine.keyspace.expired_keys());
  text.field("evicted_keys", 0);
  text.field("evicted_clients", 0);
  text.field("total_eviction_exceeded_time", 0);
  text.field("current_eviction_exceeded_time", 0);
  text.field("keyspace_hits", engine.stats.sum(&MemberStats::keyspace_hits));
  text.field("keyspace_misses", engine.stats.sum(&MemberStats::keyspace_misses));
}

// What Iris does not have, and so never did.
void absent_fields(InfoText& text) {
  for (const std::string_view name :
       {"pubsub_channels", "pubsub_patterns", "pubsubshard_channels", "latest_fork_usec",
        "total_forks", "migrate_cached_sockets", "slave_expires_tracked_keys", "active_defrag_hits",
        "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses",
        "total_active_defrag_time", "current_active_defrag_time", "tracking_total_keys",
        "tracking_total_items", "tracking_total_prefixes", "unexpected_error_replies"}) {
    text.field(name, 0);
  }
}

}  // namespace

void stats_section(const InfoContext& context, InfoText& text) {
  const Stats& stats = context.engine.stats;
  text.section("Stats");
  network_fields(stats, text);
  text.field("sync_full", 0);
  text.field("sync_partial_ok", 0);
  text.field("sync_partial_err", 0);
  keyspace_fields(context.engine, text);
  absent_fields(text);
  text.field("total_error_replies", stats.sum(&MemberStats::error_replies));
  text.field("dump_payload_sanitizations", 0);
  text.field("client_query_buffer_limit_disconnections",
             stats.sum(&MemberStats::query_limit_disconnections));
  text.field("client_output_buffer_limit_disconnections",
             stats.sum(&MemberStats::output_limit_disconnections));
}

}  // namespace iris::server
