#include "persistence/data_directory.h"

#include <algorithm>
#include <charconv>

namespace iris::persistence {

namespace {

constexpr std::string_view kPrefix = "iris-";
constexpr std::string_view kLogSuffix = ".log";
constexpr std::string_view kSnapshotSuffix = ".snapshot";
constexpr std::string_view kTemporarySuffix = ".tmp";
// All digits of any LSN, so that the order of the names is the order of the numbers.
constexpr size_t kDigits = 20;

std::string numbered_name(Lsn lsn, std::string_view suffix) {
  const std::string digits = std::to_string(lsn);
  std::string name(kPrefix);
  name.append(kDigits - digits.size(), '0').append(digits).append(suffix);
  return name;
}

std::optional<Lsn> number_of(std::string_view name, std::string_view suffix) {
  if (name.size() != kPrefix.size() + kDigits + suffix.size() || !name.starts_with(kPrefix) ||
      !name.ends_with(suffix)) {
    return std::nullopt;
  }
  const char* begin = name.data() + kPrefix.size();
  Lsn lsn = 0;
  const auto [end, error] = std::from_chars(begin, begin + kDigits, lsn);
  if (error != std::errc() || end != begin + kDigits) return std::nullopt;
  return lsn;
}

}  // namespace

std::string log_name(Lsn first_lsn) {
  return numbered_name(first_lsn, kLogSuffix);
}

std::string snapshot_name(Lsn lsn) {
  return numbered_name(lsn, kSnapshotSuffix);
}

std::string temporary_name(std::string_view final_name) {
  return std::string(final_name).append(kTemporarySuffix);
}

std::optional<Lsn> log_lsn(std::string_view name) {
  return number_of(name, kLogSuffix);
}

std::optional<Lsn> snapshot_lsn(std::string_view name) {
  return number_of(name, kSnapshotSuffix);
}

int list_data_files(FileSystem& files, const std::string& directory, DataFiles& found) {
  std::vector<std::string> names;
  if (const int error = files.list(directory, names); error != 0) return error;
  found = {};
  for (std::string& name : names) {
    if (const auto log = log_lsn(name)) {
      found.logs.push_back(*log);
    } else if (const auto snapshot = snapshot_lsn(name)) {
      found.snapshots.push_back(*snapshot);
    } else if (name.starts_with(kPrefix) && name.ends_with(kTemporarySuffix)) {
      found.temporaries.push_back(std::move(name));
    }
  }
  std::sort(found.logs.begin(), found.logs.end());
  std::sort(found.snapshots.begin(), found.snapshots.end());
  std::sort(found.temporaries.begin(), found.temporaries.end());
  return 0;
}

std::string path_in(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

}  // namespace iris::persistence
