// Snapshot files built by hand, with checksums that are right whatever else is wrong: what a
// forger, or a bug in a writer, could bring.
#pragma once

#include <xxhash.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "filters/little_endian.h"
#include "persistence/snapshot_format.h"

namespace iris::persistence {

inline constexpr uint64_t kForgedSalt = 0x5a175a175a175a17;

inline std::string checksum_of(std::string_view covered, uint64_t number,
                               uint64_t salt = kForgedSalt) {
  std::string checksum;
  filters::put<uint64_t>(
      checksum, XXH3_64bits_withSeed(covered.data(), covered.size(), frame_seed(salt, number)));
  return checksum;
}

class SnapshotForge {
 public:
  explicit SnapshotForge(Lsn begin, uint32_t version = kSnapshotVersion) : bytes_(kSnapshotMagic) {
    frame(FrameType::kBegin,
          begin_payload({.version = version, .salt = kForgedSalt, .lsn = begin, .hash_seed = 7}));
  }

  SnapshotForge& frame(FrameType type, std::string_view payload) {
    return raw_frame(static_cast<uint32_t>(type), 0, payload.size(), payload);
  }

  SnapshotForge& raw_frame(uint32_t type, uint32_t reserved, uint64_t announced_bytes,
                           std::string_view payload) {
    std::string covered;
    filters::put<uint32_t>(covered, type);
    filters::put<uint32_t>(covered, reserved);
    filters::put<uint64_t>(covered, announced_bytes);
    covered += payload;
    covered.append(padding_bytes(payload.size()), '\0');
    bytes_ += covered + checksum_of(covered, frames_++);
    return *this;
  }

  SnapshotForge& end(Lsn lsn) {
    return frame(FrameType::kEnd, end_payload({.lsn = lsn, .frames = frames_ + 1}));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  uint64_t frames_ = 0;
};

// The frames of a sound file, each with its head and its checksum; the magic word is left out.
inline std::vector<std::string> split_frames(std::string_view file) {
  std::vector<std::string> frames;
  file.remove_prefix(kSnapshotMagic.size());
  while (!file.empty()) {
    uint64_t payload_bytes = 0;
    std::memcpy(&payload_bytes, file.data() + 8, sizeof payload_bytes);
    const size_t size =
        kFrameHeadBytes + payload_bytes + padding_bytes(payload_bytes) + kFrameChecksumBytes;
    frames.emplace_back(file.substr(0, size));
    file.remove_prefix(size);
  }
  return frames;
}

inline std::string join_frames(const std::vector<std::string>& frames) {
  std::string file(kSnapshotMagic);
  for (const std::string& frame : frames) file += frame;
  return file;
}

}  // namespace iris::persistence
