#include "filters/spectral_chunk.h"

#include <cstring>

namespace iris::filters {
namespace {

void put_number(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// The shortest spelling only. False at the end of the bytes, or beyond 63 bits.
bool take_number(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (uint32_t shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return byte != 0 || shift == 0;
  }
  return false;
}

// The high parts of one block's full cells, on top of the digits in `values`.
bool take_highs(std::string_view& bytes, SpectralLayer::BlockValues& values) {
  for (uint64_t& value : values) {
    if (value != kDigitMax) continue;
    uint64_t high = 0;
    if (!take_number(bytes, high) || high > kMaxSpectralCount - kDigitMax) return false;
    value += high;
  }
  return true;
}

}  // namespace

void encode_spectral_chunk(const SpectralLayer& layer, uint64_t chunk_index, std::string& out) {
  const ExtensionArena& arena = layer.arena(chunk_index);
  for (const SpectralBlock& block : layer.chunk(chunk_index)) {
    out.append(reinterpret_cast<const char*>(block.digits.data()), kDigitBytes);
    const uint32_t count = ExtensionLink::unpack(block.link).count;
    for (uint32_t i = 0; i < count; ++i) put_number(out, arena.high(block, i));
  }
}

ChunkDecode decode_spectral_chunk(SpectralLayer& layer, uint64_t chunk_index,
                                  std::string_view& bytes) {
  const uint64_t first = chunk_index * SpectralLayer::kChunkBlocks;
  const uint64_t count = layer.chunk(chunk_index).size();
  SpectralLayer::BlockValues values;
  for (uint64_t block = first; block < first + count; ++block) {
    if (bytes.size() < kDigitBytes) return ChunkDecode::kDamaged;
    SpectralBlock digits_only{};
    std::memcpy(digits_only.digits.data(), bytes.data(), kDigitBytes);
    bytes.remove_prefix(kDigitBytes);
    const BlockDigits digits = BlockDigits::load(digits_only);
    for (uint32_t cell = 0; cell < kBlockCells; ++cell) values[cell] = digits.get(cell);
    if (!take_highs(bytes, values)) return ChunkDecode::kDamaged;
    // Cells beyond the last counter of a classic layer belong to nobody.
    for (uint64_t cell = block * kBlockCells, i = 0; i < kBlockCells; ++cell, ++i) {
      if (cell >= layer.geometry().cells && values[i] != 0) return ChunkDecode::kDamaged;
    }
    if (!layer.write_block(block, values)) return ChunkDecode::kNoMemory;
  }
  return ChunkDecode::kOk;
}

}  // namespace iris::filters
