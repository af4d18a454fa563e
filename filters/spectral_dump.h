// Taking a spectral filter out of the server and bringing it back: piece by piece (CF.SCANDUMP and
// CF.LOADCHUNK) or as one text (DUMP and RESTORE).
//
// SCANDUMP's iterator: 0 asks for the header and gives 1; iterator i gives piece i-1 and i+1; after
// the last piece, and at once for an empty filter, comes 0 with nothing. LOADCHUNK is called with
// the iterator that came with the piece, so the header is number 1 and piece p is number p+2.
//
//     piece      up to 16 chunks of one layer (spectral_chunk.h), then u64 xxh3 of them, seeded
//                with the piece's number: a flipped bit or a piece in the wrong place is noticed
//     one text   header, all chunks of all layers, u64 xxh3 of everything before
//
// A filter may change while it is dumped piece by piece. Each chunk is copied under its stripe and
// an item lies in one chunk of a layer, so what is dumped is always whole items; sum and number of
// items are brought in line with the cells when the load ends.
//
// A loader is a filter in the making. Pieces may come in any order and more than once; nobody can
// look into it before all have come and fit together, so a half-loaded filter never answers.
//
// Invariants
//   1. The header is judged and the memory limit asked before any cell is allocated; high parts
//      count against the limit as they come. The limit is the caller's: what `maxmemory` and the
//      per-filter limit leave.
//   2. A text's length is held against its header before memory is taken for it.
//   3. No input reaches a CHECK, whatever it says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "filters/bloom_dump.h"    // DumpStep
#include "filters/bloom_loader.h"  // LoadError
#include "filters/spectral_filter.h"
#include "filters/spectral_header.h"

namespace iris::filters {

// Any iterator is safe; one that points nowhere gives the end.
DumpStep dump_step(const SpectralFilter& filter, int64_t iterator, StripeTable& stripes);

// The whole filter, which the caller has alone.
std::string serialize(const SpectralFilter& filter);

class SpectralLoader {
 public:
  // For LOADCHUNK with iterator 1. The filter will have the id `id`.
  [[nodiscard]] static std::variant<std::unique_ptr<SpectralLoader>, LoadError> start(
      std::string_view header, uint64_t id, uint64_t memory_limit_bytes);

  // For all other iterators. After an error the piece counts as not there. The piece that completes
  // the filter may be refused because the whole makes no sense; then the loader is spent.
  [[nodiscard]] LoadError load(int64_t iterator, std::string_view data);

  // For snapshots: what it was started with, and the first piece at or after `place`, which is 0 at
  // first and then the piece's `next`. Nothing: that was all.
  uint64_t filter_id() const { return filter_ == nullptr ? 0 : filter_->id(); }
  const std::string& header() const { return header_text_; }
  std::optional<LoadedPiece> piece_from(uint64_t place) const;

  bool complete() const { return settled_; }
  // The filter, once complete; the loader is spent then.
  [[nodiscard]] std::unique_ptr<SpectralFilter> take();

  uint64_t memory_bytes() const;

 private:
  SpectralLoader(std::string header_text, SpectralHeader header,
                 std::unique_ptr<SpectralFilter> filter, uint64_t memory_limit_bytes);

  const std::string header_text_;
  SpectralHeader header_;
  std::unique_ptr<SpectralFilter> filter_;
  const uint64_t memory_limit_bytes_;
  std::vector<bool> loaded_;  // by piece
  uint64_t missing_;
  bool settled_ = false;
};

// The whole text that serialize() made.
[[nodiscard]] std::variant<std::unique_ptr<SpectralFilter>, LoadError> deserialize_spectral(
    std::string_view text, uint64_t id, uint64_t memory_limit_bytes);

}  // namespace iris::filters
