// The disk side of the log: writes what was taken from the buffer, syncs it, changes segments, and
// knows what of it a power cut would leave. Used by one thread; looks at no clock.
//
// Four numbers, all LSNs:
//
//     written     the last record that is in a file
//     synced      all up to here survive a power cut. This is what lines and headers claim
//     hole end    0, or: the records from synced to here are not sure to be on disk, and no sync
//     will
//                 change that. Only a snapshot at hole end or beyond does
//     beyond      synced behind the hole; becomes synced when the hole is covered
//
// A hole comes from a failed sync, from a torn batch that could not be cut off, or from a time in
// which nothing was recorded (its changes count as one record that is nowhere). A hole of the first
// two kinds is a failure, and durable() stands still. One of the third kind is none: the owner
// has not promised anything before its snapshot is done; but no line may claim to be synced, or
// recovery would take the missing snapshot for damage.
//
// Invariants
//   1. Blocks are written in order, each whole, as one batch. A block leaves the writer only after
//      it was written.
//   2. A segment is synced before its successor is created, unless it cannot be (doomed): then the
//      hole ends behind its last record.
//   3. What cannot be appended to the current segment goes to a new one.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "persistence/file_system.h"
#include "persistence/log_buffer.h"
#include "persistence/log_format.h"
#include "persistence/log_segment.h"
#include "persistence/old_segments.h"

namespace iris::persistence {

class LogWriter {
 public:
  LogWriter(FileSystem& files, std::string directory, uint64_t hash_seed, Lsn last_lsn,
            LogBuffer& buffer, OldSegments& old_segments);

  // Opens the segment that will begin with last + 1. `unrecorded`: the state has changed without
  // records, for which the number `last` was used up. An error's text, empty if all is well.
  [[nodiscard]] std::string open(Lsn last, bool unrecorded);
  // Syncs, marks the end of the segment, and closes it. What is not written is dropped. An error's
  // text, empty if all is well.
  [[nodiscard]] std::string close();

  void take(LogBuffer::Taken taken);
  // Writes what was taken, as far as it goes, and makes the cuts. `prepare`: a sync follows each
  // write, and should be quick.
  void write(bool prepare);
  // Only if there is something to sync().
  void sync();
  void covered_by_snapshot(Lsn lsn);

  bool must_sync() const;
  Lsn written() const { return written_; }
  // `unsynced_counts`: nobody waits for syncs, so what is written is as good as durable.
  Lsn durable(bool unsynced_counts) const;

  // Times of the oldest record: that is written and could be synced; that is not durable. 0: none.
  int64_t unsynced_since_ns() const { return unsynced_since_ns_; }
  int64_t not_durable_since_ns() const;

  bool write_failing() const { return !write_failure_.empty(); }
  bool needs_snapshot() const { return !sync_failure_.empty(); }
  const std::string& failure() const { return needs_snapshot() ? sync_failure_ : write_failure_; }

  uint64_t cuts_finished() const { return cuts_finished_; }
  // Of the last one that is finished; empty if all is well.
  const std::string& cut_error() const { return cut_error_; }

  const LogSegment* segment() const { return segment_.get(); }

 private:
  bool write_block(LogBlock& block, bool prepare);
  [[nodiscard]] std::string change_segment(Lsn first);
  [[nodiscard]] std::string finish_cut(Lsn lsn);
  void fail_cuts();
  void retire_segment();
  void make_hole(const std::string& failure);
  bool segment_takes_records() const;

  FileSystem& files_;
  const std::string directory_;
  const uint64_t hash_seed_;
  LogBuffer& buffer_;
  OldSegments& old_segments_;

  std::unique_ptr<LogSegment> segment_;  // null only while none could be created
  LogBlockList waiting_;
  std::deque<Lsn> cuts_;
  uint64_t cuts_finished_ = 0;
  std::string cut_error_;

  Lsn written_;
  Lsn synced_;
  Lsn hole_end_ = 0;
  Lsn beyond_ = 0;

  std::string write_failure_;
  std::string sync_failure_;
  int64_t waiting_since_ns_ = 0;
  int64_t unsynced_since_ns_ = 0;
  int64_t hole_since_ns_ = 0;
};

}  // namespace iris::persistence
