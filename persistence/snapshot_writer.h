// Writes a snapshot file, frame after frame, so that it is either there as a whole or not at all.
//
//   1. The file has a temporary name until every byte of it is synced.
//   2. Older snapshots are removed only when the new name is synced too.
//   3. A sync that has failed is never tried again: the whole file is given up.
//   4. After the rename the file is never removed: it is whole, and it may have taken the place of
//      a snapshot of the same LSN.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "persistence/file_system.h"
#include "persistence/snapshot_format.h"

namespace iris::persistence {

class SnapshotWriter {
 public:
  // Begins a file with a temporary name. Null and an error's text, or a writer. A leftover of the
  // same name is removed: only one snapshot is written at a time.
  [[nodiscard]] static std::unique_ptr<SnapshotWriter> create(FileSystem& files,
                                                              const std::string& directory,
                                                              Lsn begin, uint64_t hash_seed,
                                                              std::string& error);
  // The same with a salt that is not random, for tests that compare bytes.
  [[nodiscard]] static std::unique_ptr<SnapshotWriter> create_with_salt(
      FileSystem& files, const std::string& directory, Lsn begin, uint64_t hash_seed, uint64_t salt,
      std::string& error);
  ~SnapshotWriter();  // removes the file unless it got its final name
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // A frame with the payload head + body, of any size; both are done with when this returns. Not
  // for the types that are the writer's own, nor for kRecords. Errors are kept: frames after one
  // go nowhere, and finish() tells.
  void frame(FrameType type, std::string_view head, std::string_view body = {});
  bool failed() const;
  uint64_t bytes() const;  // of the file so far

  // Appends records to the redo tail, as one frame. The first of all is begin + 1, and each call
  // goes on where the one before ended.
  void records(Lsn first, uint64_t count, std::string_view records);
  // Appends the records of the log's segments (begin, end]; the log was cut at both and has
  // written them.
  void append_tail(Lsn end);
  // Ends, syncs and renames the file, syncs the directory and removes older snapshots. An error's
  // text, empty if all is well; an older snapshot that cannot be removed is no error, the next one
  // tries again. The tail must reach to `end`. Once.
  [[nodiscard]] std::string finish(Lsn end);

 private:
  class Impl;
  explicit SnapshotWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iris::persistence
