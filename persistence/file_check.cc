#include "persistence/file_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "persistence/data_directory.h"
#include "persistence/log_reader.h"
#include "persistence/log_recovery.h"
#include "persistence/record.h"
#include "persistence/snapshot_file.h"

namespace iris::persistence {

namespace {

constexpr std::string_view kLogMagic = "#iris-log ";

// What a file can make us remember and print is limited: it may be anything.
constexpr size_t kMaxKinds = 64;
constexpr size_t kMaxKindBytes = 32;
constexpr size_t kMaxWordBytes = 100;

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, std::max<size_t>(slash, 1));
}

// --- records ---

bool is_plain(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:-+").find(c) != std::string_view::npos;
  });
}

// As redis-cli would show it: no byte of a file reaches a terminal as it is.
void print_word(std::ostream& out, std::string_view word) {
  const std::string_view shown = word.substr(0, kMaxWordBytes);
  if (is_plain(shown)) {
    out << shown;
  } else {
    out << '"';
    for (const char c : shown) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out << '\\' << c;
      } else if (byte >= 0x20 && byte < 0x7f) {
        out << c;
      } else {
        constexpr char kHex[] = "0123456789abcdef";
        out << "\\x" << kHex[byte >> 4] << kHex[byte & 15];
      }
    }
    out << '"';
  }
  if (word.size() > shown.size()) out << "... (" << word.size() << " bytes)";
}

// Counts the changes of records by their first word, and prints them if that is asked for.
class RecordSurvey {
 public:
  RecordSurvey(std::ostream& out, const FileCheckOptions& options) : out_(out), options_(options) {}

  // False: these are not `count` sound records.
  bool add(Lsn first, uint64_t count, std::string_view records) {
    RecordReader reader(records);
    for (uint64_t i = 0; i < count; ++i) {
      const std::string_view record = reader.next();
      if (record.empty() || !add_record(first + i, record)) return false;
      ++records_;
    }
    return reader.at_end();
  }

  uint64_t records() const { return records_; }

  void print_kinds() const {
    if (records_ == 0) return;
    out_ << "  changes: ";
    const char* separator = "";
    for (const auto& [kind, count] : kinds_) {
      out_ << separator;
      print_word(out_, kind);
      out_ << ' ' << count;
      separator = ", ";
    }
    if (others_ > 0) out_ << separator << "others " << others_;
    out_ << '\n';
  }

 private:
  bool add_record(Lsn lsn, std::string_view record) {
    ChangeReader changes(record);
    while (changes.next(words_)) {
      count(words_[0]);
      if (options_.print_records) print(lsn);
    }
    return changes.sound();
  }

  void count(std::string_view kind) {
    const auto found = kind.size() <= kMaxKindBytes ? kinds_.find(kind) : kinds_.end();
    if (found != kinds_.end()) {
      ++found->second;
    } else if (kind.size() <= kMaxKindBytes && kinds_.size() < kMaxKinds) {
      kinds_.emplace(kind, 1);
    } else {
      ++others_;
    }
  }

  void print(Lsn lsn) {
    out_ << "  " << lsn << ':';
    for (const std::string_view word : words_) {
      out_ << ' ';
      print_word(out_, word);
    }
    out_ << '\n';
  }

  std::ostream& out_;
  const FileCheckOptions& options_;
  RecordWords words_;
  uint64_t records_ = 0;
  std::map<std::string, uint64_t, std::less<>> kinds_;
  uint64_t others_ = 0;
};

// --- snapshots ---

class SnapshotCheck {
 public:
  SnapshotCheck(FileSystem& files, const std::string& path, std::ostream& out,
                const FileCheckOptions& options)
      : files_(files), path_(path), out_(out), survey_(out, options) {}

  bool run() {
    std::string problem;
    const auto reader = SnapshotReader::open(files_, path_, problem);
    if (reader != nullptr) {
      reader->leave_parts_apart();
      problem = read(*reader);
      print_content(*reader, problem.empty());
    }
    if (problem.empty()) {
      out_ << "  sound\n";
      return true;
    }
    out_ << "  NOT SOUND: " << problem << '\n';
    print_advice();
    return false;
  }

