// The bytes of a snapshot file. Little-endian throughout; every frame starts at a multiple of 8.
//
//     file    "irissnap"   begin frame   frames ...   end frame
//
//     frame    0  u32  type
//              4  u32  0
//              8  u64  payload bytes, at most 64 MB
//             16       payload
//              +       zeros up to a multiple of 8
//              +  u64  xxh3 of all that, seeded with the file's salt + the frame's number
//
//     begin   u32 version   u32 0   u64 salt   u64 begin LSN   u64 hash seed
//     records u64 first LSN   u64 count   that many records, one after the other
//     end     u64 end LSN   u64 number of frames, from begin to end
//
// What lies between begin and records is the business of the server.
//
// The salt is random and the begin frame's number is 0. So a flipped bit, a frame that was left
// out, repeated, moved, or taken from another file, all show in a checksum; a file that was cut
// off or has something appended shows in the end frame.
//
// A payload beyond 64 MB is spread over several frames: all but its last are of type kPart, the
// last has the type of the whole. The reader puts them together again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "persistence/log_format.h"

namespace iris::persistence {

// The numbers are in files: never change one.
enum class FrameType : uint32_t {
  kBegin = 1,    // by the writer: version, salt, begin LSN, hash seed
  kKeys = 2,     // keys with the ids of what they hold
  kFilter = 3,   // the header of one filter
  kCells = 4,    // cells of one filter
  kHollow = 5,   // filters that were gone before they were captured
  kLoading = 6,  // a part of a filter that a client is still bringing in
  kRecords = 7,  // the redo tail: records
  kEnd = 8,      // by the writer: end LSN and number of frames
  kPart = 9,     // by the writer: the front of a payload that goes on in the next frame
};

inline constexpr uint32_t kLastFrameType = static_cast<uint32_t>(FrameType::kPart);

// For people; never in a file.
std::string_view frame_type_name(FrameType type);

inline constexpr std::string_view kSnapshotMagic = "irissnap";
inline constexpr uint32_t kSnapshotVersion = 1;
inline constexpr size_t kFrameHeadBytes = 16;
inline constexpr size_t kFrameChecksumBytes = 8;
// A reader needs this much memory for a frame, whatever a file says.
inline constexpr uint64_t kMaxPayloadBytes = uint64_t{64} << 20;

// Zeros after a payload. Does not overflow for a payload within the limit.
constexpr size_t padding_bytes(uint64_t payload_bytes) {
  return static_cast<size_t>(-payload_bytes & 7);
}

constexpr uint64_t frame_seed(uint64_t salt, uint64_t frame_number) {
  return salt + frame_number;
}

struct SnapshotBegin {
  uint32_t version = kSnapshotVersion;
  uint64_t salt = 0;
  Lsn lsn = 0;
  uint64_t hash_seed = 0;
};

struct SnapshotEnd {
  Lsn lsn = 0;
  uint64_t frames = 0;
};

// The payload of a frame of type kRecords.
struct SnapshotRecords {
  Lsn first = 0;
  uint64_t count = 0;        // at least 1
  std::string_view records;  // what RecordReader reads
};

std::string begin_payload(const SnapshotBegin& begin);
std::string end_payload(const SnapshotEnd& end);
std::string records_head(Lsn first, uint64_t count);

// False: these bytes are no such payload.
[[nodiscard]] bool parse_begin(std::string_view payload, SnapshotBegin& begin);
[[nodiscard]] bool parse_end(std::string_view payload, SnapshotEnd& end);
[[nodiscard]] bool parse_records(std::string_view payload, SnapshotRecords& records);

}  // namespace iris::persistence
