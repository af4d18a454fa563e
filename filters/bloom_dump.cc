#include "filters/bloom_dump.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "filters/bloom_header.h"
#include "filters/check.h"

namespace iris::filters {

uint64_t dump_checksum(std::span<const std::byte> cells, uint64_t offset) {
  return XXH3_64bits_withSeed(cells.data(), cells.size(), offset);
}

DumpStep dump_step(const BloomFilter& filter, int64_t iterator) {
  const HeaderFormat format = dump_format(filter);
  if (iterator == 0) return {1, encode_header(filter, format)};
  if (iterator < 0) return {};
  const uint64_t checksum_bytes = format == HeaderFormat::kIris ? kDumpChecksumBytes : 0;
  const uint64_t offset = static_cast<uint64_t>(iterator) - 1;
  uint64_t layer_start = 0;
  for (const BloomLayer& layer : filter.layers()) {
    const uint64_t layer_bytes = layer.geometry().cell_bytes();
    if (offset - layer_start >= layer_bytes) {
      layer_start += layer_bytes;
      continue;
    }
    const uint64_t first = offset - layer_start;
    const uint64_t length = std::min(kMaxDumpPieceBytes - checksum_bytes, layer_bytes - first);
    DumpStep step{static_cast<uint64_t>(iterator) + length, {}};
    step.data.resize(length + checksum_bytes);
    const std::span<std::byte> cells(reinterpret_cast<std::byte*>(step.data.data()), length);
    layer.read_cells(first, cells);
    if (checksum_bytes != 0) {
      const uint64_t checksum = dump_checksum(cells, offset);
      std::memcpy(step.data.data() + length, &checksum, sizeof checksum);
    }
    return step;
  }
  return {};
}

uint64_t serialized_bytes(const BloomFilter& filter) {
  return encode_header(filter, HeaderFormat::kIris).size() + filter.cell_bytes() +
         kDumpChecksumBytes;
}

void serialize(const BloomFilter& filter, std::span<char> out) {
  const std::string header = encode_header(filter, HeaderFormat::kIris);
  CHECK(out.size() == header.size() + filter.cell_bytes() + kDumpChecksumBytes);
  char* at = out.data();
  at += header.copy(at, header.size());
  for (const BloomLayer& layer : filter.layers()) {
    std::memcpy(at, layer.cells().data(), layer.cells().size());
    at += layer.cells().size();
  }
  const uint64_t checksum = XXH3_64bits(out.data(), out.size() - kDumpChecksumBytes);
  std::memcpy(at, &checksum, sizeof checksum);
}

std::string serialize(const BloomFilter& filter) {
  std::string out(serialized_bytes(filter), '\0');
  serialize(filter, std::span<char>(out));
  return out;
}

}  // namespace iris::filters
