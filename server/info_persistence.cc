// INFO's section on the log and the snapshots, under Redis's names: a snapshot is what Redis calls
// an RDB file and also what rewrites the AOF. Fields of ours begin with iris_.

#include <algorithm>
#include <cstdio>

#include "server/info_sections.h"
#include "server/storage.h"

namespace iris::server {

namespace {

int64_t seconds_since(int64_t began_ms, int64_t now_ms) {
  return std::max<int64_t>(now_ms - began_ms, 0) / 1000;
}

std::string percent(uint64_t part, uint64_t whole) {
  char text[16];
  const double share =
      whole == 0 ? 0
                 : std::min(100.0, 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  std::snprintf(text, sizeof text, "%.2f", share);
  return text;
}

void load_fields(const LoadProgress& load, int64_t now_ms, InfoText& text) {
  const uint64_t done = load.bytes_done;
  const uint64_t in_all = load.bytes_in_all;
  const int64_t seconds = seconds_since(load.began_ms, now_ms);
  text.field("loading_start_time", load.began_ms / 1000);
  text.field("loading_total_bytes", in_all);
  text.field("loading_loaded_bytes", done);
  text.field("loading_loaded_perc", percent(done, in_all));
  const uint64_t left = in_all > done ? in_all - done : 0;
  text.field("loading_eta_seconds", done == 0 ? 1 : left * static_cast<uint64_t>(seconds) / done);
}

void snapshot_fields(const StorageStatus& status, const SnapshotProgress& progress, int64_t now_ms,
                     InfoText& text) {
  const bool runs = status.snapshot_running || status.rewrite_running;
  text.field("current_fork_perc",
             runs ? percent(progress.bytes_done, progress.bytes_in_all) : "0.00");
  text.field("current_save_keys_processed", runs ? progress.keys_done.load() : 0);
  text.field("current_save_keys_total", runs ? progress.keys_in_all.load() : 0);
  text.field("rdb_changes_since_last_save", status.changes_since_save);
  text.field("rdb_bgsave_in_progress", status.snapshot_running ? 1 : 0);
  text.field("rdb_last_save_time", status.last_save_ms / 1000);
  text.field("rdb_last_bgsave_status", status.last_failed ? "err" : "ok");
  text.field("rdb_last_bgsave_time_sec", status.last_duration_s);
  text.field("rdb_current_bgsave_time_sec",
             status.snapshot_running ? seconds_since(status.running_since_ms, now_ms) : -1);
  text.field("rdb_saves", status.snapshots);
  text.field("rdb_last_cow_size", 0);
  text.field("iris_snapshot_bytes", progress.bytes_done.load());
}

void log_fields(const StorageStatus& status, int64_t now_ms, InfoText& text) {
  text.field("aof_enabled", status.log_on ? 1 : 0);
  text.field("aof_rewrite_in_progress", status.rewrite_running ? 1 : 0);
  text.field("aof_rewrite_scheduled", status.snapshot_scheduled ? 1 : 0);
  text.field("aof_last_rewrite_time_sec", status.last_duration_s);
  text.field("aof_current_rewrite_time_sec",
             status.rewrite_running ? seconds_since(status.running_since_ms, now_ms) : -1);
  text.field("aof_last_bgrewrite_status", status.last_failed ? "err" : "ok");
  text.field("aof_rewrites", status.snapshots);
  text.field("aof_rewrites_consecutive_failures", status.consecutive_failures);
  text.field("aof_last_write_status", status.log_failure.empty() ? "ok" : "err");
  text.field("aof_last_cow_size", 0);
  if (!status.log_on) return;
  text.field("aof_current_size", status.snapshot_bytes + status.log.total_bytes);
  text.field("aof_base_size", status.base_bytes);
  text.field("aof_pending_rewrite", status.snapshot_scheduled ? 1 : 0);
  text.field("aof_buffer_length", status.log.buffered_bytes);
  text.field("aof_pending_bio_fsync", status.log_end > status.log_durable ? 1 : 0);
  text.field("aof_delayed_fsync", status.log.delayed_syncs);
  text.field("iris_log_end", status.log_end);
  text.field("iris_log_durable", status.log_durable);
  text.field("iris_log_last_sync_usec", status.log.last_sync_us);
  text.field("iris_log_backlogged", status.log_backlogged ? 1 : 0);
}

}  // namespace

void persistence_section(const InfoContext& context, InfoText& text) {
  const Storage* storage = context.engine.storage;
  const StorageStatus status = storage == nullptr ? StorageStatus() : storage->status();
  static const SnapshotProgress kNone;
  text.section("Persistence");
  text.field("loading", status.loading ? 1 : 0);
  text.field("async_loading", 0);
  text.field("current_cow_peak", 0);
  text.field("current_cow_size", 0);
  text.field("current_cow_size_age", 0);
  snapshot_fields(status, storage == nullptr ? kNone : storage->snapshot_progress(), context.now_ms,
                  text);
  text.field("rdb_last_load_keys_expired", 0);
  text.field("rdb_last_load_keys_loaded", status.keys_loaded);
  log_fields(status, context.now_ms, text);
  text.field("module_fork_in_progress", 0);
  text.field("module_fork_last_cow_size", 0);
  if (status.loading && storage != nullptr) {
    load_fields(storage->load_progress(), context.now_ms, text);
  }
}

}  // namespace iris::server
