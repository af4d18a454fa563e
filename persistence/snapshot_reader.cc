#include "persistence/snapshot_reader.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "persistence/data_directory.h"
#include "persistence/snapshot_window.h"

namespace iris::persistence {

namespace {

// Memory that may be refused. A std::string would throw.
class Bytes {
 public:
  // Keeps the first `keep` bytes.
  [[nodiscard]] bool reserve(size_t capacity, size_t keep) {
    if (capacity <= capacity_) return true;
    std::unique_ptr<char[]> larger(new (std::nothrow) char[capacity]);
    if (larger == nullptr) return false;
    if (keep > 0) std::memcpy(larger.get(), data_.get(), keep);
    data_ = std::move(larger);
    capacity_ = capacity;
    return true;
  }
  char* data() { return data_.get(); }
  size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
};

struct FrameHead {
  uint32_t type = 0;
  uint32_t reserved = 0;
  uint64_t payload_bytes = 0;
};
static_assert(sizeof(FrameHead) == kFrameHeadBytes);

}  // namespace

class SnapshotReader::Impl {
 public:
  Impl(std::unique_ptr<File> file, std::string path, uint64_t size_bytes)
      : file_(std::move(file)), path_(std::move(path)), window_(*file_, size_bytes) {}

  void read_begin();
  bool next(SnapshotFrame& frame);

  std::unique_ptr<File> file_;
  const std::string path_;
  ReadWindow window_;
  bool join_parts_ = true;
  bool ended_ = false;
  std::string error_;
  SnapshotBegin begin_;
  SnapshotEnd end_;
  uint64_t offset_ = 0;  // of the next frame
  uint64_t frames_ = 0;  // that were read

 private:
  uint64_t bytes_left() const { return window_.file_bytes() - offset_; }

  // Both return false, so that a check reads `return damage(...)`.
  bool damage(const std::string& what);
  bool fail(const std::string& what);

  [[nodiscard]] bool look(uint64_t size, std::string_view& view);
  [[nodiscard]] bool read_frame(SnapshotFrame& frame);
  [[nodiscard]] bool check_head(const FrameHead& head);
  [[nodiscard]] bool add_part(std::string_view payload);
  [[nodiscard]] bool join(std::string_view& payload);
  [[nodiscard]] bool check_tail(std::string_view head);
  [[nodiscard]] bool check_end(std::string_view payload);

  uint64_t frame_offset_ = 0;  // of the frame that is being read
  Lsn tail_end_ = 0;

  // The parts of a payload that is not whole yet.
  bool in_parts_ = false;
  Bytes parts_;
  size_t parts_bytes_ = 0;
  std::string parts_head_;  // what check_tail() needs of them
};

bool SnapshotReader::Impl::fail(const std::string& what) {
  if (error_.empty()) error_ = path_ + ": " + what;
  return false;
}

bool SnapshotReader::Impl::damage(const std::string& what) {
  return fail("offset " + std::to_string(frame_offset_) + ": " + what);
}

// The bytes at offset_. The caller has seen to it that the file is as long as that.
bool SnapshotReader::Impl::look(uint64_t size, std::string_view& view) {
  return window_.look(offset_, size, view) || damage(window_.error());
}

bool SnapshotReader::Impl::check_head(const FrameHead& head) {
  if (head.type == 0 || head.type > kLastFrameType || head.reserved != 0 ||
      head.payload_bytes > kMaxPayloadBytes) {
    return damage("there is no frame");
  }
  const uint64_t frame_bytes = kFrameHeadBytes + head.payload_bytes +
                               padding_bytes(head.payload_bytes) + kFrameChecksumBytes;
  if (frame_bytes > bytes_left()) return damage("the file ends within a frame");
  return true;
}

// One frame as it stands in the file. Moves on if its checksum is right.
bool SnapshotReader::Impl::read_frame(SnapshotFrame& frame) {
  frame_offset_ = offset_;
  if (bytes_left() == 0) return damage("the file ends without an end frame");
  if (bytes_left() < kFrameHeadBytes) return damage("the file ends within a frame");
  std::string_view bytes;
  if (!look(kFrameHeadBytes, bytes)) return false;
  FrameHead head;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (!check_head(head)) return false;

  const uint64_t covered_bytes =
      kFrameHeadBytes + head.payload_bytes + padding_bytes(head.payload_bytes);
  if (!look(covered_bytes + kFrameChecksumBytes, bytes)) return false;
  const std::string_view payload = bytes.substr(kFrameHeadBytes, head.payload_bytes);
  if (frames_ == 0) {
    // The salt comes from the frame that it checks: a wrong one gives a wrong checksum.
    if (head.type != static_cast<uint32_t>(FrameType::kBegin) || !parse_begin(payload, begin_)) {
      return damage("there is no begin frame");
    }
  }
  uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + covered_bytes, sizeof checksum);
  if (XXH3_64bits_withSeed(bytes.data(), covered_bytes, frame_seed(begin_.salt, frames_)) !=
      checksum) {
    return damage("the frame's checksum does not match");
  }
  frame = {static_cast<FrameType>(head.type), payload};
  offset_ += covered_bytes + kFrameChecksumBytes;
  ++frames_;
  return true;
}

