// What lies in the data directory, and what it is called:
//
//     iris-00000000000000000042.log        a segment of the log; the number is its first LSN
//     iris-00000000000000000041.snapshot   a snapshot, exact at that LSN
//     iris-....tmp                         unfinished; removed at the next start
//     iris.lock                            held by the server that uses the directory
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "persistence/file_system.h"
#include "persistence/log_format.h"

namespace iris::persistence {

std::string log_name(Lsn first_lsn);
std::string snapshot_name(Lsn lsn);
std::string temporary_name(std::string_view final_name);
std::optional<Lsn> log_lsn(std::string_view name);
std::optional<Lsn> snapshot_lsn(std::string_view name);

struct DataFiles {
  std::vector<Lsn> logs;       // ascending
  std::vector<Lsn> snapshots;  // ascending
  std::vector<std::string> temporaries;
};

// 0 or -errno.
[[nodiscard]] int list_data_files(FileSystem& files, const std::string& directory,
                                  DataFiles& found);

std::string path_in(const std::string& directory, std::string_view name);

}  // namespace iris::persistence
