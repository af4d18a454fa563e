// Reads a snapshot file, frame after frame, and believes nothing that its checksum does not
// vouch for.
//
//   1. No payload is handed out before its frame's checksum was compared.
//   2. No memory is asked for that the file's own size does not bound.
//   3. The end is reached only if every frame was there, in order, the tail has no gap, and the
//      file ends with the end frame.
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

struct SnapshotFrame {
  FrameType type;
  std::string_view payload;  // valid until the next call; starts at a multiple of 8
};

class SnapshotReader {
 public:
  // Opens a file and checks its first frame. Null and an error's text, or a reader.
  [[nodiscard]] static std::unique_ptr<SnapshotReader> open(FileSystem& files,
                                                            const std::string& path,
                                                            std::string& error);
  ~SnapshotReader();
  SnapshotReader(const SnapshotReader&) = delete;
  SnapshotReader& operator=(const SnapshotReader&) = delete;

  Lsn begin() const;
  uint64_t hash_seed() const;
  // The next frame, checked; never kBegin, kEnd or kPart. False at the end or on damage: error()
  // tells which. A kRecords payload has a head that parse_records() understands and goes on where
  // the one before ended; the records themselves are for the caller to read.
  [[nodiscard]] bool next(SnapshotFrame& frame);
  // After next() returned false: empty if the end frame was met, and then end() is valid.
  // Otherwise a sentence with the file's name and an offset.
  const std::string& error() const;
  Lsn end() const;
  uint64_t bytes_read() const;
  uint64_t bytes_in_all() const;

  // From now on the parts of a large payload are handed out one by one, each as kPart but the
  // last: not much more than 64 MB of memory are used then.
  void leave_parts_apart();
  uint64_t frames_read() const;  // as they are in the file, the first one included

 private:
  class Impl;
  explicit SnapshotReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iris::persistence
