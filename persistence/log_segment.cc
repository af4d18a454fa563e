#include "persistence/log_segment.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "filters/check.h"
#include "persistence/data_directory.h"

namespace iris::persistence {

namespace {

// The sync that follows has to write the length, and all others until this is used up need not.
constexpr uint64_t kPreparedBytes = 64 * 1024;
// A larger batch costs the disk more than the length of the file does.
constexpr uint64_t kSmallBatchBytes = kPreparedBytes / 16;

// All bytes or -errno; a short write is followed by another.
int append_all(File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const int64_t taken = file.append(bytes);
    if (taken < 0) return static_cast<int>(taken);
    if (taken == 0) return -EIO;  // neither progress nor a reason: do not go round for ever
    bytes.remove_prefix(static_cast<size_t>(taken));
  }
  return 0;
}

// The header of a file that holds nothing else, if it has one. -ENOTEMPTY if it holds more.
int look_at_empty_segment(FileSystem& files, const std::string& path,
                          std::optional<SegmentHeader>& header) {
  const OpenedFile opened = files.open_for_reading(path);
  if (opened.file == nullptr) return opened.error;
  const int64_t size = opened.file->size();
  if (size < 0) return static_cast<int>(size);
  if (static_cast<uint64_t>(size) > kSegmentHeaderBytes) return -ENOTEMPTY;
  std::array<char, kSegmentHeaderBytes> bytes;
  const int64_t count = opened.file->read(0, bytes);
  if (count < 0) return static_cast<int>(count);
  header = parse_header({bytes.data(), static_cast<size_t>(count)});
  return 0;
}

// Creates the file, out of the way of an empty one.
OpenedFile create_or_replace(FileSystem& files, const std::string& path, SegmentHeader& header) {
  OpenedFile opened = files.create(path);
  if (opened.error != -EEXIST) return opened;
  std::optional<SegmentHeader> old;
  int error = look_at_empty_segment(files, path, old);
  if (error == 0) error = files.remove(path);
  if (error != 0) return {.file = nullptr, .error = error};
  if (old && old->first == header.first) header.follows = old->follows;
  return files.create(path);
}

}  // namespace

std::string disk_error_text(std::string_view doing, int error, std::string_view name) {
  return std::string("Error ")
      .append(doing)
      .append(": ")
      .append(std::generic_category().message(-error))
      .append(" (")
      .append(name)
      .append(")");
}

LogSegment::LogSegment(std::unique_ptr<File> file, const SegmentHeader& header, std::string name)
    : file_(std::move(file)), header_(header), name_(std::move(name)) {}

std::unique_ptr<LogSegment> LogSegment::create(FileSystem& files, const std::string& directory,
                                               SegmentHeader header, std::string& error) {
  std::string name = log_name(header.first);
  const std::string path = path_in(directory, name);
  header.salt = random_salt();
  OpenedFile opened = create_or_replace(files, path, header);
  int failed = opened.error;
  if (opened.file != nullptr) {
    failed = append_all(*opened.file, encode_header(header));
    if (failed == 0) failed = opened.file->sync();
    if (failed == 0) failed = files.sync_directory(directory);
    // Should this fail as well, an empty segment stays behind, which recovery understands.
    if (failed != 0) static_cast<void>(files.remove(path));
  }
  if (failed != 0) {
    error = disk_error_text("creating a segment of the log", failed, name);
    return nullptr;
  }
  return std::unique_ptr<LogSegment>(
      new LogSegment(std::move(opened.file), header, std::move(name)));
}

int LogSegment::append_batch(BatchLine line, char* records) {
  char text[kMaxBatchLineBytes];
  const size_t line_bytes = encode_line(header_.salt, {records, line.bytes}, line, text);
  // Right in front of the records: one call writes both.
  std::memcpy(records - line_bytes, text, line_bytes);
  const int error = append_whole({records - line_bytes, line_bytes + line.bytes});
  if (error == 0) dirty_ = true;
  return error;
}

int LogSegment::append_end(Lsn next, Lsn synced) {
  char text[kMaxBatchLineBytes];
  BatchLine line{.first = next, .records = 0, .bytes = 0, .synced = synced};
  const size_t line_bytes = encode_line(header_.salt, {}, line, text);
  return append_whole({text, line_bytes});
}

int LogSegment::append_whole(std::string_view bytes) {
  CHECK(appendable_);
  const int error = append_all(*file_, bytes);
  if (error == 0) {
    size_bytes_ += bytes.size();
  } else if (file_->truncate(size_bytes_) != 0) {
    appendable_ = false;  // invariant 2
  }
  if (error != 0) prepared_ = 0;
  return error;
}

void LogSegment::prepare(uint64_t batch_bytes) {
  const uint64_t end = size_bytes_ + kMaxBatchLineBytes + batch_bytes;
  if (batch_bytes > kSmallBatchBytes || end <= prepared_ || !preparable_ || doomed_) return;
  prepared_ = end + kPreparedBytes;
  preparable_ = file_->prepare(prepared_) == 0;
  if (!preparable_) drop_prepared();  // the disk may be full: the batch itself needs the room
}

void LogSegment::drop_prepared() {
  // Should it fail, zeros stay behind, which recovery understands.
  if (prepared_ > size_bytes_) static_cast<void>(file_->truncate(size_bytes_));
  prepared_ = 0;
}

int LogSegment::sync() {
  CHECK(!doomed_);  // invariant 4
  const int error = file_->sync();
  if (error == 0) {
    dirty_ = false;
  } else {
    doomed_ = true;
  }
  return error;
}

}  // namespace iris::persistence
