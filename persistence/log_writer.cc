#include "persistence/log_writer.h"

#include <algorithm>

#include "filters/check.h"
#include "persistence/data_directory.h"

namespace iris::persistence {

LogWriter::LogWriter(FileSystem& files, std::string directory, uint64_t hash_seed, Lsn last_lsn,
                     LogBuffer& buffer, OldSegments& old_segments)
    : files_(files),
      directory_(std::move(directory)),
      hash_seed_(hash_seed),
      buffer_(buffer),
      old_segments_(old_segments),
      written_(last_lsn),
      synced_(last_lsn) {}

std::string LogWriter::open(Lsn last, bool unrecorded) {
  CHECK(segment_ == nullptr && waiting_.empty());
  written_ = last;
  // Nobody has a reply to wait for that rests on the number itself, so it counts as synced.
  if (unrecorded) hole_end_ = beyond_ = last;
  return change_segment(last + 1);
}

std::string LogWriter::close() {
  if (must_sync()) sync();
  // An empty segment needs no such line: its header says the same, and the next start replaces it.
  if (failure().empty() && segment_takes_records() && !segment_->doomed() && !segment_->empty()) {
    int error = segment_->append_end(written_ + 1, synced_);
    if (error == 0) error = segment_->sync();
    if (error != 0) make_hole(disk_error_text("ending the log", error, segment_->name()));
  }
  std::string text = failure();
  if (segment_ != nullptr) retire_segment();
  const bool dropped = !waiting_.empty();
  while (!waiting_.empty()) {
    written_ = waiting_.front()->last();  // the number is used, though the bytes are nowhere
    buffer_.recycle(waiting_.pop_front());
  }
  if (dropped) make_hole(text);
  waiting_since_ns_ = 0;
  write_failure_.clear();
  return text;
}

void LogWriter::take(LogBuffer::Taken taken) {
  if (waiting_.empty()) waiting_since_ns_ = taken.since_ns;
  waiting_.append(taken.blocks);
  cuts_.insert(cuts_.end(), taken.cuts.begin(), taken.cuts.end());
}

void LogWriter::write(bool prepare) {
  for (;;) {
    if (!cuts_.empty() && (waiting_.empty() || waiting_.front()->first > cuts_.front())) {
      cut_error_ = finish_cut(cuts_.front());
      cuts_.pop_front();
      ++cuts_finished_;
    } else if (waiting_.empty()) {
      waiting_since_ns_ = 0;
      return;
    } else if (write_block(*waiting_.front(), prepare)) {
      write_failure_.clear();
      buffer_.recycle(waiting_.pop_front());
    } else {
      fail_cuts();
      return;
    }
  }
}

bool LogWriter::write_block(LogBlock& block, bool prepare) {
  if (!segment_takes_records()) {
    write_failure_ = change_segment(block.first);  // invariant 3
    if (!write_failure_.empty()) return false;
  }
  if (prepare) segment_->prepare(block.used);
  const BatchLine line{
      .first = block.first, .records = block.records, .bytes = block.used, .synced = synced_};
  const int error = segment_->append_batch(line, block.records_begin());
  if (error != 0) {
    write_failure_ = disk_error_text("writing the log", error, segment_->name());
    if (!segment_->appendable()) make_hole(write_failure_);
    return false;
  }
  written_ = block.last();
  if (segment_->doomed()) {
    hole_end_ = written_;
  } else if (unsynced_since_ns_ == 0) {
    unsynced_since_ns_ = waiting_since_ns_;
  }
  return true;
}

bool LogWriter::segment_takes_records() const {
  return segment_ != nullptr && segment_->appendable();
}

bool LogWriter::must_sync() const {
  return segment_takes_records() && segment_->dirty() && !segment_->doomed();
}

void LogWriter::sync() {
  const int error = segment_->sync();
  if (error != 0) {
    make_hole(disk_error_text("syncing the log", error, segment_->name()));
    return;
  }
  unsynced_since_ns_ = 0;
  Lsn& reached = hole_end_ == 0 ? synced_ : beyond_;
  reached = std::max(reached, written_);
}

// What is written and not synced will never be known to be on disk.
void LogWriter::make_hole(const std::string& failure) {
  hole_end_ = std::max(hole_end_, written_);
  if (hole_since_ns_ == 0) {
    hole_since_ns_ = unsynced_since_ns_ != 0 ? unsynced_since_ns_ : waiting_since_ns_;
  }
  unsynced_since_ns_ = 0;
  sync_failure_ = failure;
}

// Makes a segment that begins with `first` the current one. If that fails, the old one stays, which
// is sound: it is whole and goes on where it was.
std::string LogWriter::change_segment(Lsn first) {
  if (must_sync()) sync();  // invariant 2; a failure makes a hole, and the new segment says so
  const SegmentHeader header{
      .first = first, .follows = first - 1, .synced = synced_, .hash_seed = hash_seed_, .salt = {}};
  if (segment_ != nullptr && segment_->first() == first) {
    // Without a record, and not appendable: the name is needed for its successor.
    // Kept until it is gone: what is torn in it would stand in the way for ever.
    const int error = files_.remove(path_in(directory_, segment_->name()));
    if (error != 0) return disk_error_text("removing a torn segment", error, segment_->name());
    segment_.reset();
  }
  std::string error;
  auto created = LogSegment::create(files_, directory_, header, error);
  if (created == nullptr) return error;
  if (segment_ != nullptr) retire_segment();
  segment_ = std::move(created);
  old_segments_.forget(first);
  return {};
}

void LogWriter::retire_segment() {
  if (segment_->appendable()) segment_->drop_prepared();
  old_segments_.add(segment_->first(), written_, segment_->size_bytes());
  segment_.reset();
}

std::string LogWriter::finish_cut(Lsn lsn) {
  const bool already_there =
      segment_takes_records() && !segment_->doomed() && segment_->first() == lsn + 1;
  return already_there ? std::string() : change_segment(lsn + 1);
}

// Whoever waits for a cut must not wait for the disk to heal.
void LogWriter::fail_cuts() {
  if (cuts_.empty()) return;
  cut_error_ = write_failure_;
  cuts_finished_ += cuts_.size();
  cuts_.clear();
}

void LogWriter::covered_by_snapshot(Lsn lsn) {
  // A hole before the very first record ends at 0.
  if (hole_end_ != 0 || needs_snapshot()) {
    if (lsn < hole_end_) return;
    // Also what comes next must go to a file that can be synced.
    const bool sound = segment_ == nullptr || (segment_takes_records() && !segment_->doomed());
    if (!sound && !change_segment(written_ + 1).empty()) return;
    synced_ = std::max(synced_, beyond_);
    hole_end_ = beyond_ = 0;
    hole_since_ns_ = 0;
    sync_failure_.clear();
  }
  synced_ = std::max(synced_, lsn);
}

Lsn LogWriter::durable(bool unsynced_counts) const {
  if (unsynced_counts) return std::max(written_, synced_);
  return needs_snapshot() ? synced_ : std::max(synced_, beyond_);
}

int64_t LogWriter::not_durable_since_ns() const {
  if (hole_since_ns_ != 0) return hole_since_ns_;
  return unsynced_since_ns_ != 0 ? unsynced_since_ns_ : waiting_since_ns_;
}

}  // namespace iris::persistence
