// The data on disk: one thread that loads it at the start, takes the snapshots, and looks after the
// log.
//
//     start    recover, then start the log if `appendonly` is on
//     then     a snapshot whenever one is asked for: by a command, by a `save` rule, because the
//              log has grown, because `appendonly` was switched on, or to make good a failed sync
//     end      a last snapshot if that is wanted, then the log is synced and closed
//
// Snapshots are one at a time. Who asks while one runs is told so, or gets the next one.
//
// Threads: start() and stop() on the control thread, the rest from any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "persistence/file_system.h"
#include "persistence/log.h"
#include "server/engine.h"
#include "server/recovery.h"
#include "server/snapshotter.h"

namespace iris::server {

enum class SnapshotReason : uint8_t { kSave, kRewrite };

// What INFO tells.
struct StorageStatus {
  bool loading = false;
  bool snapshot_running = false;
  bool rewrite_running = false;  // the same, asked for by BGREWRITEAOF or the log's growth
  bool snapshot_scheduled = false;
  int64_t running_since_ms = 0;
  int64_t last_save_ms = 0;
  int64_t last_duration_s = -1;
  bool last_failed = false;
  uint64_t snapshots = 0;
  uint64_t consecutive_failures = 0;
  uint64_t changes_since_save = 0;
  uint64_t snapshot_bytes = 0;  // of the last one
  uint64_t base_bytes = 0;      // of snapshot and log, when the snapshot was new
  bool log_on = false;
  persistence::Lsn log_end = 0;
  persistence::Lsn log_durable = 0;
  bool log_backlogged = false;
  uint64_t keys_loaded = 0;
  std::string log_failure;
  persistence::LogStatus log;
};

class Storage final : public persistence::LogListener {
 public:
  // `member` is the thread's number in the world lock.
  Storage(Engine& engine, persistence::FileSystem& files, std::string directory, size_t member);
  ~Storage() override;

  // Takes the lock of the directory. An error's text, empty if all is well.
  [[nodiscard]] std::string lock_directory();
  // Starts the thread. `loaded` is called on it when the data set is there, or with the reason why
  // it cannot be.
  void start(std::function<void(const std::string& error)> loaded);
  // When nobody works on the keyspace any more. False if not everything could be saved. Ends a load
  // that is under way: the files are all there is to keep then.
  [[nodiscard]] bool stop(bool save);

  // Asks for a snapshot, or for the next one if one runs. `done` is called on the storage thread
  // with an error's text.
  using Done = std::function<void(const std::string& error)>;
  void request_snapshot(SnapshotReason reason, Done done = {});
  // The configuration has changed. In the exclusive state.
  void config_changed(const Config& config);

  // Null until the data set is loaded.
  persistence::Log* log() { return log_.get(); }
  const LoadProgress& load_progress() const { return load_progress_; }
  const SnapshotProgress& snapshot_progress() const { return snapshot_progress_; }
  StorageStatus status() const;
  uint64_t log_memory_bytes() const;

  void log_advanced() override;

 private:
  struct Request {
    SnapshotReason reason;
    std::vector<Done> done;
  };

  std::string load();
  void serve();
  void take_snapshot(const Request& request);
  bool must_follow_config() const;
  void follow_config();
  void switch_log(bool on, persistence::SyncPolicy policy);
  std::unique_ptr<Request> next_request();
  bool save_rule_fits(int64_t now_ms) const;
  bool log_has_grown() const;

  Engine& engine_;
  persistence::FileSystem& files_;
  const std::string directory_;
  const size_t member_;
  std::unique_ptr<persistence::File> lock_;
  std::unique_ptr<persistence::Log> log_;
  std::unique_ptr<Snapshotter> snapshotter_;
  LoadProgress load_progress_;
  SnapshotProgress snapshot_progress_;
  std::thread thread_;
  // The log was switched on, and the snapshot that it rests on is still to come: until then a start
  // would drop what is in it. Of the thread.
  bool log_lacks_base_ = false;
  bool load_cancelled_ = false;  // of the thread, until it has ended

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  bool stopping_ = false;
  bool loaded_ = false;
  // What the configuration asks for; the thread follows.
  Config wanted_;
  bool config_is_new_ = false;
  std::unique_ptr<Request> next_;
  StorageStatus status_;
  uint64_t changes_at_save_ = 0;
  int64_t last_failure_ms_ = 0;
};

}  // namespace iris::server
