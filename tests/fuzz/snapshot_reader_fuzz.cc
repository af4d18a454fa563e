// Any bytes as a snapshot file.
//
//   flags | the file
//
// With flag 1 the first word and all checksums are made right before the file is read: otherwise
// no fuzzer would ever see what is behind them. Reading with the parts of large payloads joined
// and with the parts apart must come to the same end.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "persistence/snapshot_file.h"
#include "tests/unit/persistence/memory_files.h"
#include "tests/unit/persistence/snapshot_forge.h"

namespace {

using namespace iris::persistence;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void make_checksums_right(std::string& file) {
  if (file.size() < kSnapshotMagic.size()) return;
  file.replace(0, kSnapshotMagic.size(), kSnapshotMagic);
  uint64_t salt = 0;
  uint64_t number = 0;
  size_t offset = kSnapshotMagic.size();
  while (file.size() - offset >= kFrameHeadBytes) {
    uint64_t payload_bytes = 0;
    std::memcpy(&payload_bytes, file.data() + offset + 8, sizeof payload_bytes);
    const size_t room = file.size() - offset - kFrameHeadBytes;
    if (payload_bytes > room || room - payload_bytes < padding_bytes(payload_bytes) + 8) return;
    const size_t covered = kFrameHeadBytes + payload_bytes + padding_bytes(payload_bytes);
    if (number == 0 && payload_bytes >= 16) {
      std::memcpy(&salt, file.data() + offset + kFrameHeadBytes + 8, sizeof salt);
    }
    const std::string checksum =
        checksum_of(std::string_view(file).substr(offset, covered), number, salt);
    file.replace(offset + covered, checksum.size(), checksum);
    offset += covered + kFrameChecksumBytes;
    ++number;
  }
}

struct Outcome {
  std::string error;
  std::string payloads;  // one after the other
  Lsn end = 0;

  bool operator==(const Outcome&) const = default;
};

Outcome read_all(FileSystem& files, bool join_parts) {
  Outcome outcome;
  const auto reader = SnapshotReader::open(files, "file", outcome.error);
  require((reader == nullptr) == !outcome.error.empty(), "neither a reader nor an error");
  if (reader == nullptr) return outcome;
  if (!join_parts) reader->leave_parts_apart();
  SnapshotFrame frame;
  while (reader->next(frame)) {
    require(frame.type != FrameType::kBegin && frame.type != FrameType::kEnd, "a writer's frame");
    require(!join_parts || frame.type != FrameType::kPart, "a part");
    outcome.payloads += frame.payload;
  }
  require(!reader->next(frame), "a frame after the end");
  outcome.error = reader->error();
  outcome.end = reader->end();
  require(!outcome.error.empty() || reader->bytes_read() == reader->bytes_in_all(),
          "a sound file that was not read to its end");
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) != 0) make_checksums_right(file);
  MemoryFiles files;
  files.set_content("file", file);
  const Outcome joined = read_all(files, true);
  const Outcome apart = read_all(files, false);
  require(joined.error == apart.error && joined.end == apart.end, "different ends");
  // On damage, parts may have been handed out that were never joined.
  require(!joined.error.empty() || joined == apart, "different payloads");
  return 0;
}