 private:
  std::string read(SnapshotReader& reader) {
    SnapshotFrame frame;
    bool after_part = false;
    uint64_t offset = reader.bytes_read();
    while (reader.next(frame)) {
      Total& total = totals_[frame.type];
      ++total.frames;
      total.bytes += frame.payload.size();
      SnapshotRecords tail;
      // A record that was too large for one frame is not looked into.
      if (frame.type == FrameType::kRecords && !after_part && parse_records(frame.payload, tail) &&
          !survey_.add(tail.first, tail.count, tail.records)) {
        return path_ + ": offset " + std::to_string(offset) +
               ": the frame is whole, but its records are not";
      }
      after_part = frame.type == FrameType::kPart;
      offset = reader.bytes_read();
    }
    return reader.error();
  }

  void print_content(const SnapshotReader& reader, bool sound) {
    out_ << "  version " << kSnapshotVersion << ", begun at LSN " << reader.begin();
    if (sound) out_ << ", exact at LSN " << reader.end();
    out_ << '\n' << "  frames: " << reader.frames_read();
    for (const auto& [type, total] : totals_) {
      out_ << ", " << frame_type_name(type) << ' ' << total.frames << " (" << total.bytes
           << " bytes)";
    }
    out_ << '\n' << "  records in the redo tail: " << survey_.records() << '\n';
    survey_.print_kinds();
  }

  void print_advice() {
    if (name_of(path_).ends_with(".tmp")) {
      out_ << "  It is unfinished: the next start removes it.\n";
    } else {
      out_ << "  A server refuses to start from it and changes nothing. Restore the file from a "
              "backup. Moving it away helps only if an older snapshot and all of the log since "
              "then are still there.\n";
    }
  }

  struct Total {
    uint64_t frames = 0;
    uint64_t bytes = 0;
  };

  FileSystem& files_;
  const std::string& path_;
  std::ostream& out_;
  RecordSurvey survey_;
  std::map<FrameType, Total> totals_;
};

// --- the log ---

// Lets recovery say what it would do, and do nothing.
class DryRun : public FileSystem {
 public:
  explicit DryRun(FileSystem& files) : files_(files) {}

  OpenedFile create(const std::string&) override { return {std::make_unique<Still>(nullptr), 0}; }
  OpenedFile open_for_reading(const std::string& path) override {
    return files_.open_for_reading(path);
  }
  OpenedFile open_for_repair(const std::string& path) override {
    OpenedFile opened = files_.open_for_reading(path);
    if (opened.file == nullptr) return opened;
    return {std::make_unique<Still>(std::move(opened.file)), 0};
  }
  OpenedFile lock(const std::string&) override { return {std::make_unique<Still>(nullptr), 0}; }
  int rename(const std::string&, const std::string&) override { return 0; }
  int remove(const std::string&) override { return 0; }
  int sync_directory(const std::string&) override { return 0; }
  int list(const std::string& directory, std::vector<std::string>& names) override {
    return files_.list(directory, names);
  }

 private:
  class Still : public File {
   public:
    explicit Still(std::unique_ptr<File> file) : file_(std::move(file)) {}
    int64_t append(std::string_view bytes) override { return static_cast<int64_t>(bytes.size()); }
    int64_t read(uint64_t offset, std::span<char> out) override {
      return file_ == nullptr ? 0 : file_->read(offset, out);
    }
    int prepare(uint64_t) override { return 0; }
    int sync() override { return 0; }
    int truncate(uint64_t) override { return 0; }
    int64_t size() override { return file_ == nullptr ? 0 : file_->size(); }

   private:
    std::unique_ptr<File> file_;
  };

  FileSystem& files_;
};

class LogCheck {
 public:
  LogCheck(FileSystem& files, const std::string& path, Lsn first, std::ostream& out,
           const FileCheckOptions& options)
      : files_(files),
        directory_(directory_of(path)),
        segment_(files, directory_, first),
        out_(out),
        survey_(out, options) {}

  bool run() {
    std::string problem;
    if (segment_.error() != 0) {
      problem = std::generic_category().message(-segment_.error());
    } else if (!segment_.header()) {
      problem = "offset 0: the header is not right, or does not fit the file's name";
    } else {
      problem = read();
      print_content();
    }
    if (problem.empty()) {
      out_ << "  sound\n";
      return true;
    }
    out_ << "  NOT SOUND: " << problem << '\n';
    print_verdict();
    return false;
  }

