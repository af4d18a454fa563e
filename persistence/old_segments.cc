#include "persistence/old_segments.h"

#include <algorithm>
#include <cerrno>

#include "persistence/data_directory.h"

namespace iris::persistence {

OldSegments::OldSegments(FileSystem& files, std::string directory)
    : files_(files), directory_(std::move(directory)) {}

int OldSegments::find(Lsn last) {
  DataFiles found;
  if (const int error = list_data_files(files_, directory_, found); error != 0) return error;
  const std::lock_guard guard(mutex_);
  segments_.clear();
  for (const Lsn first : found.logs) {
    const OpenedFile opened = files_.open_for_reading(path_in(directory_, log_name(first)));
    const int64_t size = opened.file == nullptr ? 0 : opened.file->size();
    segments_.push_back({first, last, static_cast<uint64_t>(std::max<int64_t>(size, 0))});
  }
  return 0;
}

void OldSegments::add(Lsn first, Lsn last, uint64_t size_bytes) {
  const std::lock_guard guard(mutex_);
  segments_.push_back({first, last, size_bytes});
}

void OldSegments::forget(Lsn first) {
  const std::lock_guard guard(mutex_);
  std::erase_if(segments_, [first](const Segment& segment) { return segment.first == first; });
}

void OldSegments::remove_covered(Lsn lsn) {
  std::vector<Segment> covered;
  {
    const std::lock_guard guard(mutex_);
    const auto kept =
        std::stable_partition(segments_.begin(), segments_.end(),
                              [lsn](const Segment& segment) { return segment.last > lsn; });
    covered.assign(kept, segments_.end());
    segments_.erase(kept, segments_.end());
  }
  if (covered.empty()) return;
  // Oldest first: what a crash leaves behind has no gap.
  std::sort(covered.begin(), covered.end(),
            [](const Segment& a, const Segment& b) { return a.first < b.first; });
  std::erase_if(covered, [this](const Segment& segment) {
    const int error = files_.remove(path_in(directory_, log_name(segment.first)));
    return error == 0 || error == -ENOENT;
  });
  // A name that comes back after a power cut is covered by the snapshot and does no harm.
  static_cast<void>(files_.sync_directory(directory_));
  const std::lock_guard guard(mutex_);
  segments_.insert(segments_.end(), covered.begin(), covered.end());
}

uint64_t OldSegments::total_bytes() const {
  const std::lock_guard guard(mutex_);
  uint64_t total = 0;
  for (const Segment& segment : segments_) total += segment.size_bytes;
  return total;
}

}  // namespace iris::persistence
