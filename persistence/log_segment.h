// One segment of the log as it is being written: a file that only ever ends with a whole batch, as
// far as the disk lets it.
//
// Invariants
//   1. The file and its name are synced with the header before the segment exists for anybody
//      (create() returns it), so nothing is ever appended to a file that a power cut may forget.
//   2. A batch that could not be written whole is cut off again. If that fails too, the segment is
//      not appendable() any more: what comes behind a torn batch could not be read.
//   3. Zeros may lie behind the last batch: space that was prepared for the next ones. They are cut
//      off with the segment's end, and by recovery.
//   4. After one failed sync the file is never synced again (is doomed()): the kernel may have
//      dropped what it could not write, and the next sync would say that all is well.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "persistence/file_system.h"
#include "persistence/log_format.h"

namespace iris::persistence {

// "Error <doing>: No space left on device (iris-....log)"
std::string disk_error_text(std::string_view doing, int error, std::string_view name);

class LogSegment {
 public:
  // Creates the file named by header.first, in place of an empty segment of that name if there is
  // one: then its `follows` is kept, since only it knows what was lost before. Null and an error's
  // text, or a segment.
  [[nodiscard]] static std::unique_ptr<LogSegment> create(FileSystem& files,
                                                          const std::string& directory,
                                                          SegmentHeader header, std::string& error);

  // Appends a batch: `records` with room for the line in front of them. 0 or -errno.
  [[nodiscard]] int append_batch(BatchLine line, char* records);
  // Makes room for a batch and many more like it, if there is none: the syncs of small batches get
  // faster, and the disk writes every byte twice. No harm if it refuses; it is not asked again.
  void prepare(uint64_t batch_bytes);
  // Before the segment is left.
  void drop_prepared();
  // The last line of a segment that ends in good order: it says what is synced.
  [[nodiscard]] int append_end(Lsn next, Lsn synced);
  [[nodiscard]] int sync();

  bool appendable() const { return appendable_; }
  bool doomed() const { return doomed_; }
  // Records were appended since the last sync.
  bool dirty() const { return dirty_; }
  bool empty() const { return size_bytes_ == kSegmentHeaderBytes; }
  Lsn first() const { return header_.first; }
  uint64_t size_bytes() const { return size_bytes_; }
  const std::string& name() const { return name_; }

 private:
  LogSegment(std::unique_ptr<File> file, const SegmentHeader& header, std::string name);

  [[nodiscard]] int append_whole(std::string_view bytes);

  const std::unique_ptr<File> file_;
  const SegmentHeader header_;
  const std::string name_;
  uint64_t size_bytes_ = kSegmentHeaderBytes;  // up to the last whole batch
  uint64_t prepared_ = 0;                      // up to here the file has zeros, or 0
  bool preparable_ = true;
  bool appendable_ = true;
  bool doomed_ = false;
  bool dirty_ = false;
};

}  // namespace iris::persistence
