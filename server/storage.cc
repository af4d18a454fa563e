#include "server/storage.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "persistence/data_directory.h"
#include "server/log.h"

namespace iris::server {

using persistence::SyncPolicy;

namespace {

constexpr auto kRound = std::chrono::milliseconds(100);
// After a snapshot that failed, before the next one that nobody asked for.
constexpr int64_t kRetryMs = 1000;
constexpr const char* kLockName = "iris.lock";

SyncPolicy policy_of(AppendFsync fsync) {
  switch (fsync) {
    case AppendFsync::kAlways:
      return SyncPolicy::kAlways;
    case AppendFsync::kEverySecond:
      return SyncPolicy::kEverySecond;
    case AppendFsync::kNo:
      return SyncPolicy::kNever;
  }
  return SyncPolicy::kEverySecond;
}

}  // namespace

Storage::Storage(Engine& engine, persistence::FileSystem& files, std::string directory,
                 size_t member)
    : engine_(engine),
      files_(files),
      directory_(std::move(directory)),
      member_(member),
      wanted_(engine.config) {
  status_.last_save_ms = engine.facts.started_ms;
}

Storage::~Storage() = default;

std::string Storage::lock_directory() {
  const std::string path = persistence::path_in(directory_, kLockName);
  persistence::OpenedFile opened = files_.lock(path);
  if (opened.error == -EWOULDBLOCK) {
    return "another server uses the data directory (" + path + " is locked)";
  }
  if (opened.file == nullptr) {
    return "cannot lock the data directory: " + path + ": " + std::strerror(-opened.error);
  }
  lock_ = std::move(opened.file);
  return {};
}

void Storage::start(std::function<void(const std::string&)> loaded) {
  engine_.loading = true;
  thread_ = std::thread([this, loaded = std::move(loaded)] {
    pthread_setname_np(pthread_self(), "iris-storage");
    const std::string error = load();
    loaded(error);
    if (error.empty()) serve();
  });
}

std::string Storage::load() {
  load_progress_.began_ms = engine_.clock.wall_ms();
  const int64_t began_ns = engine_.clock.monotonic_ns();
  const RecoveryResult recovered = recover(engine_, files_, directory_, load_progress_);
  load_cancelled_ = recovered.cancelled;
  if (load_cancelled_) log_notice("The load was interrupted; the files are as they were");
  if (!recovered.error.empty()) return recovered.error;
  auto log = std::make_unique<persistence::Log>(files_, directory_, engine_.hash_seed,
                                                recovered.next_after, *this);
  snapshotter_ =
      std::make_unique<Snapshotter>(engine_, files_, directory_, *log, member_, snapshot_progress_);
  std::unique_lock<std::mutex> lock(mutex_);
  log_ = std::move(log);
  if (wanted_.appendonly) {
    // The state is what the files say, so the log may go on from it at once.
    std::string error = log_->start(policy_of(wanted_.appendfsync));
    if (!error.empty()) return error;
    status_.log_on = true;
  }
  loaded_ = true;
  changes_at_save_ = engine_.journal.changes();
  for (size_t db = 0; db < engine_.keyspace.databases(); db++) {
    status_.keys_loaded += engine_.keyspace.database(db).size();
  }
  status_.snapshot_bytes = recovered.snapshot_bytes;
  status_.base_bytes = status_.snapshot_bytes + log_->status().total_bytes;
  const bool record = status_.log_on;
  lock.unlock();

  engine_.world.lock_exclusive();
  if (record) engine_.journal.record_to(log_.get());
  engine_.loading = false;
  engine_.world.unlock_exclusive();
  log_notice("The data set is loaded: {:.3f} seconds",
             static_cast<double>(engine_.clock.monotonic_ns() - began_ns) / 1e9);
  return {};
}

void Storage::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    if (must_follow_config()) {
      lock.unlock();
      follow_config();
      lock.lock();
    }
    if (std::unique_ptr<Request> request = next_request()) {
      status_.snapshot_running = request->reason == SnapshotReason::kSave;
      status_.rewrite_running = request->reason == SnapshotReason::kRewrite;
      status_.running_since_ms = engine_.clock.wall_ms();
      lock.unlock();
      take_snapshot(*request);
      lock.lock();
    } else {
      wake_.wait_for(lock, kRound);
    }
  }
}

bool Storage::stop(bool save) {
  load_progress_.cancelled = true;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (!loaded_) return load_cancelled_;
  bool all_well = true;
  if (save) {
    log_notice("Saving the final snapshot before exiting");
    const std::string error = snapshotter_->run(status_.log_on);
    all_well = error.empty();
    if (!all_well) log_warning("The final snapshot failed: {}", error);
  }
  engine_.journal.record_to(nullptr);
  if (status_.log_on) {
    if (const std::string error = log_->stop(); !error.empty()) {
      log_warning("The log could not be closed: {}", error);
      all_well = false;
    }
  }
  return all_well;
}

// --- what is wanted ---

void Storage::request_snapshot(SnapshotReason reason, Done done) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (next_ == nullptr) next_ = std::make_unique<Request>(Request{reason, {}});
    if (done) next_->done.push_back(std::move(done));
  }
  wake_.notify_all();
}

void Storage::config_changed(const Config& config) {
  std::lock_guard<std::mutex> lock(mutex_);
  wanted_ = config;
  config_is_new_ = true;
}

// Also when the log could not be switched on: it is tried again.
bool Storage::must_follow_config() const {
  if (config_is_new_) return true;
  return wanted_.appendonly != status_.log_on &&
         engine_.clock.wall_ms() - last_failure_ms_ >= kRetryMs;
}

