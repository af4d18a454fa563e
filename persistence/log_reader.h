// One segment of the log, read: its header, a line, the records of a batch, and, behind something
// that is broken, the next line that is not.
//
// Invariants
//   1. Nothing is believed that was not checked: a line by its own checksum, records by theirs. No
//      memory is got for a length before it was checked and found to lie within the file.
//   2. An error of the disk is not a torn batch: after one, error() tells, and all answers are
//      "nothing there".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "persistence/file_system.h"
#include "persistence/log_format.h"

namespace iris::persistence {

class SegmentReader {
 public:
  // Opens the segment and reads its header.
  SegmentReader(FileSystem& files, const std::string& directory, Lsn first);

  // 0 or -errno.
  int error() const { return error_; }
  uint64_t size_bytes() const { return size_bytes_; }
  // Empty: it is not right, or not the one that belongs to the file's name.
  const std::optional<SegmentHeader>& header() const { return header_; }

  // The line at `offset`; empty if there is none, or the file ends before its batch does.
  std::optional<BatchLine> line_at(uint64_t offset);
  // The records behind that line; valid until the next call. False if they are not sound.
  [[nodiscard]] bool records_at(uint64_t offset, const BatchLine& line, std::string_view& records);

  struct Found {
    uint64_t offset;
    BatchLine line;
  };
  // The first sound line at `offset` or behind it, whatever lies before it. Its batch may be torn.
  std::optional<Found> find_line(uint64_t offset);
  // Space that was prepared and not used, or what a power cut left. No batch ends with a zero.
  bool only_zeros_from(uint64_t offset);

 private:
  // The bytes from `offset` on, `size` of them or as many as there are; valid until the next call.
  std::string_view view(uint64_t offset, uint64_t size);

  std::unique_ptr<File> file_;
  int error_ = 0;
  uint64_t size_bytes_ = 0;
  std::optional<SegmentHeader> header_;

  std::string window_;  // a part of the file, from window_begin_ on
  uint64_t window_begin_ = 0;
  uint64_t read_bytes_ = kSegmentHeaderBytes;  // at once, if no more is wanted
};

}  // namespace iris::persistence
