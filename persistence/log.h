// The log: every change that took effect, as one record after the other, on disk.
//
//     workers                                     the log's thread
//     append(record) --> | block | block | ---->  batch: annotation line + records --> segment
//     end() = its number                          sync --> durable() --> listener: replies may go
//
// The LSN is the running number of records: one clock for durability and for snapshots. It is
// never used twice.
//
// A segment is synced before its successor is created (unless its sync has failed). Its header says
// which LSN was durable then, and so does every batch: that is what tells a torn tail from damage
// when the log is read again.
//
// When the disk fails, failure() tells why, and the owner refuses new writes:
//   - a failed write is cut back to the last whole batch and tried again every second;
//   - a failed sync is never tried again on that file. durable() stands still until the owner has
//     made a snapshot beyond it and says so (covered_by_snapshot).
//
// Threads: append() and the numbers from any thread; append() waits for nothing but the copying of
// another record, so it may be called under a stripe. The rest from threads that may wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "persistence/file_system.h"
#include "persistence/log_clock.h"
#include "persistence/log_format.h"

namespace iris::persistence {

// kAlways: written and synced as soon as somebody waits (hurry), one sync for all who do.
// kEverySecond: written within 10 ms, synced before the oldest record is a second old.
// kNever: written within 10 ms, synced by the kernel when it likes. durable() then means written,
// so that nobody waits for a sync that does not come.
enum class SyncPolicy : uint8_t { kAlways, kEverySecond, kNever };

class LogListener {
 public:
  virtual ~LogListener() = default;
  // durable() has grown, the buffer has room again, or failure() has changed. On the log's thread,
  // or on that of the caller of start(), stop() or covered_by_snapshot(): must return at once.
  virtual void log_advanced() = 0;
};

struct LogStatus {
  uint64_t segment_first_lsn = 0;
  uint64_t segment_bytes = 0;  // of the current segment
  uint64_t total_bytes = 0;    // of all segments that are still there
  uint64_t buffered_bytes = 0;
  uint64_t memory_bytes = 0;   // of the buffer, with its spare blocks
  uint64_t delayed_syncs = 0;  // syncs that took longer than a second
  int64_t last_sync_us = 0;
};

struct LogOptions {
  // Null: the machine's own.
  const LogClock* clock = nullptr;
  // backlogged() from here on.
  uint64_t backlog_bytes = uint64_t{64} << 20;
  // False: there is no thread, and whoever calls step() is it (tests).
  bool own_thread = true;
};

// What the first segment of a recording rests on.
enum class LogBase : uint8_t {
  // The state is what recovery has built from the files.
  kRecovered,
  // The state has changed since then without being recorded (appendonly was off). The records make
  // sense only together with a snapshot that is made from now on: until covered_by_snapshot() has
  // said so, recovery drops them. One LSN is used up for what was not recorded.
  kUnrecordedChanges,
};

class Log {
 public:
  // Nothing is touched before start(). `last_lsn` is the largest LSN seen in any file: all that is
  // still there of them counts as durable (recover_log() syncs what it has read).
  Log(FileSystem& files, std::string directory, uint64_t hash_seed, Lsn last_lsn,
      LogListener& listener, LogOptions options = {});
  ~Log();  // stops without a sync if stop() was not called
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Creates a segment and starts recording. An error's text, empty if all is well. After a stop()
  // the base is always kUnrecordedChanges, whatever is said.
  [[nodiscard]] std::string start(SyncPolicy policy, LogBase base = LogBase::kRecovered);
  // Writes and syncs everything, then ends the recording. An error's text, empty if all is well;
  // it is tried only once, and what could not be written is dropped.
  [[nodiscard]] std::string stop();
  void set_policy(SyncPolicy policy);

  // --- producers ---
  // False: appendonly is off and no snapshot runs. Changes only while nobody appends.
  bool recording() const;
  // Returns the record's LSN.
  Lsn append(std::string_view record);
  Lsn end() const;      // of the last record appended
  Lsn durable() const;  // all up to here survive a power cut
  // More waits to be written than the buffer should hold: park writers.
  bool backlogged() const;
  // Somebody waits for durable() to reach end().
  void hurry();
  // Whether the oldest record that is not durable has been so for longer than a second.
  bool sync_is_late() const;

  // --- faults ---
  // A disk call has failed and what it did is not yet made good. Cheap.
  bool failing() const;
  // Which, in a sentence; empty if none.
  std::string failure() const;
  // Only a new snapshot can heal it.
  bool needs_snapshot() const;

  // --- snapshots ---
  // The next record will be the first of a new segment; returns the last LSN before it.
  Lsn cut();
  // Waits until that segment exists and everything before it is written (and synced, unless a sync
  // has failed before). An error's text if it cannot be created.
  [[nodiscard]] std::string wait_for_cut(Lsn lsn);
  // A durable snapshot holds everything up to `lsn`: segments before it are removed, and a failed
  // sync up to there is made good.
  void covered_by_snapshot(Lsn lsn);

  LogStatus status() const;

  // One turn of the log's thread: does what is due. Only without own_thread.
  void step();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace iris::persistence