void Storage::follow_config() {
  std::unique_lock<std::mutex> lock(mutex_);
  config_is_new_ = false;
  const bool on = wanted_.appendonly;
  const SyncPolicy policy = policy_of(wanted_.appendfsync);
  lock.unlock();
  if (on != status_.log_on) {
    switch_log(on, policy);
  } else if (on) {
    log_->set_policy(policy);
  }
}

// The log says nothing of what happened before it was switched on: a snapshot has to.
void Storage::switch_log(bool on, SyncPolicy policy) {
  if (on) {
    const std::string error = log_->start(policy, persistence::LogBase::kUnrecordedChanges);
    if (!error.empty()) {
      log_warning("The log cannot be switched on: {}", error);
      std::lock_guard<std::mutex> lock(mutex_);
      last_failure_ms_ = engine_.clock.wall_ms();
      return;
    }
  }
  engine_.world.lock_exclusive();
  engine_.journal.record_to(on ? log_.get() : nullptr);
  engine_.world.unlock_exclusive();
  if (!on) {
    const std::string error = log_->stop();
    if (!error.empty()) log_warning("The log could not be closed: {}", error);
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    status_.log_on = on;
  }
  log_notice("The log is switched {}", on ? "on" : "off");
  log_lacks_base_ = on;
  if (on) request_snapshot(SnapshotReason::kRewrite);
}

// What was asked for, or what is due by itself.
std::unique_ptr<Storage::Request> Storage::next_request() {
  if (next_ != nullptr) return std::move(next_);
  const int64_t now_ms = engine_.clock.wall_ms();
  if (now_ms - last_failure_ms_ < kRetryMs) return nullptr;
  if (status_.log_on && log_->needs_snapshot()) {
    log_warning("A new snapshot is taken because of: {}", log_->failure());
    return std::make_unique<Request>(Request{SnapshotReason::kRewrite, {}});
  }
  if (log_lacks_base_) return std::make_unique<Request>(Request{SnapshotReason::kRewrite, {}});
  // Writes may be refused until one succeeds, so nobody has to ask.
  if (save_rule_fits(now_ms) || (status_.last_failed && !wanted_.save.empty())) {
    return std::make_unique<Request>(Request{SnapshotReason::kSave, {}});
  }
  if (log_has_grown()) return std::make_unique<Request>(Request{SnapshotReason::kRewrite, {}});
  return nullptr;
}

bool Storage::save_rule_fits(int64_t now_ms) const {
  const uint64_t changes = engine_.journal.changes() - changes_at_save_;
  const int64_t age_s = (now_ms - status_.last_save_ms) / 1000;
  return std::any_of(wanted_.save.begin(), wanted_.save.end(), [&](const SaveRule& rule) {
    return changes >= rule.changes && changes > 0 && age_s >= static_cast<int64_t>(rule.seconds);
  });
}

bool Storage::log_has_grown() const {
  const uint64_t percentage = wanted_.auto_aof_rewrite_percentage;
  if (!status_.log_on || percentage == 0) return false;
  const uint64_t bytes = status_.snapshot_bytes + log_->status().total_bytes;
  const uint64_t base = std::max<uint64_t>(status_.base_bytes, 1);
  if (bytes < wanted_.auto_aof_rewrite_min_size_bytes || bytes <= base) return false;
  return (bytes - base) / base * 100 + (bytes - base) % base * 100 / base >= percentage;
}

void Storage::take_snapshot(const Request& request) {
  const int64_t began_ms = engine_.clock.wall_ms();
  const uint64_t changes = engine_.journal.changes();
  log_notice("Snapshot started");
  const std::string error = snapshotter_->run(status_.log_on);
  if (error.empty()) log_lacks_base_ = false;
  const int64_t now_ms = engine_.clock.wall_ms();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    status_.snapshot_running = false;
    status_.rewrite_running = false;
    status_.last_duration_s = (now_ms - began_ms) / 1000;
    status_.last_failed = !error.empty();
    engine_.last_snapshot_failed = status_.last_failed;
    status_.consecutive_failures = error.empty() ? 0 : status_.consecutive_failures + 1;
    if (error.empty()) {
      status_.snapshots++;
      status_.last_save_ms = now_ms;
      status_.snapshot_bytes = snapshot_progress_.bytes_done.load(std::memory_order_relaxed);
      status_.base_bytes = status_.snapshot_bytes + log_->status().total_bytes;
      changes_at_save_ = changes;
    } else {
      last_failure_ms_ = now_ms;
    }
  }
  if (error.empty()) {
    log_notice("Snapshot finished: {} MB in {} ms",
               snapshot_progress_.bytes_done.load(std::memory_order_relaxed) >> 20,
               now_ms - began_ms);
  } else {
    log_warning("Snapshot failed: {}", error);
  }
  for (const Done& done : request.done) done(error);
}

// --- what is told ---

StorageStatus Storage::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  StorageStatus status = status_;
  // What commands go by: who reads that the load is over may rely on it.
  status.loading = engine_.loading;
  status.snapshot_scheduled = next_ != nullptr;
  status.changes_since_save = engine_.journal.changes() - changes_at_save_;
  if (log_ != nullptr) {
    status.log = log_->status();
    status.log_failure = log_->failure();
    status.log_end = log_->end();
    status.log_durable = log_->durable();
    status.log_backlogged = log_->backlogged();
  }
  return status;
}

uint64_t Storage::log_memory_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return log_ == nullptr ? 0 : log_->status().memory_bytes;
}

void Storage::log_advanced() {
  engine_.control.log_advanced();
}

}  // namespace iris::server
