// The content of one chunk as bytes: the one encoding for dumps, snapshots and digests.
//
//      block 0                      block 1                       ...
//     +----------+-----------------+----------+-----------------+---
//     | 48 bytes | high, high, ... | 48 bytes | high, high, ... |
//     +----------+-----------------+----------+-----------------+---
//       digits     one for each full cell, in ascending order of cells: 7 bits a byte, lowest
//                  first, top bit = more follow, the shortest spelling only
//
// No content has two spellings: equal counters give equal bytes, however the extensions lie in
// memory. A chunk's length follows from its bytes.
//
// Invariant: what decode accepts is what encode could have written; no count is above
// kMaxSpectralCount.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "filters/spectral_layer.h"

namespace iris::filters {

// Appends the chunk. Under its stripe, or by who has the filter alone.
void encode_spectral_chunk(const SpectralLayer& layer, uint64_t chunk_index, std::string& out);

enum class ChunkDecode : uint8_t { kOk, kDamaged, kNoMemory };

// Reads one chunk off the front of `bytes` into the layer, whatever was there before. If it fails
// the chunk may be half written: the layer is then to be thrown away.
[[nodiscard]] ChunkDecode decode_spectral_chunk(SpectralLayer& layer, uint64_t chunk_index,
                                                std::string_view& bytes);

}  // namespace iris::filters
