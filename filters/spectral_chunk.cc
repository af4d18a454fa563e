#include "filters/spectral_chunk.h"

#include <array>
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

struct Highs {
  uint32_t count = 0;
  std::array<uint64_t, kBlockCells> values;
};

// The high parts of one block's full cells.
bool take_highs(std::string_view& bytes, uint32_t count, Highs& highs) {
  highs.count = count;
  for (uint32_t i = 0; i < count; ++i) {
    if (!take_number(bytes, highs.values[i])) return false;
    if (highs.values[i] > kMaxSpectralCount - kDigitMax) return false;
  }
  return true;
}

// Cells beyond the last counter of a classic layer belong to nobody.
bool counts_beyond(const BlockDigits& digits, uint64_t first_cell, uint64_t cells) {
  for (uint32_t i = 0; i < kBlockCells && first_cell + kBlockCells > cells; ++i) {
    if (first_cell + i >= cells && digits.get(i) != 0) return true;
  }
  return false;
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
  SpectralBlock read{};
  Highs highs;
  for (uint64_t block = first; block < first + count; ++block) {
    if (bytes.size() < kDigitBytes) return ChunkDecode::kDamaged;
    std::memcpy(read.digits.data(), bytes.data(), kDigitBytes);
    bytes.remove_prefix(kDigitBytes);
    const BlockDigits digits = BlockDigits::load(read);
    if (!take_highs(bytes, digits.full().size(), highs)) return ChunkDecode::kDamaged;
    if (counts_beyond(digits, block * kBlockCells, layer.geometry().cells)) {
      return ChunkDecode::kDamaged;
    }
    if (!layer.write_block(block, digits, {highs.values.data(), highs.count})) {
      return ChunkDecode::kNoMemory;
    }
  }
  return ChunkDecode::kOk;
}

}  // namespace iris::filters
