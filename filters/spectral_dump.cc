#include "filters/spectral_dump.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "filters/check.h"
#include "filters/little_endian.h"
#include "filters/spectral_chunk.h"

namespace iris::filters {
namespace {

constexpr uint64_t kPieceChunks = 16;
constexpr int64_t kFirstPieceIterator = 1;

uint64_t piece_count(const SpectralGeometry& layer) {
  return (layer.chunks() + kPieceChunks - 1) / kPieceChunks;
}

// Where a piece lies.
struct Piece {
  size_t layer;
  uint64_t first_chunk;
  uint64_t end_chunk;
};

std::optional<Piece> piece_at(const SpectralFilter& filter, uint64_t number) {
  for (size_t i = 0; i < filter.layer_count(); ++i) {
    const SpectralGeometry& layer = filter.layer(i).geometry();
    if (number >= piece_count(layer)) {
      number -= piece_count(layer);
      continue;
    }
    const uint64_t first = number * kPieceChunks;
    return Piece{i, first, std::min(first + kPieceChunks, layer.chunks())};
  }
  return std::nullopt;
}

uint64_t checksum(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

// Cuts the checksum off the end. False if it is not there or not right.
bool take_checksum(std::string_view& bytes, uint64_t seed) {
  if (bytes.size() < kDumpChecksumBytes) return false;
  const uint64_t stored =
      FieldReader(bytes.substr(bytes.size() - kDumpChecksumBytes)).get<uint64_t>();
  bytes.remove_suffix(kDumpChecksumBytes);
  return stored == checksum(bytes, seed);
}

// Reads chunks off the front of `bytes`, within the memory limit for the whole filter.
LoadError load_chunks(SpectralFilter& filter, const Piece& piece, std::string_view& bytes,
                      uint64_t memory_limit_bytes) {
  SpectralLayer& layer = filter.mutable_layer(piece.layer);
  for (uint64_t chunk = piece.first_chunk; chunk < piece.end_chunk; ++chunk) {
    switch (decode_spectral_chunk(layer, chunk, bytes)) {
      case ChunkDecode::kOk:
        break;
      case ChunkDecode::kDamaged:
        return LoadError::kBadData;
      case ChunkDecode::kNoMemory:
        return LoadError::kTooLarge;
    }
    if (filter.memory_bytes() > memory_limit_bytes) return LoadError::kTooLarge;
  }
  return LoadError::kNone;
}

std::unique_ptr<SpectralFilter> filter_from_header(const SpectralHeader& header, uint64_t id,
                                                   uint64_t memory_limit_bytes) {
  if (header.memory_bytes() > memory_limit_bytes) return nullptr;
  return SpectralFilter::create_with_layers(header.params, id, header.seed, header.layers);
}

}  // namespace

DumpStep dump_step(const SpectralFilter& filter, int64_t iterator, StripeTable& stripes) {
  if (iterator < 0 || (iterator == 0 && filter.sum() == 0)) return {};
  if (iterator == 0) return {1, encode_spectral_header(filter)};
  const auto piece = piece_at(filter, static_cast<uint64_t>(iterator - kFirstPieceIterator));
  if (!piece) return {};
  DumpStep step{static_cast<uint64_t>(iterator) + 1, {}};
  for (uint64_t chunk = piece->first_chunk; chunk < piece->end_chunk; ++chunk) {
    StripeGuard guard(stripes, filter.stripe_of(piece->layer, chunk));
    encode_spectral_chunk(filter.layer(piece->layer), chunk, step.data);
  }
  put<uint64_t>(step.data, checksum(step.data, step.next_iterator));
  return step;
}

std::string serialize(const SpectralFilter& filter) {
  std::string out = encode_spectral_header(filter);
  for (size_t i = 0; i < filter.layer_count(); ++i) {
    for (uint64_t chunk = 0; chunk < filter.layer(i).chunk_count(); ++chunk) {
      encode_spectral_chunk(filter.layer(i), chunk, out);
    }
  }
  put<uint64_t>(out, checksum(out, 0));
  return out;
}

SpectralLoader::SpectralLoader(std::string header_text, SpectralHeader header,
                               std::unique_ptr<SpectralFilter> filter, uint64_t memory_limit_bytes)
    : header_text_(std::move(header_text)),
      header_(std::move(header)),
      filter_(std::move(filter)),
      memory_limit_bytes_(memory_limit_bytes),
      missing_(0) {
  for (const SpectralGeometry& layer : header_.layers) missing_ += piece_count(layer);
  loaded_.resize(missing_);
}

std::variant<std::unique_ptr<SpectralLoader>, LoadError> SpectralLoader::start(
    std::string_view header, uint64_t id, uint64_t memory_limit_bytes) {
  auto decoded = decode_spectral_header(header);
  if (!decoded) return LoadError::kBadData;
  auto filter = filter_from_header(*decoded, id, memory_limit_bytes);
  if (!filter) return LoadError::kTooLarge;
  // The constructor is private, so make_unique cannot reach it.
  return std::unique_ptr<SpectralLoader>(new SpectralLoader(
      std::string(header), std::move(*decoded), std::move(filter), memory_limit_bytes));
}

LoadError SpectralLoader::load(int64_t iterator, std::string_view data) {
  if (!filter_ || settled_) return LoadError::kBadData;
  // The iterator is the next one: that of piece p is p + 2.
  if (iterator <= kFirstPieceIterator) return LoadError::kNoSuchOffset;
  const auto number = static_cast<uint64_t>(iterator - kFirstPieceIterator - 1);
  const auto piece = piece_at(*filter_, number);
  if (!piece) return LoadError::kNoSuchOffset;
  if (!take_checksum(data, static_cast<uint64_t>(iterator))) return LoadError::kBadData;
  if (loaded_[number]) ++missing_;
  loaded_[number] = false;
  const LoadError error = load_chunks(*filter_, *piece, data, memory_limit_bytes_);
  if (error != LoadError::kNone) return error;
  if (!data.empty()) return LoadError::kPieceTooBig;
  loaded_[number] = true;
  if (--missing_ > 0) return LoadError::kNone;
  if (!filter_->settle(header_.sum, header_.deleted, header_.items)) {
    filter_.reset();
    return LoadError::kBadData;
  }
  settled_ = true;
  return LoadError::kNone;
}

std::optional<LoadedPiece> SpectralLoader::piece_from(uint64_t place) const {
  while (place < loaded_.size() && !loaded_[place]) ++place;
  if (place >= loaded_.size()) return std::nullopt;
  const auto piece = piece_at(*filter_, place);
  const auto iterator = static_cast<int64_t>(place) + kFirstPieceIterator + 1;
  LoadedPiece found{iterator, {}, place + 1};
  for (uint64_t chunk = piece->first_chunk; chunk < piece->end_chunk; ++chunk) {
    encode_spectral_chunk(filter_->layer(piece->layer), chunk, found.data);
  }
  put<uint64_t>(found.data, checksum(found.data, static_cast<uint64_t>(iterator)));
  return found;
}

std::unique_ptr<SpectralFilter> SpectralLoader::take() {
  CHECK(settled_ && filter_ != nullptr);
  return std::move(filter_);
}

uint64_t SpectralLoader::memory_bytes() const {
  return sizeof(SpectralLoader) + loaded_.size() / 8 + (filter_ ? filter_->memory_bytes() : 0);
}

std::variant<std::unique_ptr<SpectralFilter>, LoadError> deserialize_spectral(
    std::string_view text, uint64_t id, uint64_t memory_limit_bytes) {
  const uint64_t header_bytes = spectral_header_bytes(text);
  if (header_bytes == 0 || text.size() < header_bytes) return LoadError::kBadData;
  const auto header = decode_spectral_header(text.substr(0, header_bytes));
  if (!header) return LoadError::kBadData;
  // Each block's digits must be there before memory is taken for them.
  uint64_t needed = header_bytes + kDumpChecksumBytes;
  for (const SpectralGeometry& layer : header->layers) needed += layer.blocks() * kDigitBytes;
  if (needed > text.size() || !take_checksum(text, 0)) return LoadError::kBadData;
  text.remove_prefix(header_bytes);
  auto filter = filter_from_header(*header, id, memory_limit_bytes);
  if (!filter) return LoadError::kTooLarge;
  for (size_t i = 0; i < filter->layer_count(); ++i) {
    const Piece whole{i, 0, filter->layer(i).chunk_count()};
    const LoadError error = load_chunks(*filter, whole, text, memory_limit_bytes);
    if (error != LoadError::kNone) return error;
  }
  if (!text.empty() || !filter->settle(header->sum, header->deleted, header->items)) {
    return LoadError::kBadData;
  }
  return filter;
}

}  // namespace iris::filters
