#include "persistence/snapshot_writer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "filters/check.h"
#include "persistence/data_directory.h"
#include "persistence/log_reader.h"

namespace iris::persistence {

namespace {

// Everything is gathered to whole blocks, which go to the disk past the kernel's memory. There they
// would cost a second copy of the data, drive out what others use, and be written in bursts that
// stop clients: a snapshot of 1.2 GB took 6 s that way, and takes 2 s.
constexpr size_t kBufferBytes = size_t{1} << 20;
static_assert(kBufferBytes % File::kBlockBytes == 0);

// The file is synced now and then while it grows. One sync of a gigabyte at the end would keep the
// disk busy for seconds, and the log's syncs, for which clients wait, would stand behind it.
constexpr uint64_t kSyncEveryBytes = uint64_t{32} << 20;

std::string sentence(std::string_view what, const std::string& path, int error) {
  return "cannot " + std::string(what) + " " + path + ": " +
         std::generic_category().message(-error);
}

// At most `size` bytes off the front of `bytes`.
std::string_view take(std::string_view& bytes, uint64_t size) {
  const std::string_view front = bytes.substr(0, size);
  bytes.remove_prefix(front.size());
  return front;
}

}  // namespace

class SnapshotWriter::Impl {
 public:
  Impl(FileSystem& files, std::string directory, Lsn begin, uint64_t salt)
      : files_(files),
        directory_(std::move(directory)),
        temporary_path_(path_in(directory_, temporary_name(snapshot_name(begin)))),
        salt_(salt),
        begin_(begin),
        tail_end_(begin),
        buffer_(new Buffer) {}

  ~Impl() {
    if (!temporary_) return;
    file_.reset();
    // If this fails too, the next start removes it: its name says that it is unfinished.
    static_cast<void>(files_.remove(temporary_path_));
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void open(uint64_t hash_seed);
  void frame(FrameType type, std::string_view head, std::string_view body);
  void records(Lsn first, uint64_t count, std::string_view records);
  void append_tail(Lsn end);
  std::string finish(Lsn end);

  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  uint64_t bytes() const { return written_bytes_ + buffered_bytes_; }

 private:
  void fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
  }

  std::string append_segment(Lsn first, Lsn end);
  void write_frame(FrameType type, std::string_view head, std::string_view body);
  void put_hashed(std::string_view bytes);
  void put(std::string_view bytes);
  void flush();
  void write(std::string_view bytes);
  void sync();
  void publish(Lsn end);
  void remove_older(Lsn end);

  FileSystem& files_;
  const std::string directory_;
  const std::string temporary_path_;
  const uint64_t salt_;
  const Lsn begin_;
  Lsn tail_end_;            // of the last record that was appended
  bool temporary_ = false;  // a file with the temporary name is ours to remove
  bool finished_ = false;
  std::unique_ptr<File> file_;
  std::string error_;  // the first; nothing is written after it

