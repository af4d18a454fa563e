#include "filters/bloom_header.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "filters/check.h"
#include "filters/little_endian.h"

namespace iris::filters {
namespace {

constexpr std::string_view kMagic = "IRISBLM1";
constexpr uint64_t kIrisFixedBytes = 48;
constexpr uint64_t kIrisLayerBytes = 40;
constexpr uint64_t kChecksumBytes = 8;
constexpr uint64_t kIrisLayersAt = 40;  // offset of the number of layers

constexpr uint64_t kRedisFixedBytes = 20;
constexpr uint64_t kRedisLayerBytes = 53;
constexpr uint32_t kOptionNoRound = 1;
constexpr uint32_t kOptionForce64 = 4;
constexpr uint32_t kOptionNoScaling = 8;
constexpr uint32_t kKnownOptions = kOptionNoRound | kOptionForce64 | kOptionNoScaling;
constexpr uint8_t kMaxLog2Bits = 63;

using Layer = BloomHeader::Layer;

std::optional<BloomParams> accepted(std::variant<BloomParams, BloomParamsError> made) {
  const BloomParams* params = std::get_if<BloomParams>(&made);
  if (params == nullptr) return std::nullopt;
  return *params;
}

bool close(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * std::fabs(b);
}

// Any geometry that RedisBloom accepts, within Iris's limits (invariant 2).
bool classic_layer_is_valid(const LayerGeometry& layer) {
  return layer.layout == BloomLayout::kClassic && layer.rate > 0 && layer.rate < 1 &&
         layer.capacity >= 1 && layer.capacity <= kMaxCapacity && layer.bits > 0 &&
         layer.bits % 8 == 0 && layer.bits <= kMaxLayerBits && layer.hashes <= kMaxHashes &&
         layer.hashes == classic_hashes(classic_bits_per_entry(layer.rate));
}

// `next` is what this build would choose. A sixty-fourth and a block either way is far more than
// rounding does, and far less than would make a difference to anybody.
bool blocked_layer_is_valid(const BloomParams& params, const LayerGeometry& layer,
                            const LayerGeometry& next) {
  const uint64_t cells = block_bits(layer.layout);
  if (cells == 0 || layer.bits == 0 || layer.bits % cells != 0) return false;
  if (layer.capacity != next.capacity || !close(layer.rate, next.rate)) return false;
  // `auto` may have chosen the other layout where the two are nearly equal.
  if (layer.layout != next.layout && params.layout() != LayoutChoice::kAuto) return false;
  const auto expected = size_layer(layer.layout, next.capacity, next.rate);
  if (!expected) return false;
  const uint64_t bits_apart =
      std::max(layer.bits, expected->bits) - std::min(layer.bits, expected->bits);
  const uint32_t hashes_apart =
      std::max(layer.hashes, expected->hashes) - std::min(layer.hashes, expected->hashes);
  return bits_apart <= expected->bits / 64 + cells && hashes_apart <= 2 && layer.hashes >= 1;
}

bool layers_are_valid(const BloomParams& params, const std::vector<Layer>& layers) {
  if (layers.size() > 1 && !params.scaling()) return false;
  std::optional<LayerGeometry> expected = params.first_layer();
  for (const Layer& layer : layers) {
    if (layer.item_count > kMaxLayerItems) return false;
    if (params.explicit_dimensions()) {
      if (layer.geometry != *expected) return false;
    } else if (params.classic()) {
      if (!classic_layer_is_valid(layer.geometry)) return false;
    } else {
      if (!expected || !blocked_layer_is_valid(params, layer.geometry, *expected)) return false;
      expected = params.next_layer(layer.geometry);
    }
  }
  return true;
}

// --- RedisBloom's format ---

std::string encode_redisbloom(const BloomFilter& filter) {
  // The counts are read once, so that their sum is the total even while others add.
  std::vector<uint64_t> counts;
  uint64_t total = 0;
  for (const BloomLayer& layer : filter.layers()) {
    counts.push_back(layer.item_count());
    total += counts.back();
  }
  std::string out;
  put<uint64_t>(out, total);
  put<uint32_t>(out, static_cast<uint32_t>(filter.layer_count()));
  put<uint32_t>(
      out, kOptionNoRound | kOptionForce64 | (filter.params().scaling() ? 0 : kOptionNoScaling));
  put<uint32_t>(out, filter.params().expansion());
  for (size_t i = 0; i < filter.layer_count(); ++i) {
    const LayerGeometry& geometry = filter.layer(i).geometry();
    put<uint64_t>(out, geometry.cell_bytes());
    put<uint64_t>(out, geometry.bits);
    put<uint64_t>(out, counts[i]);
    put<double>(out, geometry.rate);
    put<double>(out, classic_bits_per_entry(geometry.rate));
    put<uint32_t>(out, geometry.hashes);
    put<uint64_t>(out, geometry.capacity);
    put<uint8_t>(out, 0);
  }
  return out;
}

std::optional<Layer> decode_redisbloom_layer(FieldReader& in) {
  Layer layer{};
  layer.geometry.layout = BloomLayout::kClassic;
  const auto bytes = in.get<uint64_t>();
  layer.geometry.bits = in.get<uint64_t>();
  layer.item_count = in.get<uint64_t>();
  layer.geometry.rate = in.get<double>();
  const auto bits_per_entry = in.get<double>();
  layer.geometry.hashes = in.get<uint32_t>();
  layer.geometry.capacity = in.get<uint64_t>();
  const auto log2_bits = in.get<uint8_t>();
  if (!in.ok() || bytes > kMaxLayerBits / 8 || layer.geometry.bits != bytes * 8)
    return std::nullopt;
  if (!classic_layer_is_valid(layer.geometry)) return std::nullopt;
  // Hashes were checked against the rate; the stored quotient must say the same.
  if (!close(bits_per_entry, classic_bits_per_entry(layer.geometry.rate))) return std::nullopt;
  // n2 > 0: positions are masked with 2^n2 - 1. For 2^n2 bits that is the remainder, as for n2 = 0.
  if (log2_bits > kMaxLog2Bits) return std::nullopt;
  if (log2_bits != 0 && layer.geometry.bits != uint64_t{1} << log2_bits) return std::nullopt;
  return layer;
}

std::optional<BloomHeader> decode_redisbloom(std::string_view bytes) {
  FieldReader in(bytes);
  const auto total = in.get<uint64_t>();
  const auto layer_count = in.get<uint32_t>();
  const auto options = in.get<uint32_t>();
  const auto growth = in.get<uint32_t>();
  if (!in.ok() || layer_count < 1 || layer_count > BloomFilter::kMaxLayers) return std::nullopt;
  if (bytes.size() != kRedisFixedBytes + kRedisLayerBytes * layer_count) return std::nullopt;
  // Without FORCE64 the positions come from a 32-bit hash that Iris does not have.
  if ((options & ~kKnownOptions) != 0 || (options & kOptionForce64) == 0) return std::nullopt;
  const bool scaling = (options & kOptionNoScaling) == 0;

  std::vector<Layer> layers;
  uint64_t counted = 0;
  for (uint32_t i = 0; i < layer_count; ++i) {
    auto layer = decode_redisbloom_layer(in);
    if (!layer || layer->item_count > kMaxLayerItems) return std::nullopt;
    counted += layer->item_count;
    layers.push_back(*layer);
  }
  if (counted != total) return std::nullopt;

  const LayerGeometry& first = layers.front().geometry;
  BloomRequest request{.rate = scaling ? first.rate * 2 : first.rate,
                       .capacity = static_cast<int64_t>(first.capacity),
                       .default_expansion = growth,
                       .nonscaling = !scaling,
                       .layout = LayoutChoice::kClassic};
  const auto params = accepted(BloomParams::make(request));
  if (!params || params->scaling() != scaling || !layers_are_valid(*params, layers)) {
    return std::nullopt;
  }
  return BloomHeader{HeaderFormat::kRedisBloom, *params, 0, std::move(layers)};
}

// --- Iris's format ---

std::string encode_iris(const BloomFilter& filter) {
  const BloomParams& params = filter.params();
  std::string out(kMagic);
  put<double>(out, params.rate());
  put<uint64_t>(out, params.first_layer().capacity);
  put<uint32_t>(out, params.expansion());
  put<uint8_t>(out, params.scaling() ? 1 : 0);
  put<uint8_t>(out, static_cast<uint8_t>(params.layout()));
  put<uint8_t>(out, params.explicit_dimensions() ? 1 : 0);
  put<uint8_t>(out, 0);
  put<uint64_t>(out, filter.seed());
  put<uint32_t>(out, static_cast<uint32_t>(filter.layer_count()));
  put<uint32_t>(out, 0);
  for (const BloomLayer& layer : filter.layers()) {
    put<uint64_t>(out, layer.geometry().bits);
    put<uint64_t>(out, layer.geometry().capacity);
    put<double>(out, layer.geometry().rate);
    put<uint32_t>(out, layer.geometry().hashes);
    put<uint32_t>(out, static_cast<uint32_t>(layer.geometry().layout));
    put<uint64_t>(out, layer.item_count());
  }
  put<uint64_t>(out, XXH3_64bits(out.data(), out.size()));
  return out;
}

std::optional<Layer> decode_iris_layer(FieldReader& in) {
  Layer layer{};
  layer.geometry.bits = in.get<uint64_t>();
  layer.geometry.capacity = in.get<uint64_t>();
  layer.geometry.rate = in.get<double>();
  layer.geometry.hashes = in.get<uint32_t>();
  const auto layout = in.get<uint32_t>();  // a byte and three zeros
  layer.item_count = in.get<uint64_t>();
  if (!in.ok() || layout < 1 || layout > static_cast<uint32_t>(BloomLayout::kExplicit)) {
    return std::nullopt;
  }
  layer.geometry.layout = static_cast<BloomLayout>(layout);
  return layer;
}

struct IrisFixed {
  double rate;
  uint64_t capacity;
  uint32_t expansion;
  uint8_t scaling, layout, is_explicit;
};

// The parameters again, by the constructor that RESERVE and INITBYDIM use. What it would change
// (a rate above the cap, say) was never written by Iris.
std::optional<BloomParams> params_again(const IrisFixed& fixed, const LayerGeometry& first) {
  if (fixed.scaling > 1 || fixed.is_explicit > 1) return std::nullopt;
  if (fixed.layout > static_cast<uint8_t>(LayoutChoice::kClassic)) return std::nullopt;
  std::optional<BloomParams> params;
  if (fixed.is_explicit == 1) {
    if (first.bits > BloomParams::kMaxExplicitBits) return std::nullopt;
    params = accepted(BloomParams::make_explicit(static_cast<int64_t>(first.bits), first.hashes));
  } else {
    if (fixed.capacity > kMaxCapacity) return std::nullopt;
    params = accepted(BloomParams::make({.rate = fixed.rate,
                                         .capacity = static_cast<int64_t>(fixed.capacity),
                                         .default_expansion = fixed.expansion,
                                         .nonscaling = fixed.scaling == 0,
                                         .layout = static_cast<LayoutChoice>(fixed.layout)}));
  }
  if (!params || params->rate() != fixed.rate || params->expansion() != fixed.expansion ||
      params->scaling() != (fixed.scaling == 1) ||
      params->layout() != static_cast<LayoutChoice>(fixed.layout) ||
      params->first_layer().capacity != fixed.capacity) {
    return std::nullopt;
  }
  return params;
}

std::optional<BloomHeader> decode_iris(std::string_view bytes) {
  if (iris_header_bytes(bytes) != bytes.size()) return std::nullopt;
  const std::string_view covered = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (FieldReader(bytes.substr(covered.size())).get<uint64_t>() !=
      XXH3_64bits(covered.data(), covered.size())) {
    return std::nullopt;
  }
  FieldReader in(covered.substr(kMagic.size()));
  IrisFixed fixed{};
  fixed.rate = in.get<double>();
  fixed.capacity = in.get<uint64_t>();
  fixed.expansion = in.get<uint32_t>();
  fixed.scaling = in.get<uint8_t>();
  fixed.layout = in.get<uint8_t>();
  fixed.is_explicit = in.get<uint8_t>();
  const auto zero = in.get<uint8_t>();
  const auto seed = in.get<uint64_t>();
  const auto layer_count = in.get<uint32_t>();
  const auto more_zeros = in.get<uint32_t>();
  if (zero != 0 || more_zeros != 0) return std::nullopt;
  std::vector<Layer> layers;
  for (uint32_t i = 0; i < layer_count; ++i) {
    const auto layer = decode_iris_layer(in);
    if (!layer) return std::nullopt;
    layers.push_back(*layer);
  }
  const auto params = params_again(fixed, layers.front().geometry);
  if (!params || !layers_are_valid(*params, layers)) return std::nullopt;
  if (params->classic() && seed != 0) return std::nullopt;
  return BloomHeader{HeaderFormat::kIris, *params, seed, std::move(layers)};
}

}  // namespace

uint64_t BloomHeader::memory_bytes() const {
  uint64_t bytes = BloomFilter::footprint_bytes_for(layers.front().geometry);
  for (size_t i = 1; i < layers.size(); ++i) {
    const uint64_t content = BloomLayer::content_bytes_for(layers[i].geometry);
    if (__builtin_add_overflow(bytes, content, &bytes) ||
        __builtin_add_overflow(bytes, BloomLayer::object_bytes(), &bytes)) {
      return std::numeric_limits<uint64_t>::max();
    }
  }
  return bytes;
}

HeaderFormat dump_format(const BloomFilter& filter) {
  return filter.params().classic() ? HeaderFormat::kRedisBloom : HeaderFormat::kIris;
}

std::string encode_header(const BloomFilter& filter, HeaderFormat format) {
  if (format == HeaderFormat::kIris) return encode_iris(filter);
  CHECK(filter.params().classic());
  return encode_redisbloom(filter);
}

std::optional<BloomHeader> decode_header(std::string_view bytes) {
  return bytes.starts_with(kMagic) ? decode_iris(bytes) : decode_redisbloom(bytes);
}

uint64_t iris_header_bytes(std::string_view start) {
  if (!start.starts_with(kMagic) || start.size() < kIrisFixedBytes) return 0;
  const auto layers = FieldReader(start.substr(kIrisLayersAt)).get<uint32_t>();
  if (layers < 1 || layers > BloomFilter::kMaxLayers) return 0;
  return kIrisFixedBytes + kIrisLayerBytes * layers + kChecksumBytes;
}

}  // namespace iris::filters
