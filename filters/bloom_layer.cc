#include "filters/bloom_layer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "filters/check.h"

namespace iris::filters {
namespace {

// fill() must answer within milliseconds whatever the filter's size.
constexpr uint64_t kFillSampleBytes = uint64_t{16} << 20;

uint64_t count_set_bits(uint64_t* words, uint64_t count) {
  uint64_t set = 0;
  for (uint64_t i = 0; i < count; ++i) {
    set += static_cast<uint64_t>(std::popcount(probes::load_word(words + i)));
  }
  return set;
}

}  // namespace

std::optional<BloomLayer> BloomLayer::allocate(const LayerGeometry& geometry) {
  auto cells = CellMemory::allocate(geometry.cell_bytes());
  if (!cells) return std::nullopt;
  return BloomLayer(geometry, std::move(*cells));
}

uint64_t BloomLayer::content_bytes_for(const LayerGeometry& geometry) {
  uint64_t bytes = CellMemory::footprint_bytes_for(geometry.cell_bytes());
  const uint64_t counter = spreads(geometry) ? BoundedCounter::spread_bytes() : 0;
  return __builtin_add_overflow(bytes, counter, &bytes) ? std::numeric_limits<uint64_t>::max()
                                                        : bytes;
}

uint64_t BloomLayer::chunks() const {
  if (block_bits(geometry_.layout) == 0) return 1;
  return (geometry_.cell_bytes() + kBloomChunkBytes - 1) / kBloomChunkBytes;
}

std::pair<uint64_t, uint64_t> BloomLayer::chunk_range(uint64_t chunk) const {
  CHECK(chunk < chunks());
  if (block_bits(geometry_.layout) == 0) return {0, geometry_.cell_bytes()};
  const uint64_t first = chunk * kBloomChunkBytes;
  return {first, std::min(kBloomChunkBytes, geometry_.cell_bytes() - first)};
}

void BloomLayer::read_cells(uint64_t first_byte, std::span<std::byte> out) const {
  CHECK(first_byte <= geometry_.cell_bytes());
  CHECK(out.size() <= geometry_.cell_bytes() - first_byte);
  // Whole words may be read past the last cell: invariant 2 of cell_memory.h.
  uint64_t at = first_byte;
  while (!out.empty()) {
    const uint64_t word = probes::load_word(words() + at / 8);
    const uint64_t skip = at % 8;
    const uint64_t length = std::min<uint64_t>(8 - skip, out.size());
    std::memcpy(out.data(), reinterpret_cast<const std::byte*>(&word) + skip, length);
    out = out.subspan(length);
    at += length;
  }
}

void BloomLayer::add_to_item_count(uint64_t more) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(item_count(), more, &sum)) sum = kMaxLayerItems;
  set_item_count(std::min(sum, kMaxLayerItems));
}

void BloomLayer::unite(const BloomLayer& other) {
  CHECK(geometry_ == other.geometry_);
  const uint64_t count = (geometry_.cell_bytes() + 7) / 8;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t theirs = probes::load_word(other.words() + i);
    if (theirs != 0) probes::set_bits(words() + i, theirs);  // an untouched page stays untouched
  }
}

bool BloomLayer::padding_is_clear() const {
  const uint64_t used = geometry_.bits % 64;
  if (used == 0) return true;
  return probes::load_word(words() + geometry_.bits / 64) >> used == 0;
}

// A block's rate is its own fill to the power of k, so the mean is taken of the powers; a filter of
// one array is one block.
BloomLayer::Fill BloomLayer::fill() const {
  const uint64_t total_words = (geometry_.bits + 63) / 64;
  const uint64_t cells = block_bits(geometry_.layout);
  const auto hashes = static_cast<double>(geometry_.hashes);
  const uint64_t words_a_block = cells == 0 ? std::min<uint64_t>(total_words, 64) : cells / 64;
  const uint64_t blocks = total_words / words_a_block;
  const uint64_t sampled = std::min(blocks, kFillSampleBytes / 8 / words_a_block);
  double set = 0, rates = 0;
  for (uint64_t i = 0; i < sampled; ++i) {
    // blocks and sampled are below 2^43 and 2^18, so the product fits.
    const uint64_t block = i * blocks / sampled;
    const auto here =
        static_cast<double>(count_set_bits(words() + block * words_a_block, words_a_block));
    set += here;
    if (cells != 0) rates += std::pow(here / static_cast<double>(cells), hashes);
  }
  if (cells != 0) {
    const auto count = static_cast<double>(sampled);
    return {set / count / static_cast<double>(cells), rates / count};
  }
  uint64_t seen_bits = sampled * words_a_block * 64;
  if (sampled == blocks) {  // not a sample: count the words after the last whole group too
    const uint64_t counted = blocks * words_a_block;
    set += static_cast<double>(count_set_bits(words() + counted, total_words - counted));
    seen_bits = geometry_.bits;
  }
  const double ratio = set / static_cast<double>(seen_bits);
  return {ratio, std::pow(ratio, hashes)};
}

}  // namespace iris::filters
