// What the server puts into the frames of a snapshot (persistence/snapshot_file.h), little-endian:
//
//     kKeys      a key:  u32 db  i64 expire  u64 id  u32 length  name        as many as fit
//     kFilter    u64 id  u64 lsn  u32 kind  header of the filter's own format
//     kCells     u64 id  u64 lsn  u32 layer  u64 place  cells                 none: all are 0
//                Bloom: `place` is the offset of the first byte, lsn means nothing (setting a bit
//                twice is setting it once). Spectral: a chunk in the encoding of spectral_chunk.h,
//                `place` is its number
//     kHollow    u64 id ...           gone before they were captured: what was said of them is void
//     kLoading   u64 id  u64 filter  u32 kind  i64 iterator  piece         as LOADCHUNK had it
//
// `lsn` is the log's end when the copy was made: later records are not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "persistence/log_format.h"

namespace iris::server {

// The numbers are in files: never change one.
enum class SavedKind : uint32_t { kBloom = 1, kSpectral = 2 };

struct SavedKey {
  uint32_t db = 0;
  int64_t expire_at_ms = 0;
  uint64_t id = 0;
  std::string_view name;
};

struct SavedFilter {
  uint64_t id = 0;
  persistence::Lsn lsn = 0;
  SavedKind kind = SavedKind::kBloom;
  std::string_view header;
};

struct SavedCells {
  uint64_t id = 0;
  persistence::Lsn lsn = 0;
  uint32_t layer = 0;
  uint64_t place = 0;
  std::string_view cells;
};

struct SavedPiece {
  uint64_t id = 0;
  uint64_t filter_id = 0;
  SavedKind kind = SavedKind::kBloom;
  int64_t iterator = 0;
  std::string_view piece;
};

void append_saved(std::string& out, const SavedKey& key);
// The fixed part of a frame; the header, cells or piece follow.
std::string head_of(const SavedFilter& filter);
std::string head_of(const SavedCells& cells);
std::string head_of(const SavedPiece& piece);

// Takes one off the front. False at the end or if the bytes are wrong: then some are left.
[[nodiscard]] bool take_saved(std::string_view& bytes, SavedKey& key);
[[nodiscard]] bool take_saved(std::string_view& bytes, uint64_t& hollow_id);
[[nodiscard]] bool parse_saved(std::string_view payload, SavedFilter& filter);
[[nodiscard]] bool parse_saved(std::string_view payload, SavedCells& cells);
[[nodiscard]] bool parse_saved(std::string_view payload, SavedPiece& piece);

}  // namespace iris::server
