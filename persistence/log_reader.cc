#include "persistence/log_reader.h"

#include <algorithm>

#include "filters/check.h"
#include "persistence/data_directory.h"

namespace iris::persistence {

namespace {

// What is read at once: a full batch and its line, so mostly one call a batch.
constexpr uint64_t kReadBytes = (uint64_t{1} << 20) + kMaxBatchLineBytes;

}  // namespace

SegmentReader::SegmentReader(FileSystem& files, const std::string& directory, Lsn first) {
  OpenedFile opened = files.open_for_reading(path_in(directory, log_name(first)));
  file_ = std::move(opened.file);
  error_ = opened.error;
  if (error_ != 0) return;
  const int64_t size = file_->size();
  if (size < 0) {
    error_ = static_cast<int>(size);
    return;
  }
  size_bytes_ = static_cast<uint64_t>(size);
  header_ = parse_header(view(0, kSegmentHeaderBytes));
  if (header_ && header_->first != first) header_.reset();
  read_bytes_ = kReadBytes;
}

std::string_view SegmentReader::view(uint64_t offset, uint64_t size) {
  if (error_ != 0 || offset >= size_bytes_) return {};
  size = std::min(size, size_bytes_ - offset);
  if (offset < window_begin_ || offset + size > window_begin_ + window_.size()) {
    window_begin_ = offset;
    window_.resize(std::min(std::max(size, read_bytes_), size_bytes_ - offset));
    uint64_t have = 0;
    while (have < window_.size()) {
      const int64_t count =
          file_->read(offset + have, {window_.data() + have, window_.size() - have});
      if (count < 0) error_ = static_cast<int>(count);
      if (count <= 0) break;
      have += static_cast<uint64_t>(count);
    }
    window_.resize(error_ == 0 ? have : 0);
  }
  const std::string_view window = window_;
  return window.substr(std::min<uint64_t>(offset - window_begin_, window.size()), size);
}

std::optional<BatchLine> SegmentReader::line_at(uint64_t offset) {
  if (!header_) return std::nullopt;
  const auto line = parse_line(header_->salt, view(offset, kMaxBatchLineBytes));
  if (!line || line->bytes > size_bytes_ - offset - line->line_bytes) return std::nullopt;
  return line;
}

bool SegmentReader::records_at(uint64_t offset, const BatchLine& line, std::string_view& records) {
  CHECK(header_ && line.bytes <= size_bytes_);
  // With the line, so that the window goes on where it is.
  records = view(offset, line.line_bytes + line.bytes);
  if (records.size() != line.line_bytes + line.bytes) return false;
  records.remove_prefix(line.line_bytes);
  return records_match(header_->salt, line, records);
}

std::optional<SegmentReader::Found> SegmentReader::find_line(uint64_t offset) {
  if (!header_) return std::nullopt;
  while (offset < size_bytes_) {
    const std::string_view bytes = view(offset, kReadBytes);
    if (bytes.empty()) return std::nullopt;
    const size_t at = bytes.find(kBatchLinePrefix);
    if (at == std::string_view::npos) {
      // The prefix may begin in these bytes and end in the next ones.
      if (bytes.size() < kBatchLinePrefix.size() || offset + bytes.size() == size_bytes_) {
        return std::nullopt;
      }
      offset += bytes.size() - kBatchLinePrefix.size() + 1;
      continue;
    }
    offset += at;
    if (const auto line = parse_line(header_->salt, view(offset, kMaxBatchLineBytes))) {
      return Found{.offset = offset, .line = *line};
    }
    ++offset;
  }
  return std::nullopt;
}

bool SegmentReader::only_zeros_from(uint64_t offset) {
  while (offset < size_bytes_) {
    const std::string_view bytes = view(offset, kReadBytes);
    if (bytes.empty() || bytes.find_first_not_of('\0') != std::string_view::npos) return false;
    offset += bytes.size();
  }
  return error_ == 0;
}

}  // namespace iris::persistence
