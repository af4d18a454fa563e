// Reading the log back, in three strides: look at all headers, replay what is sound, and only when
// it is known what the rest is (damage, or a torn tail), change something.
//
//     segments   [h|batch|batch|batch]  [h|batch|####|batch]  [h|batch]
//                                              ^ the first bad or missing record, `next_`
//     claims     does any line behind it, or a header of a later segment, say synced >= next_?
//                yes: damage, hands off.      no: a torn tail, cut it here
//
// Invariants
//   1. Records are replayed in the order of their LSNs from after + 1 on, each once, and no number
//      that was ever used is left out.
//   2. Nothing on disk is changed before everything was read, and nothing at all if there is
//   damage.
//   3. What was replayed is synced before this returns: after a kill it may be in the kernel's
//   memory
//      only, and from now on the log will call it durable.
//   4. Numbers that were seen in a torn tail are not used again: an empty segment is left behind
//   that
//      begins beyond them and says (`follows`) that nothing is missing in between.
//   5. A bad part of a segment that holds nothing that is needed does no harm: what a snapshot has
//      already covered, or a torn batch at the end after which the log went on in the next segment.
#include "persistence/log_recovery.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "persistence/data_directory.h"
#include "persistence/log_reader.h"
#include "persistence/log_segment.h"
#include "persistence/record.h"

namespace iris::persistence {

namespace {

std::string name_and_offset(Lsn segment, uint64_t offset) {
  return log_name(segment) + ", byte " + std::to_string(offset);
}

class Recovery {
 public:
  Recovery(FileSystem& files, const std::string& directory, Lsn after, const LogReplay& replay)
      : files_(files), directory_(directory), replay_(replay), next_(after + 1) {
    result_.last_lsn = result_.largest_seen = after;
  }

  LogRecovery run();

 private:
  struct Segment {
    Lsn first = 0;
    uint64_t size_bytes = 0;
    std::optional<SegmentHeader> header;
    std::optional<uint64_t> cut_at;  // what is to be done with it
    bool remove = false;

    // Something was appended, so the header had been synced.
    bool has_batches() const { return size_bytes > kSegmentHeaderBytes; }
  };
  struct Rest {  // of a segment, behind something bad
    Lsn claim = 0;
    std::optional<SegmentReader::Found> reaching;  // the first line of a batch with next_ or more
  };

  struct Place {
    uint64_t offset = 0;
    Lsn expected = 0;
    bool ended = false;  // the last line of the segment was met
  };
  enum class Step : uint8_t { kDone, kBad, kStop };

  bool survey();
  bool look_at(Segment& segment);
  bool settle(const Segment& segment);
  bool is_covered(size_t index) const;
  bool replay_segment(size_t index);
  Step replay_next(SegmentReader& reader, const Segment& segment, Place& place);
  bool ends_with_zeros(SegmentReader& reader, Segment& segment, const Place& place);
  bool skip_what_is_covered(SegmentReader& reader, const Segment& segment, Place& place);
  bool go_on_behind(SegmentReader& reader, size_t index, const Place& place);
  bool replay_batch(Lsn segment, uint64_t offset, const BatchLine& line, std::string_view records);
  Rest look_behind(SegmentReader& reader, uint64_t offset);
  bool next_segment_goes_on(size_t index) const;
  void judge(size_t index, std::optional<uint64_t> offset, Lsn claim);
  void report_cut(const Segment& segment, std::optional<uint64_t> offset);
  bool disk_failed(Lsn segment, int error);
  void damaged(const std::string& where, const std::string& what);

  bool repair();
  bool repair_segment(Segment& segment);
  bool leave_marker();
  void warn(const std::string& sentence);

