// The header of a dumped spectral filter: all but its cells. Little-endian. Also what a snapshot or
// a DUMP starts with.
//
//     "IRISSPC2"                                                                 8 bytes
//     u64 capacity  f64 rate  u32 expansion  u32 max expansions                 24
//     u32 bucket size  u32 max iterations  u8 policy  u8 explicit  u16 0        12
//     u32 layers  u64 seed  u64 sum of counts  u64 deleted                      28
//     a layer:  u64 cells  u64 capacity  f64 rate  u32 hashes  u32 layout
//               u64 items                                                       40 bytes each
//     u64 xxh3 of all before                                                     8
//
// Decoding trusts nothing, a right checksum least of all: anybody can compute one. The parameters
// go through SpectralParams::make like those of RESERVE, every layer must be valid by itself, and
// sum and items are only believed as far as the cells bear them out (SpectralFilter::settle).
//
// A cuckoo filter's dump from RedisBloom has a header of 38 bytes and is refused: its fingerprints
// cannot be turned into counts.
//
// Invariants
//   1. Who decodes allocates nothing that depends on a size in the header, but for the list of at
//      most kMaxSpectralLayers layers, and that many must really be there.
//   2. A filter that exists here can be encoded and decoded again. So the geometry of a layer need
//      not be what this build would choose: it may be from another build, or made larger for a
//      slice of items.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filters/spectral_filter.h"

namespace iris::filters {

struct SpectralHeader {
  SpectralParams params;
  uint64_t seed;
  uint64_t sum;
  uint64_t deleted;
  std::vector<SpectralGeometry> layers;  // at least one
  std::vector<uint64_t> items;           // of each layer

  // What a filter with this header takes while its counts are small, saturated at UINT64_MAX.
  uint64_t memory_bytes() const;
};

std::string encode_spectral_header(const SpectralFilter& filter);

// Nothing if the bytes are not exactly one valid header.
[[nodiscard]] std::optional<SpectralHeader> decode_spectral_header(std::string_view bytes);

// The length that a header says it has, to cut it off a longer text; 0 if it is none.
uint64_t spectral_header_bytes(std::string_view start);

}  // namespace iris::filters