void SnapshotReader::Impl::read_begin() {
  std::string_view magic;
  if (bytes_left() < kSnapshotMagic.size()) {
    fail("this is not a snapshot: it is shorter than its first word");
    return;
  }
  if (!look(kSnapshotMagic.size(), magic)) return;
  if (magic != kSnapshotMagic) {
    damage("this is not a snapshot");
    return;
  }
  offset_ += kSnapshotMagic.size();
  SnapshotFrame frame;
  if (!read_frame(frame)) return;
  if (begin_.version != kSnapshotVersion) {
    damage("version " + std::to_string(begin_.version) + "; this server reads version " +
           std::to_string(kSnapshotVersion));
  }
  tail_end_ = begin_.lsn;
}

bool SnapshotReader::Impl::next(SnapshotFrame& frame) {
  if (ended_ || !error_.empty()) return false;
  while (read_frame(frame)) {
    switch (frame.type) {
      case FrameType::kBegin:
        return damage("a second begin frame");
      case FrameType::kEnd:
        ended_ = check_end(frame.payload);
        return false;
      case FrameType::kPart:
        if (frame.payload.empty()) return damage("a part without a payload");
        if (!add_part(frame.payload)) return false;
        if (!join_parts_) return true;
        continue;
      default:
        break;
    }
    if (frame.type == FrameType::kRecords && !check_tail(in_parts_ ? parts_head_ : frame.payload)) {
      return false;
    }
    return !in_parts_ || join(frame.payload);
  }
  return false;
}

bool SnapshotReader::Impl::add_part(std::string_view payload) {
  if (!in_parts_) {
    parts_bytes_ = 0;
    parts_head_ = payload.substr(0, records_head(1, 1).size());
  }
  in_parts_ = true;
  if (!join_parts_) return true;
  // Doubled, so that many parts are not copied many times; bounded by twice the file's size, since
  // the parts were there.
  const size_t needed = parts_bytes_ + payload.size();
  if (needed > parts_.capacity() && !parts_.reserve(needed * 2, parts_bytes_)) {
    return damage("not enough memory");
  }
  std::memcpy(parts_.data() + parts_bytes_, payload.data(), payload.size());
  parts_bytes_ = needed;
  return true;
}

bool SnapshotReader::Impl::join(std::string_view& payload) {
  if (join_parts_) {
    if (!add_part(payload)) return false;
    payload = {parts_.data(), parts_bytes_};
  }
  in_parts_ = false;
  return true;
}

bool SnapshotReader::Impl::check_tail(std::string_view head) {
  SnapshotRecords records;
  if (!parse_records(head, records)) return damage("a records frame without its head");
  if (records.first != tail_end_ + 1) {
    return damage("the redo tail goes on at " + std::to_string(records.first) + " after " +
                  std::to_string(tail_end_));
  }
  tail_end_ += records.count;
  return true;
}

bool SnapshotReader::Impl::check_end(std::string_view payload) {
  if (!parse_end(payload, end_)) return damage("an end frame without its fields");
  if (in_parts_) return damage("a payload without its last part");
  if (end_.frames != frames_) {
    return damage(std::to_string(frames_) + " frames instead of " + std::to_string(end_.frames));
  }
  if (end_.lsn != tail_end_) {
    return damage("the redo tail ends at " + std::to_string(tail_end_) + " instead of " +
                  std::to_string(end_.lsn));
  }
  if (bytes_left() != 0) {
    frame_offset_ = offset_;
    return damage("there is more after the end frame");
  }
  const std::optional<Lsn> named =
      snapshot_lsn(std::string_view(path_).substr(path_.rfind('/') + 1));
  if (named.has_value() && *named != end_.lsn) {
    return damage("the file's name does not fit its end, which is " + std::to_string(end_.lsn));
  }
  return true;
}

std::unique_ptr<SnapshotReader> SnapshotReader::open(FileSystem& files, const std::string& path,
                                                     std::string& error) {
  OpenedFile opened = files.open_for_reading(path);
  const int64_t size_bytes = opened.file == nullptr ? opened.error : opened.file->size();
  if (size_bytes < 0) {
    error =
        path + ": cannot open: " + std::generic_category().message(static_cast<int>(-size_bytes));
    return nullptr;
  }
  auto impl =
      std::make_unique<Impl>(std::move(opened.file), path, static_cast<uint64_t>(size_bytes));
  impl->read_begin();
  error = impl->error_;
  if (!error.empty()) return nullptr;
  return std::unique_ptr<SnapshotReader>(new SnapshotReader(std::move(impl)));
}

SnapshotReader::SnapshotReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SnapshotReader::~SnapshotReader() = default;

Lsn SnapshotReader::begin() const {
  return impl_->begin_.lsn;
}

uint64_t SnapshotReader::hash_seed() const {
  return impl_->begin_.hash_seed;
}

bool SnapshotReader::next(SnapshotFrame& frame) {
  return impl_->next(frame);
}

const std::string& SnapshotReader::error() const {
  return impl_->error_;
}

Lsn SnapshotReader::end() const {
  return impl_->end_.lsn;
}

uint64_t SnapshotReader::bytes_read() const {
  return impl_->offset_;
}

uint64_t SnapshotReader::bytes_in_all() const {
  return impl_->window_.file_bytes();
}

void SnapshotReader::leave_parts_apart() {
  impl_->join_parts_ = false;
}

uint64_t SnapshotReader::frames_read() const {
  return impl_->frames_;
}

}  // namespace iris::persistence