  struct alignas(File::kBlockBytes) Buffer {
    char bytes[kBufferBytes];
  };
  std::unique_ptr<Buffer> buffer_;
  size_t buffered_bytes_ = 0;
  uint64_t written_bytes_ = 0;
  uint64_t synced_bytes_ = 0;
  uint64_t frames_ = 0;
  XXH3_state_t hash_;
};

void SnapshotWriter::Impl::open(uint64_t hash_seed) {
  OpenedFile opened = files_.create(temporary_path_);
  if (opened.error == -EEXIST) {
    static_cast<void>(files_.remove(temporary_path_));
    opened = files_.create(temporary_path_);
  }
  if (opened.file == nullptr) {
    fail(sentence("create", temporary_path_, opened.error));
    return;
  }
  file_ = std::move(opened.file);
  file_->bypass_cache();
  temporary_ = true;
  put(kSnapshotMagic);
  write_frame(FrameType::kBegin,
              begin_payload({.salt = salt_, .lsn = begin_, .hash_seed = hash_seed}), {});
}

void SnapshotWriter::Impl::frame(FrameType type, std::string_view head, std::string_view body) {
  CHECK(!finished_);
  while (head.size() + body.size() > kMaxPayloadBytes) {
    const std::string_view part_head = take(head, kMaxPayloadBytes);
    const std::string_view part_body = take(body, kMaxPayloadBytes - part_head.size());
    write_frame(FrameType::kPart, part_head, part_body);
  }
  write_frame(type, head, body);
}

void SnapshotWriter::Impl::records(Lsn first, uint64_t count, std::string_view records) {
  CHECK(first == tail_end_ + 1 && count > 0);
  tail_end_ += count;
  frame(FrameType::kRecords, records_head(first, count), records);
}

void SnapshotWriter::Impl::append_tail(Lsn end) {
  CHECK(end >= tail_end_);
  if (failed() || end == tail_end_) return;
  DataFiles found;
  if (const int error = list_data_files(files_, directory_, found); error < 0) {
    fail(sentence("list", directory_, error));
    return;
  }
  // One problem is none: a batch that was torn by a failing disk and could not be cut off stands
  // at the end of its segment, and again, whole, at the start of the next. What counts is that
  // every record was found.
  std::string problem;
  for (const Lsn first : found.logs) {
    if (first <= begin_ || first > end) continue;
    const std::string text = append_segment(first, end);
    if (!text.empty()) problem = log_name(first) + ": " + text;
    if (failed()) return;
  }
  if (tail_end_ != end) {
    fail("the log ends at LSN " + std::to_string(tail_end_) + " instead of " + std::to_string(end) +
         (problem.empty() ? "" : " (" + problem + ")"));
  }
}

// The records of one segment up to the first that does not fit. Half a sentence if there is one.
std::string SnapshotWriter::Impl::append_segment(Lsn first, Lsn end) {
  SegmentReader segment(files_, directory_, first);
  uint64_t offset = kSegmentHeaderBytes;
  if (segment.error() == 0 && !segment.header()) return "the header is not right";
  while (segment.error() == 0 && !failed() && offset < segment.size_bytes()) {
    const std::optional<BatchLine> line = segment.line_at(offset);
    std::string_view bytes;
    if (!line || line->first != tail_end_ + 1 || line->records > end - tail_end_ ||
        !segment.records_at(offset, *line, bytes)) {
      if (segment.error() != 0) break;
      return "a bad batch at byte " + std::to_string(offset);
    }
    // The log's batches are of the right size: up to 1 MB, or one record that is larger.
    if (line->records > 0) records(line->first, line->records, bytes);
    offset += line->line_bytes + line->bytes;
  }
  return segment.error() == 0 ? "" : std::generic_category().message(-segment.error());
}

void SnapshotWriter::Impl::write_frame(FrameType type, std::string_view head,
                                       std::string_view body) {
  if (failed()) return;
  const uint64_t payload_bytes = head.size() + body.size();
  CHECK(payload_bytes <= kMaxPayloadBytes);
  char frame_head[kFrameHeadBytes] = {};
  std::memcpy(frame_head, &type, sizeof type);
  std::memcpy(frame_head + 8, &payload_bytes, sizeof payload_bytes);
  constexpr char kZeros[8] = {};

  XXH3_64bits_reset_withSeed(&hash_, frame_seed(salt_, frames_));
  put_hashed({frame_head, sizeof frame_head});
  put_hashed(head);
  put_hashed(body);
  put_hashed({kZeros, padding_bytes(payload_bytes)});
  const uint64_t checksum = XXH3_64bits_digest(&hash_);
  put({reinterpret_cast<const char*>(&checksum), sizeof checksum});
  ++frames_;
}

void SnapshotWriter::Impl::put_hashed(std::string_view bytes) {
  XXH3_64bits_update(&hash_, bytes.data(), bytes.size());
  put(bytes);
}

void SnapshotWriter::Impl::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = take(bytes, kBufferBytes - buffered_bytes_);
    std::memcpy(buffer_->bytes + buffered_bytes_, piece.data(), piece.size());
    buffered_bytes_ += piece.size();
    if (buffered_bytes_ == kBufferBytes) flush();
  }
}

