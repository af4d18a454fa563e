// What `iris-server --check FILE...` says about a file: what it is, what it holds, whether it is
// sound, and what a server that starts would do about it.
//
// Nothing is changed, and nothing is believed: the readers are those of recovery, so what is called
// sound here is what a server would read, and memory is bounded by a batch or a frame of the file.
#pragma once

#include <iosfwd>
#include <string>

#include "persistence/file_system.h"

namespace iris::persistence {

struct FileCheckOptions {
  // Every record in a line of its own, as a person would type it.
  bool print_records = false;
};

// Writes a few lines to `out`. True if the file is sound.
[[nodiscard]] bool check_file(FileSystem& files, const std::string& path, std::ostream& out,
                              const FileCheckOptions& options = {});

}  // namespace iris::persistence
