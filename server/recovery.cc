#include "server/recovery.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "persistence/data_directory.h"
#include "persistence/log_recovery.h"
#include "persistence/snapshot_file.h"
#include "server/log.h"
#include "server/replay.h"

namespace iris::server {

namespace {

constexpr int64_t kReportEveryNs = 5'000'000'000;
constexpr const char* kCancelled = "the load was interrupted";

// The exclusive state, for one frame or one batch at a time: never while the disk is waited for, so
// that PING and INFO are answered however slow it is.
class Turn {
 public:
  explicit Turn(Engine& engine) : engine_(engine) {}
  ~Turn() { end(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void begin() {
    if (held_) return;
    engine_.world.lock_exclusive();
    held_ = true;
  }
  void end() {
    if (!held_) return;
    held_ = false;
    Garbage garbage = engine_.keyspace.take_garbage();
    engine_.world.unlock_exclusive();
    if (!garbage.empty()) engine_.reaper.dispose(std::move(garbage));
  }

 private:
  Engine& engine_;
  bool held_ = false;
};

class Recovery {
 public:
  Recovery(Engine& engine, persistence::FileSystem& files, const std::string& directory,
           LoadProgress& progress)
      : engine_(engine), files_(files), directory_(directory), progress_(progress) {}

  RecoveryResult run();

 private:
  std::string load_snapshot(Replay& replay, persistence::Lsn lsn);
  std::string load_log(Replay& replay);
  std::string remove_temporaries(const persistence::DataFiles& found);
  void report(const char* what, uint64_t done, uint64_t in_all);

  Engine& engine_;
  persistence::FileSystem& files_;
  const std::string& directory_;
  LoadProgress& progress_;
  RecoveryResult result_;
  int64_t reported_ns_ = 0;
};

void Recovery::report(const char* what, uint64_t done, uint64_t in_all) {
  progress_.bytes_done = done;
  progress_.bytes_in_all = in_all;
  const int64_t now_ns = engine_.clock.monotonic_ns();
  if (now_ns - reported_ns_ < kReportEveryNs) return;
  reported_ns_ = now_ns;
  log_notice("Loading the {}: {} of {} MB", what, done >> 20, in_all >> 20);
}

std::string Recovery::remove_temporaries(const persistence::DataFiles& found) {
  for (const std::string& name : found.temporaries) {
    log_notice("Removing {}, which was never finished", name);
    if (const int error = files_.remove(persistence::path_in(directory_, name)); error != 0) {
      return "cannot remove " + name;
    }
  }
  return {};
}

std::string Recovery::load_snapshot(Replay& replay, persistence::Lsn lsn) {
  const std::string name = persistence::snapshot_name(lsn);
  std::string error;
  const auto reader =
      persistence::SnapshotReader::open(files_, persistence::path_in(directory_, name), error);
  if (reader == nullptr) return error;
  const auto damaged = [&](const std::string& what) {
    return name + ": " + what + ". The snapshot is damaged; iris-server --check " + name +
           " tells more. Restore it from a backup, or move it away to start without it.";
  };
  Turn turn(engine_);
  persistence::SnapshotFrame frame{};
  while (reader->next(frame)) {
    if (progress_.cancelled) return kCancelled;
    turn.begin();
    if (std::string wrong = replay.frame(frame); !wrong.empty()) return damaged(wrong);
    turn.end();
    report("snapshot", reader->bytes_read(), reader->bytes_in_all());
  }
  if (!reader->error().empty()) return damaged(reader->error());
  turn.begin();
  if (std::string wrong = replay.end_of_snapshot(); !wrong.empty()) return damaged(wrong);
  engine_.hash_seed = reader->hash_seed();
  turn.end();
  result_.last_lsn = reader->end();
  result_.snapshot_bytes = reader->bytes_in_all();
  log_notice("Loaded {}: {} MB", name, reader->bytes_in_all() >> 20);
  return {};
}

std::string Recovery::load_log(Replay& replay) {
  Turn turn(engine_);
  persistence::LogReplay log;
  log.apply = [&](persistence::Lsn lsn, std::string_view record) -> std::string {
    if (progress_.cancelled) return kCancelled;
    turn.begin();
    return replay.record(lsn, record);
  };
  log.batch_ended = [&](uint64_t done, uint64_t in_all) {
    turn.end();
    report("log", done, in_all);
  };
  const persistence::LogRecovery recovered =
      persistence::recover_log(files_, directory_, result_.last_lsn, log);
  if (progress_.cancelled) return kCancelled;
  if (!recovered.damage.empty()) return recovered.damage;
  if (!recovered.warning.empty()) log_warning("{}", recovered.warning);
  turn.begin();
  if (recovered.has_seed) engine_.hash_seed = recovered.hash_seed;
  turn.end();
  result_.last_lsn = recovered.last_lsn;
  result_.next_after = std::max(recovered.last_lsn, recovered.largest_seen);
  if (recovered.records > 0) log_notice("Replayed {} records of the log", recovered.records);
  return {};
}

RecoveryResult Recovery::run() {
  reported_ns_ = engine_.clock.monotonic_ns();
  persistence::DataFiles found;
  if (persistence::list_data_files(files_, directory_, found) != 0) {
    result_.error = "cannot read the directory " + directory_;
    return result_;
  }
  engine_.world.lock_exclusive();
  auto replay = std::make_unique<Replay>(engine_.keyspace);
  engine_.world.unlock_exclusive();
  if (!found.snapshots.empty()) result_.error = load_snapshot(*replay, found.snapshots.back());
  if (result_.error.empty()) result_.error = load_log(*replay);
  // Only now that all is well: until then nothing on the disk is changed.
  if (result_.error.empty()) result_.error = remove_temporaries(found);
  result_.cancelled = result_.error == kCancelled;
  engine_.world.lock_exclusive();
  replay.reset();
  engine_.world.unlock_exclusive();
  return result_;
}

}  // namespace

RecoveryResult recover(Engine& engine, persistence::FileSystem& files, const std::string& directory,
                       LoadProgress& progress) {
  return Recovery(engine, files, directory, progress).run();
}

}  // namespace iris::server
