// Takes snapshots while the server works on: a fuzzy checkpoint, with no fork and no second copy of
// the data.
//
//     begin    one exclusive step: the log is cut, the keyspace watched
//     list     the keys, slot by slot; who changes a slot that is not listed yet lists it first, so
//              the list is the keyspace as it was at the begin
//     capture  each filter: its header under all its stripes, then its cells chunk by chunk; each
//              copy with the log's end at that moment
//     end      one exclusive step: the log is cut again
//     tail     the records between the two cuts are appended, the file is synced and renamed
//
// What makes it exact, together with replay.h:
//   1. Records name the filter by id and say how its counters change.
//   2. COPY, MERGE and the end of a load make a filter from what may be half captured, so the new
//      one is put on the list as well, and replay of their record takes it from the snapshot.
//   3. A filter that is deleted before it is captured whole is written as hollow: its records are
//      skipped until the one that deletes it.
//
// With appendonly off the log runs only while a snapshot does, for the sake of the tail.
//
// Threads: run() on a thread of its own, which is a member of the world lock; the watcher's members
// are called in the exclusive state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tsl/robin_map.h>

#include "persistence/log.h"
#include "persistence/snapshot_file.h"
#include "server/engine.h"
#include "server/snapshot_content.h"

namespace iris::server {

// For INFO; written by the snapshot's thread.
struct SnapshotProgress {
  std::atomic<uint64_t> keys_done{0};
  std::atomic<uint64_t> keys_in_all{0};
  std::atomic<uint64_t> bytes_done{0};
  std::atomic<uint64_t> bytes_in_all{0};  // about
};

class Snapshotter final : public KeyspaceWatcher {
 public:
  Snapshotter(Engine& engine, persistence::FileSystem& files, std::string directory,
              persistence::Log& log, size_t member, SnapshotProgress& progress);
  ~Snapshotter() override;

  // One whole snapshot. `keep_recording`: appendonly is on. What went wrong in a sentence, empty if
  // all is well.
  [[nodiscard]] std::string run(bool keep_recording);

  void slot_will_change(size_t db, uint32_t slot) override;
  void database_will_change(size_t db) override;
  void value_born(Value& value, Birth::Kind birth) override;
  void value_dropped(const Value& value) override;

 private:
  std::string begin(bool keep_recording);
  void list_keys();
  void list_slot(size_t db, uint32_t slot);
  void write_keys();
  void add(Value& value);
  std::string end(bool keep_recording);
  void forget(bool keep_recording);

  bool capture_next();
  Value* still_there(uint64_t id);
  void capture_filter(uint64_t id);
  bool copy_header(SavedFilter& saved, std::string& header, std::vector<uint64_t>& layer_ends);
  bool copy_cells(SavedCells& cells);
  void capture_load(uint64_t id);
  void write_hollow(uint64_t id);

  Engine& engine_;
  persistence::FileSystem& files_;
  const std::string directory_;
  persistence::Log& log_;
  const size_t member_;
  SnapshotProgress& progress_;

  persistence::Lsn begin_ = 0;
  persistence::Lsn end_ = 0;
  bool complete_ = false;
  std::unique_ptr<persistence::SnapshotWriter> writer_;
  std::vector<std::vector<bool>> listed_;  // by database and slot
  std::string keys_;                       // listed and not written yet
  // What is to be captured, in order; by id where it is, null once it is gone.
  std::vector<uint64_t> queue_;
  size_t next_ = 0;
  tsl::robin_map<uint64_t, Value*> values_;
  std::string buffer_;
};

}  // namespace iris::server
