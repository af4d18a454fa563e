// Taking a Bloom filter out of the server: piece by piece (BF.SCANDUMP) or as one text (DUMP).
//
// SCANDUMP's iterator is RedisBloom's. 0 asks for the header and gives 1. Any other value minus 1
// is a byte offset over the cells of all layers, one after the other; the piece starts there, ends
// at the end of its layer at the latest, and the returned iterator is the offset of what follows,
// plus 1. LOADCHUNK is called with the iterator that came with the piece.
//
//     cells   [ layer 0 ........ ][ layer 1 .............................. ]
//     pieces  |---- piece 1 -----||---- piece 2, 16 MiB ----||-- piece 3 --|
//     iter    1                   1+a                        1+a+b          then [0, ""]
//
// Classic filters dump as RedisBloom's do: a piece is the bare cells. In Iris's own format a piece
// ends with 8 bytes of xxh3 over its cells, seeded with its offset, so that a flipped bit or a
// piece in the wrong place is noticed.
//
// One text: an Iris header, all cells, 8 bytes of xxh3 over everything before.
//
// Threads: dump_step() may run beside adds; each word is as it was when it was read, as with
// RedisBloom, so a consistent dump needs a filter at rest. serialize() wants the filter alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "filters/bloom_filter.h"

namespace iris::filters {

inline constexpr uint64_t kMaxDumpPieceBytes = uint64_t{16} << 20;
inline constexpr uint64_t kDumpChecksumBytes = 8;

struct DumpStep {
  uint64_t next_iterator = 0;  // 0: the end, and `data` is empty
  std::string data;
};

// Any iterator is safe; one that points nowhere gives the end.
DumpStep dump_step(const BloomFilter& filter, int64_t iterator);

uint64_t dump_checksum(std::span<const std::byte> cells, uint64_t offset);

// `out` has exactly serialized_bytes(filter). The caller has the memory, or refuses.
uint64_t serialized_bytes(const BloomFilter& filter);
void serialize(const BloomFilter& filter, std::span<char> out);
std::string serialize(const BloomFilter& filter);

}  // namespace iris::filters
