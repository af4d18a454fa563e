#include "filters/bloom_loader.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "filters/bloom_dump.h"
#include "filters/check.h"
#include "filters/little_endian.h"

namespace iris::filters {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

std::variant<std::unique_ptr<BloomFilter>, LoadError> filter_from_header(
    const BloomHeader& header, uint64_t id, uint64_t memory_limit_bytes) {
  if (header.memory_bytes() > memory_limit_bytes) return LoadError::kTooLarge;
  std::vector<BloomLayer> layers;
  layers.reserve(header.layers.size());
  for (const BloomHeader::Layer& described : header.layers) {
    auto layer = BloomLayer::allocate(described.geometry);
    if (!layer) return LoadError::kTooLarge;
    layer->set_item_count(described.item_count);
    layers.push_back(std::move(*layer));
  }
  return BloomFilter::assemble(header.params, id, header.seed, std::move(layers));
}

std::variant<std::unique_ptr<BloomLoader>, LoadError> BloomLoader::start(
    std::string_view header, uint64_t id, uint64_t memory_limit_bytes) {
  const auto decoded = decode_header(header);
  if (!decoded) return LoadError::kBadData;
  auto made = filter_from_header(*decoded, id, memory_limit_bytes);
  if (const LoadError* error = std::get_if<LoadError>(&made)) return *error;
  auto& filter = std::get<std::unique_ptr<BloomFilter>>(made);
  // The constructor is private, so make_unique cannot reach it.
  return std::unique_ptr<BloomLoader>(
      new BloomLoader(std::string(header), decoded->format, std::move(filter)));
}

LoadError BloomLoader::load(int64_t iterator, std::string_view data) {
  CHECK(filter_ != nullptr);
  std::string_view cells = data;
  if (format_ == HeaderFormat::kIris) {
    if (data.size() < kDumpChecksumBytes) return LoadError::kBadData;
    cells.remove_suffix(kDumpChecksumBytes);
  }
  if (cells.empty()) return LoadError::kBadData;
  // The iterator is that of the end: 1 + offset + length. It is positive, so nothing here wraps.
  if (iterator < 1 || static_cast<uint64_t>(iterator) - 1 < cells.size()) {
    return LoadError::kNoSuchOffset;
  }
  const uint64_t offset = static_cast<uint64_t>(iterator) - 1 - cells.size();
  if (offset >= total_bytes_) return LoadError::kNoSuchOffset;
  if (format_ == HeaderFormat::kIris && FieldReader(data.substr(cells.size())).get<uint64_t>() !=
                                            dump_checksum(bytes_of(cells), offset)) {
    return LoadError::kBadData;
  }
  return write(offset, cells);
}

LoadError BloomLoader::write(uint64_t offset, std::string_view cells) {
  uint64_t layer_start = 0;
  for (size_t i = 0; i < filter_->layer_count(); ++i) {
    BloomLayer& layer = filter_->mutable_layer(i);
    const std::span<std::byte> target = layer.cells();
    if (offset - layer_start >= target.size()) {
      layer_start += target.size();
      continue;
    }
    const uint64_t first = offset - layer_start;
    if (cells.size() > target.size() - first) return LoadError::kPieceTooBig;
    const bool has_last_byte = first + cells.size() == target.size();
    const uint64_t used_bits = layer.geometry().bits % 8;
    if (has_last_byte && used_bits != 0 &&
        static_cast<unsigned char>(cells.back()) >> used_bits != 0) {
      return LoadError::kBadData;
    }
    if (!remember(offset, offset + cells.size())) return LoadError::kBadData;
    std::memcpy(target.data() + first, cells.data(), cells.size());
    return LoadError::kNone;
  }
  return LoadError::kNoSuchOffset;
}

// Joins [first, end) with the ranges that it overlaps or touches.
bool BloomLoader::remember(uint64_t first, uint64_t end) {
  auto next = ranges_.upper_bound(first);
  if (next != ranges_.begin() && std::prev(next)->second >= first) --next;
  // From here on all that begins at or before `end` joins.
  if ((next == ranges_.end() || next->first > end) && ranges_.size() >= kMaxRanges) return false;
  while (next != ranges_.end() && next->first <= end) {
    first = std::min(first, next->first);
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace(first, end);
  return true;
}

std::optional<LoadedPiece> BloomLoader::piece_from(uint64_t place, uint64_t max_bytes) const {
  auto range = ranges_.upper_bound(place);
  if (range != ranges_.begin() && std::prev(range)->second > place) --range;
  if (range == ranges_.end()) return std::nullopt;
  const uint64_t offset = std::max(place, range->first);
  uint64_t layer_start = 0;
  for (const BloomLayer& layer : filter_->layers()) {
    const uint64_t layer_end = layer_start + layer.cells().size();
    if (offset >= layer_end) {
      layer_start = layer_end;
      continue;
    }
    const uint64_t end = std::min({range->second, layer_end, offset + max_bytes});
    const auto cells = layer.cells().subspan(offset - layer_start, end - offset);
    LoadedPiece piece{static_cast<int64_t>(end + 1), {}, end};
    piece.data.assign(reinterpret_cast<const char*>(cells.data()), cells.size());
    if (format_ == HeaderFormat::kIris) put<uint64_t>(piece.data, dump_checksum(cells, offset));
    return piece;
  }
  return std::nullopt;
}

bool BloomLoader::complete() const {
  return ranges_.size() == 1 && ranges_.begin()->first == 0 &&
         ranges_.begin()->second == total_bytes_;
}

std::unique_ptr<BloomFilter> BloomLoader::take() {
  CHECK(complete() && filter_ != nullptr);
  return std::move(filter_);
}

uint64_t BloomLoader::memory_bytes() const {
  constexpr uint64_t kRangeBytes = 64;  // a node of the map
  return sizeof(BloomLoader) + ranges_.size() * kRangeBytes +
         (filter_ ? filter_->memory_bytes() : 0);
}

std::variant<std::unique_ptr<BloomFilter>, LoadError> deserialize(std::string_view text,
                                                                  uint64_t id,
                                                                  uint64_t memory_limit_bytes) {
  const uint64_t header_bytes = iris_header_bytes(text);
  if (header_bytes == 0 || text.size() < header_bytes + kDumpChecksumBytes) {
    return LoadError::kBadData;
  }
  const auto header = decode_header(text.substr(0, header_bytes));
  if (!header) return LoadError::kBadData;
  std::string_view cells = text.substr(header_bytes);
  cells.remove_suffix(kDumpChecksumBytes);
  // Each layer's cells must be there before memory is taken for them.
  uint64_t needed = 0;
  for (const BloomHeader::Layer& layer : header->layers) needed += layer.geometry.cell_bytes();
  if (needed != cells.size()) return LoadError::kBadData;
  const uint64_t covered = text.size() - kDumpChecksumBytes;
  if (FieldReader(text.substr(covered)).get<uint64_t>() != XXH3_64bits(text.data(), covered)) {
    return LoadError::kBadData;
  }
  auto made = filter_from_header(*header, id, memory_limit_bytes);
  auto* filter = std::get_if<std::unique_ptr<BloomFilter>>(&made);
  if (filter == nullptr) return made;
  for (size_t i = 0; i < (*filter)->layer_count(); ++i) {
    BloomLayer& layer = (*filter)->mutable_layer(i);
    std::memcpy(layer.cells().data(), cells.data(), layer.cells().size());
    cells.remove_prefix(layer.cells().size());
    if (!layer.padding_is_clear()) return LoadError::kBadData;
  }
  return made;
}

}  // namespace iris::filters
