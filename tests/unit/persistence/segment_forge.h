// Segments of the log built by hand, batch by batch, for tests of those who read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "persistence/data_directory.h"
#include "persistence/log_format.h"
#include "tests/unit/persistence/memory_files.h"

namespace iris::persistence {

class SegmentForge {
 public:
  explicit SegmentForge(Lsn first, Lsn synced = 0) : SegmentForge(first, first - 1, synced) {}

  SegmentForge(Lsn first, Lsn follows, Lsn synced) : first_(first), next_(first) {
    header_.first = first;
    header_.follows = follows;
    header_.synced = synced;
    header_.hash_seed = 7;
    header_.salt = {.high = 0x0123456789abcdef, .low = 0xfedcba9876543210};
    bytes_ = encode_header(header_);
  }

  SegmentForge& batch(const std::vector<std::string>& records, Lsn synced = 0) {
    std::string joined;
    for (const std::string& record : records) joined += record;
    return raw_batch(joined, records.size(), synced);
  }

  SegmentForge& raw_batch(const std::string& records, uint64_t count, Lsn synced = 0) {
    BatchLine line;
    line.first = next_;
    line.records = count;
    line.bytes = records.size();
    line.synced = synced;
    char text[kMaxBatchLineBytes];
    const size_t size = encode_line(header_.salt, records, line, text);
    offsets_.push_back(bytes_.size());
    last_batch_first_ = next_;
    bytes_.append(text, size).append(records);
    next_ += count;
    return *this;
  }

  // The last line of a segment that ends in good order.
  SegmentForge& end(Lsn synced) { return raw_batch("", 0, synced); }

  SegmentForge& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  std::string path() const { return path_in(kDataDirectory, log_name(first_)); }
  void write_to(MemoryFiles& files) const { files.set_content(path(), bytes_); }
  std::string& bytes() { return bytes_; }
  Lsn next() const { return next_; }
  Lsn last_batch_first() const { return last_batch_first_; }
  // Where the batches begin.
  const std::vector<size_t>& offsets() const { return offsets_; }

 private:
  Lsn first_;
  Lsn next_;
  Lsn last_batch_first_ = first_;
  SegmentHeader header_;
  std::string bytes_;
  std::vector<size_t> offsets_;
};

}  // namespace iris::persistence