void SnapshotWriter::Impl::flush() {
  write({buffer_->bytes, std::exchange(buffered_bytes_, 0)});
}

void SnapshotWriter::Impl::write(std::string_view bytes) {
  while (!bytes.empty() && !failed()) {
    const int64_t taken = file_->append(bytes);
    if (taken <= 0) {
      fail(sentence("write", temporary_path_, taken < 0 ? static_cast<int>(taken) : -EIO));
      return;
    }
    bytes.remove_prefix(static_cast<size_t>(taken));
    written_bytes_ += static_cast<uint64_t>(taken);
    if (written_bytes_ - synced_bytes_ >= kSyncEveryBytes) sync();
  }
}

void SnapshotWriter::Impl::sync() {
  if (failed()) return;
  if (const int error = file_->sync(); error < 0) fail(sentence("sync", temporary_path_, error));
  synced_bytes_ = written_bytes_;
}

std::string SnapshotWriter::Impl::finish(Lsn end) {
  CHECK(!finished_);
  if (!failed() && tail_end_ != end) {
    fail("the redo tail of " + temporary_path_ + " ends at " + std::to_string(tail_end_) +
         ", not at " + std::to_string(end));
  }
  write_frame(FrameType::kEnd, end_payload({.lsn = end, .frames = frames_ + 1}), {});
  flush();
  sync();
  finished_ = true;
  if (!failed()) publish(end);
  return error_;
}

void SnapshotWriter::Impl::publish(Lsn end) {
  file_.reset();
  const std::string final_path = path_in(directory_, snapshot_name(end));
  if (const int error = files_.rename(temporary_path_, final_path); error < 0) {
    fail(sentence("rename", temporary_path_, error));
    return;
  }
  temporary_ = false;
  if (const int error = files_.sync_directory(directory_); error < 0) {
    fail(sentence("sync", directory_, error));
    return;
  }
  remove_older(end);
}

void SnapshotWriter::Impl::remove_older(Lsn end) {
  DataFiles found;
  if (list_data_files(files_, directory_, found) < 0) return;
  for (const Lsn lsn : found.snapshots) {
    if (lsn < end) static_cast<void>(files_.remove(path_in(directory_, snapshot_name(lsn))));
  }
}

std::unique_ptr<SnapshotWriter> SnapshotWriter::create(FileSystem& files,
                                                       const std::string& directory, Lsn begin,
                                                       uint64_t hash_seed, std::string& error) {
  return create_with_salt(files, directory, begin, hash_seed, random_salt().low, error);
}

std::unique_ptr<SnapshotWriter> SnapshotWriter::create_with_salt(FileSystem& files,
                                                                 const std::string& directory,
                                                                 Lsn begin, uint64_t hash_seed,
                                                                 uint64_t salt,
                                                                 std::string& error) {
  auto impl = std::make_unique<Impl>(files, directory, begin, salt);
  impl->open(hash_seed);
  error = impl->error();
  if (impl->failed()) return nullptr;
  return std::unique_ptr<SnapshotWriter>(new SnapshotWriter(std::move(impl)));
}

SnapshotWriter::SnapshotWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SnapshotWriter::~SnapshotWriter() = default;

void SnapshotWriter::frame(FrameType type, std::string_view head, std::string_view body) {
  CHECK(type != FrameType::kBegin && type != FrameType::kEnd && type != FrameType::kPart &&
        type != FrameType::kRecords);
  impl_->frame(type, head, body);
}

bool SnapshotWriter::failed() const {
  return impl_->failed();
}

uint64_t SnapshotWriter::bytes() const {
  return impl_->bytes();
}

void SnapshotWriter::records(Lsn first, uint64_t count, std::string_view records) {
  impl_->records(first, count, records);
}

void SnapshotWriter::append_tail(Lsn end) {
  impl_->append_tail(end);
}

std::string SnapshotWriter::finish(Lsn end) {
  return impl_->finish(end);
}

}  // namespace iris::persistence
