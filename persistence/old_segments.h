// The segments that are no longer written to, until a snapshot makes them superfluous.
//
// Removing a big file takes the file system a while, so it is done by the thread that asks for it
// (the snapshot's), never by the log's. A segment whose removal failed stays on the list and goes
// with a later snapshot.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "persistence/file_system.h"
#include "persistence/log_format.h"

namespace iris::persistence {

class OldSegments {
 public:
  OldSegments(FileSystem& files, std::string directory);

  // Lists what is in the directory; none of it holds a record beyond `last`. 0 or -errno.
  [[nodiscard]] int find(Lsn last);
  void add(Lsn first, Lsn last, uint64_t size_bytes);
  // Another file has taken the name.
  void forget(Lsn first);
  // Removes those that hold no record beyond `lsn`.
  void remove_covered(Lsn lsn);
  uint64_t total_bytes() const;

 private:
  struct Segment {
    Lsn first;
    Lsn last;
    uint64_t size_bytes;
  };

  FileSystem& files_;
  const std::string directory_;
  mutable std::mutex mutex_;
  std::vector<Segment> segments_;
};

}  // namespace iris::persistence
