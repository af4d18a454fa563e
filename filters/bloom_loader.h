// Bringing a Bloom filter in: piece by piece (BF.LOADCHUNK) or as one text (RESTORE). The other
// end of bloom_dump.h, whose formats it reads.
//
// A loader is a filter in the making. Pieces may come in any order and more than once; nobody can
// look into it before every byte has come, so a half-loaded filter never answers anything.
//
// Invariants
//   1. The header is judged (bloom_header.h) and the memory limit asked before any cell is
//      allocated. The limit is the caller's: what `maxmemory` and the per-filter limit leave.
//   2. A piece is written only where offset and length lie inside one layer.
//   3. At most kMaxRanges separate ranges are remembered: who sends every other byte is refused.
//   4. No input reaches a CHECK, whatever it says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <variant>

#include "filters/bloom_filter.h"
#include "filters/bloom_header.h"

namespace iris::filters {

enum class LoadError : uint8_t {
  kNone,
  kBadData,       // no valid header, a wrong checksum, bits where none can be
  kTooLarge,      // beyond the memory limit, or the memory cannot be had
  kNoSuchOffset,  // the piece starts outside of the filter
  kPieceTooBig,   // or ends outside of its layer
};

// A piece that has come, as LOADCHUNK would bring it again.
struct LoadedPiece {
  int64_t iterator;
  std::string data;
  uint64_t next;  // where to look for the next one
};

class BloomLoader {
 public:
  static constexpr size_t kMaxRanges = 4096;

  // For LOADCHUNK with iterator 1. The filter will have the id `id`.
  [[nodiscard]] static std::variant<std::unique_ptr<BloomLoader>, LoadError> start(
      std::string_view header, uint64_t id, uint64_t memory_limit_bytes);

  // For all other iterators. An error changes nothing that was loaded before.
  [[nodiscard]] LoadError load(int64_t iterator, std::string_view data);

  // For snapshots: what it was started with, and the first piece at or after `place`, which is 0 at
  // first and then the piece's `next`. At most `max_bytes` of cells; nothing: that was all.
  uint64_t filter_id() const { return filter_ == nullptr ? 0 : filter_->id(); }
  const std::string& header() const { return header_; }
  std::optional<LoadedPiece> piece_from(uint64_t place, uint64_t max_bytes) const;

  bool complete() const;
  // The filter, once complete; the loader is spent then.
  [[nodiscard]] std::unique_ptr<BloomFilter> take();

  uint64_t memory_bytes() const;

 private:
  BloomLoader(std::string header, HeaderFormat format, std::unique_ptr<BloomFilter> filter)
      : header_(std::move(header)),
        format_(format),
        total_bytes_(filter->cell_bytes()),
        filter_(std::move(filter)) {}

  LoadError write(uint64_t offset, std::string_view cells);
  bool remember(uint64_t first, uint64_t end);

  const std::string header_;
  const HeaderFormat format_;
  const uint64_t total_bytes_;
  std::unique_ptr<BloomFilter> filter_;
  std::map<uint64_t, uint64_t> ranges_;  // first -> end of what has come; disjoint, not touching
};

// The whole text that serialize() made.
[[nodiscard]] std::variant<std::unique_ptr<BloomFilter>, LoadError> deserialize(
    std::string_view text, uint64_t id, uint64_t memory_limit_bytes);

// An empty filter with the geometry and the counts of a header, its cells still to be filled. For
// the loaders here and for recovery.
[[nodiscard]] std::variant<std::unique_ptr<BloomFilter>, LoadError> filter_from_header(
    const BloomHeader& header, uint64_t id, uint64_t memory_limit_bytes);

}  // namespace iris::filters