 private:
  std::string read() {
    next_ = segment_.header()->first;
    synced_ = segment_.header()->synced;
    uint64_t offset = kSegmentHeaderBytes;
    while (offset < segment_.size_bytes()) {
      const std::string where = "offset " + std::to_string(offset) + ": ";
      const auto line = segment_.line_at(offset);
      std::string_view records;
      if (!line || line->first != next_ || closed_ ||
          !segment_.records_at(offset, *line, records)) {
        if (segment_.only_zeros_from(offset)) {
          prepared_ = segment_.size_bytes() - offset;
          return {};
        }
        if (segment_.error() != 0) return std::generic_category().message(-segment_.error());
        return where + "no whole and unharmed batch from LSN " + std::to_string(next_) + " on; " +
               std::to_string(segment_.size_bytes() - offset) + " bytes are left";
      }
      if (!survey_.add(next_, line->records, records)) {
        return where + "the batch is whole, but its records are not";
      }
      batches_ += line->records > 0 ? 1 : 0;
      closed_ = line->records == 0;
      synced_ = std::max(synced_, line->synced);
      next_ += line->records;
      offset += line->line_bytes + line->bytes;
    }
    return {};
  }

  void print_content() {
    const SegmentHeader& header = *segment_.header();
    out_ << "  version 1, first LSN " << header.first << ", follows LSN " << header.follows << '\n'
         << "  batches: " << batches_ << ", records: " << survey_.records();
    if (next_ > header.first) out_ << ", LSN " << header.first << " to " << next_ - 1;
    out_ << '\n'
         << "  synced up to LSN " << synced_ << " when its last line was written"
         << (closed_ ? "; ended in good order\n" : "\n");
    if (prepared_ > 0) out_ << "  " << prepared_ << " zero bytes behind its end\n";
    survey_.print_kinds();
  }

  void print_verdict() {
    DryRun files(files_);
    DataFiles found;
    if (list_data_files(files, directory_, found) != 0) return;
    const Lsn after = found.snapshots.empty() ? 0 : found.snapshots.back();
    LogReplay replay;
    replay.apply = [](Lsn, std::string_view) { return std::string(); };
    const LogRecovery recovery = recover_log(files, directory_, after, replay);
    out_ << "  With the other files of its directory, a server that starts would ";
    if (!recovery.damage.empty()) {
      out_ << "refuse: " << recovery.damage << '\n';
    } else if (!recovery.warning.empty()) {
      out_ << "recover by itself and report: " << recovery.warning << '\n';
    } else {
      out_ << "not need the bad part: a snapshot or a later segment has it.\n";
    }
  }

  FileSystem& files_;
  const std::string directory_;
  SegmentReader segment_;
  std::ostream& out_;
  RecordSurvey survey_;
  Lsn next_ = 0;
  Lsn synced_ = 0;
  uint64_t batches_ = 0;
  uint64_t prepared_ = 0;
  bool closed_ = false;
};

bool check_log(FileSystem& files, const std::string& path, std::string_view front,
               std::ostream& out, const FileCheckOptions& options) {
  const std::optional<Lsn> named = log_lsn(name_of(path));
  if (named.has_value()) return LogCheck(files, path, *named, out, options).run();
  const std::optional<SegmentHeader> header = parse_header(front);
  out << "  NOT SOUND: no server would find it under this name";
  if (header.has_value()) out << "; its name should be " << log_name(header->first);
  out << '\n';
  return false;
}

}  // namespace

bool check_file(FileSystem& files, const std::string& path, std::ostream& out,
                const FileCheckOptions& options) {
  const OpenedFile opened = files.open_for_reading(path);
  std::array<char, kSegmentHeaderBytes> bytes;
  const int64_t size = opened.file == nullptr ? opened.error : opened.file->size();
  const int64_t got = size < 0 ? size : opened.file->read(0, bytes);
  if (got < 0) {
    out << path << ": cannot read: " << std::generic_category().message(static_cast<int>(-got))
        << '\n';
    return false;
  }
  const std::string_view front(bytes.data(), static_cast<size_t>(got));
  const std::string_view name = name_of(path);
  // The name decides if it can: then the first bytes may be what is damaged.
  if (front.starts_with(kSnapshotMagic) || snapshot_lsn(name).has_value()) {
    out << path << ": a snapshot, " << size << " bytes\n";
    return SnapshotCheck(files, path, out, options).run();
  }
  if (front.starts_with(kLogMagic) || log_lsn(name).has_value()) {
    out << path << ": a segment of the log, " << size << " bytes\n";
    return check_log(files, path, front, out, options);
  }
  out << path << ": neither a snapshot nor a segment of the log, " << size << " bytes\n";
  return false;
}

}  // namespace iris::persistence