  FileSystem& files_;
  const std::string& directory_;
  const LogReplay& replay_;
  std::vector<Segment> segments_;
  LogRecovery result_;
  Lsn next_;  // the number of the next record that is needed
  uint64_t bytes_in_all_ = 0;
  uint64_t bytes_done_ = 0;
};

LogRecovery Recovery::run() {
  if (!survey()) return result_;
  for (size_t i = 0; i < segments_.size(); ++i) {
    Segment& segment = segments_[i];
    const uint64_t done_after = bytes_done_ + segment.size_bytes;
    if (!segment.header && !segment.has_batches()) {
      warn("Removed " + log_name(segment.first) + ": it was being created and holds no record.");
      segment.remove = true;
    } else if (!is_covered(i) && !replay_segment(i)) {
      break;
    }
    bytes_done_ = done_after;
  }
  result_.largest_seen = std::max(result_.largest_seen, result_.last_lsn);
  if (result_.damage.empty() && !repair()) result_.warning.clear();
  return result_;
}

// Reads the names and all headers.
bool Recovery::survey() {
  DataFiles found;
  if (const int error = list_data_files(files_, directory_, found); error != 0) {
    result_.damage = disk_error_text("listing the log", error, directory_);
    return false;
  }
  for (const Lsn first : found.logs) {
    segments_.emplace_back().first = first;
    if (!look_at(segments_.back())) return false;
  }
  // From the newest to the oldest, up to one that says that all before it are synced.
  for (size_t i = segments_.size(); i-- > 0;) {
    Segment& segment = segments_[i];
    if (!settle(segment) || !look_at(segment)) return false;
    if (segment.header && segment.has_batches() && segment.header->synced >= segment.first - 1)
      break;
  }
  for (const Segment& segment : segments_) {
    bytes_in_all_ += segment.size_bytes;
    if (!segment.header) continue;
    result_.largest_seen = std::max(result_.largest_seen, segment.first - 1);
    result_.hash_seed = segment.header->hash_seed;
    result_.has_seed = true;
  }
  return true;
}

bool Recovery::look_at(Segment& segment) {
  const SegmentReader reader(files_, directory_, segment.first);
  if (reader.error() != 0) return disk_failed(segment.first, reader.error());
  segment.size_bytes = reader.size_bytes();
  segment.header = reader.header();
  return true;
}

// Invariant 3.
bool Recovery::settle(const Segment& segment) {
  const std::string name = log_name(segment.first);
  const OpenedFile opened = files_.open_for_repair(path_in(directory_, name));
  int error = opened.error;
  if (error == 0) error = opened.file->sync();
  if (error == 0) {
    opened.file->drop_cached();
    return true;
  }
  result_.damage = disk_error_text("syncing the log", error, name);
  return false;
}

// Whether the log had gone on to a later segment before the first record that is needed. Only one
// with records proves that: an empty one may be what is left of a failed attempt.
bool Recovery::is_covered(size_t index) const {
  return std::any_of(segments_.begin() + static_cast<std::ptrdiff_t>(index) + 1, segments_.end(),
                     [this](const Segment& later) {
                       return later.header && later.has_batches() && later.first <= next_;
                     });
}

// True: go on with the next segment.
bool Recovery::replay_segment(size_t index) {
  Segment& segment = segments_[index];
  if (!segment.header) {
    damaged(name_and_offset(segment.first, 0), "the header is not right, or of a later version");
    return false;
  }
  if (segment.header->follows >= next_) {
    judge(index, std::nullopt, segment.header->synced);
    return false;
  }
  next_ = std::max(next_, segment.first);

  SegmentReader reader(files_, directory_, segment.first);
  Place place{.offset = kSegmentHeaderBytes, .expected = segment.first};
  while (place.offset < segment.size_bytes) {
    switch (replay_next(reader, segment, place)) {
      case Step::kDone:
        break;
      case Step::kStop:
        return false;
      case Step::kBad:
        if (ends_with_zeros(reader, segment, place)) return true;
        if (skip_what_is_covered(reader, segment, place)) break;
        return go_on_behind(reader, index, place);
    }
    if (replay_.batch_ended) replay_.batch_ended(bytes_done_ + place.offset, bytes_in_all_);
  }
  return true;
}

// The batch at `place`; moves it on if that is sound.
Recovery::Step Recovery::replay_next(SegmentReader& reader, const Segment& segment, Place& place) {
  const auto line = reader.line_at(place.offset);
  if (!line || line->first != place.expected || place.ended) return Step::kBad;
  const bool covered = line->records > 0 && line->last() < next_;
  if (!covered) {
    std::string_view records;
    if (!reader.records_at(place.offset, *line, records)) return Step::kBad;
    if (!replay_batch(segment.first, place.offset, *line, records)) return Step::kStop;
  }
  place.ended = line->records == 0;
  place.expected += line->records;
  place.offset += line->line_bytes + line->bytes;
  return Step::kDone;
}

// Space that was prepared and not used is how a segment ends whose server was killed. Whether more
// was there once is for the headers of later segments to say, as if the file ended here.
bool Recovery::ends_with_zeros(SegmentReader& reader, Segment& segment, const Place& place) {
  if (!reader.only_zeros_from(place.offset)) return false;
  segment.cut_at = place.offset;
  warn("Cut off " + std::to_string(segment.size_bytes - place.offset) + " bytes of zeros at " +
       name_and_offset(segment.first, place.offset) + ": nothing was ever written there.");
  return true;
}

// Something is bad at `place`, but perhaps it was nothing that is needed: then the batch with
// next_ is still to come (invariant 5).
bool Recovery::skip_what_is_covered(SegmentReader& reader, const Segment& segment, Place& place) {
  if (place.expected >= next_) return false;
  const auto reaching = look_behind(reader, place.offset).reaching;
  if (!reaching || reaching->line.first > next_) return false;
  warn("Skipped " + std::to_string(reaching->offset - place.offset) + " bad bytes at " +
       name_and_offset(segment.first, place.offset) + ": a snapshot holds what they held.");
  place = {.offset = reaching->offset, .expected = reaching->line.first};
  return true;
}

// Something is bad at `place`. True: the log had gone on in the next segment, with nothing missing.
bool Recovery::go_on_behind(SegmentReader& reader, size_t index, const Place& place) {
  const Rest rest = look_behind(reader, place.offset);
  if (reader.error() != 0) return disk_failed(segments_[index].first, reader.error());
  if (rest.reaching || rest.claim >= next_ || !next_segment_goes_on(index)) {
    judge(index, place.offset, rest.claim);
    return false;
  }
  Segment& segment = segments_[index];
  segment.cut_at = place.offset;
  warn("Cut off " + std::to_string(segment.size_bytes - place.offset) + " torn bytes at " +
       name_and_offset(segment.first, place.offset) + ": the log goes on in the next segment.");
  return true;
}

bool Recovery::replay_batch(Lsn segment, uint64_t offset, const BatchLine& line,
                            std::string_view records) {
  RecordReader each(records);
  for (uint64_t i = 0; i < line.records; ++i) {
    const std::string_view record = each.next();
    const Lsn lsn = line.first + i;
    std::string refusal;
    if (record.empty()) {
      refusal = "the batch is whole, but its records are not";
    } else if (lsn >= next_) {
      refusal = replay_.apply(lsn, record);
    }
    if (!refusal.empty()) {
      const uint64_t inside =
          record.empty() ? 0 : static_cast<uint64_t>(record.data() - records.data());
      damaged(name_and_offset(segment, offset + line.line_bytes + inside),
              "record " + std::to_string(lsn) + ": " + refusal);
      return false;
    }
    if (lsn < next_) continue;
    result_.last_lsn = lsn;
    ++result_.records;
    next_ = lsn + 1;
  }
  if (each.at_end()) return true;
  damaged(name_and_offset(segment, offset), "the batch holds more records than it says");
  return false;
}

// What the lines behind something bad say. The one at `offset` itself may be sound, with torn
// records: it has a claim, but it proves nothing about what came next.
Recovery::Rest Recovery::look_behind(SegmentReader& reader, uint64_t offset) {
  Rest rest;
  for (auto found = reader.find_line(offset); found; found = reader.find_line(found->offset + 1)) {
    const BatchLine& line = found->line;
    rest.claim = std::max(rest.claim, line.synced);
    result_.largest_seen = std::max(result_.largest_seen, line.last());
    const bool reaching = line.records > 0 && line.last() >= next_ && found->offset != offset;
    if (reaching && !rest.reaching) rest.reaching = found;
  }
  return rest;
}

bool Recovery::next_segment_goes_on(size_t index) const {
  for (size_t i = index + 1; i < segments_.size(); ++i) {
    if (segments_[i].header) return segments_[i].header->follows < next_;
  }
  return false;
}

// next_ is bad (at `offset`) or missing (before the segment). Damage, or a torn tail?
void Recovery::judge(size_t index, std::optional<uint64_t> offset, Lsn claim) {
  for (size_t i = offset ? index + 1 : index; i < segments_.size(); ++i) {
    if (!segments_[i].header && segments_[i].has_batches()) {
      return damaged(name_and_offset(segments_[i].first, 0), "the header is not right");
    }
    SegmentReader reader(files_, directory_, segments_[i].first);
    if (reader.header()) claim = std::max(claim, reader.header()->synced);
    claim = std::max(claim, look_behind(reader, kSegmentHeaderBytes).claim);
    if (reader.error() != 0) {
      disk_failed(segments_[i].first, reader.error());
      return;
    }
  }
  Segment& segment = segments_[index];
  if (claim >= next_) {
    return damaged(
        name_and_offset(segment.first, offset.value_or(0)),
        "record " + std::to_string(next_) +
            " is missing or not right, but it was on disk: the log says so of all up to " +
            std::to_string(claim));
  }
  if (offset) segment.cut_at = offset;
  for (size_t i = offset ? index + 1 : index; i < segments_.size(); ++i) segments_[i].remove = true;
  report_cut(segment, offset);
}

void Recovery::report_cut(const Segment& segment, std::optional<uint64_t> offset) {
  uint64_t bytes = offset ? segment.size_bytes - *offset : 0;
  for (const Segment& later : segments_) bytes += later.remove ? later.size_bytes : 0;
  const Lsn largest = std::max(result_.largest_seen, result_.last_lsn);
  warn("Cut off the torn end of the log at " + name_and_offset(segment.first, offset.value_or(0)) +
       ": " + std::to_string(bytes) + " bytes that were never known to be on disk" +
       (largest >= next_ ? " (records " + std::to_string(next_) + " to " + std::to_string(largest) +
                               " as far as known)."
                         : "."));
}

bool Recovery::disk_failed(Lsn segment, int error) {
  result_.damage = disk_error_text("reading the log", error, log_name(segment));
  return false;
}

void Recovery::damaged(const std::string& where, const std::string& what) {
  result_.damage =
      "The log is damaged at " + where + ": " + what +
      ". Nothing was changed. Restore the file from a backup; or, to go on without everything from "
      "there on, keep a copy, cut the file at that byte (truncate -s) and remove the iris-*.log "
      "files with larger numbers.";
}

void Recovery::warn(const std::string& sentence) {
  if (!result_.warning.empty()) result_.warning += ' ';
  result_.warning += sentence;
}

// --- changing ---

bool Recovery::repair() {
  for (Segment& segment : segments_) {
    if (!repair_segment(segment)) return false;
  }
  if (!segments_.empty()) {
    if (const int error = files_.sync_directory(directory_); error != 0) {
      result_.damage = disk_error_text("syncing the directory of the log", error, directory_);
      return false;
    }
  }
  return leave_marker();
}

bool Recovery::repair_segment(Segment& segment) {
  const std::string name = log_name(segment.first);
  const std::string path = path_in(directory_, name);
  int error = 0;
  if (segment.remove) {
    error = files_.remove(path);
  } else if (segment.cut_at) {
    const OpenedFile opened = files_.open_for_repair(path);
    error = opened.error;
    if (error == 0) error = opened.file->truncate(*segment.cut_at);
    if (error == 0) error = opened.file->sync();
  }
  if (error == 0) return true;
  result_.damage = disk_error_text("repairing the log", error, name);
  return false;
}

// Invariant 4.
bool Recovery::leave_marker() {
  if (result_.largest_seen < next_ || !result_.has_seed) return true;
  const SegmentHeader header{.first = result_.largest_seen + 1,
                             .follows = next_ - 1,
                             .synced = result_.last_lsn,
                             .hash_seed = result_.hash_seed,
                             .salt = {}};
  return LogSegment::create(files_, directory_, header, result_.damage) != nullptr;
}

}  // namespace

LogRecovery recover_log(FileSystem& files, const std::string& directory, Lsn after,
                        const LogReplay& replay) {
  return Recovery(files, directory, after, replay).run();
}

}  // namespace iris::persistence
