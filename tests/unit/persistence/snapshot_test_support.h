// Makes snapshots in memory, and reads them back into something that can be compared.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "persistence/data_directory.h"
#include "persistence/record.h"
#include "persistence/snapshot_file.h"
#include "tests/unit/persistence/memory_files.h"

namespace iris::persistence {

using Frames = std::vector<std::pair<FrameType, std::string>>;

inline std::string snapshot_path(Lsn lsn) {
  return path_in(kDataDirectory, snapshot_name(lsn));
}

// Bytes that do not repeat, so that a piece in the wrong place shows.
inline std::string noise(size_t size, uint64_t seed) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(seed >> 56);
  }
  return bytes;
}

inline std::string add_record(std::string_view item) {
  RecordBuilder builder;
  builder.begin(4);
  builder.word("bf.add");
  builder.number(17);
  builder.number(0);
  builder.word(item);
  return std::string(builder.view());
}

struct ReadSnapshot {
  std::string error;
  Lsn begin = 0;
  Lsn end = 0;
  uint64_t hash_seed = 0;
  Frames frames;
};

inline ReadSnapshot read_snapshot(FileSystem& files, const std::string& path) {
  ReadSnapshot read;
  const std::unique_ptr<SnapshotReader> reader = SnapshotReader::open(files, path, read.error);
  if (reader == nullptr) return read;
  read.begin = reader->begin();
  read.hash_seed = reader->hash_seed();
  SnapshotFrame frame;
  while (reader->next(frame)) read.frames.emplace_back(frame.type, frame.payload);
  read.error = reader->error();
  read.end = reader->end();
  return read;
}

// The error with which a file is refused; empty: it was read to its end.
inline std::string refusal(FileSystem& files, const std::string& path) {
  std::string error;
  const std::unique_ptr<SnapshotReader> reader = SnapshotReader::open(files, path, error);
  if (reader == nullptr) return error;
  SnapshotFrame frame;
  while (reader->next(frame)) continue;
  return reader->error();
}

}  // namespace iris::persistence
