#include "filters/spectral_header.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <variant>

#include "filters/little_endian.h"

namespace iris::filters {
namespace {

constexpr std::string_view kMagic = "IRISSPC2";
constexpr uint64_t kFixedBytes = 72;
constexpr uint64_t kLayersAt = 44;  // offset of the number of layers
constexpr uint64_t kLayerBytes = 40;
constexpr uint64_t kChecksumBytes = 8;

struct Fixed {
  uint64_t capacity;
  double rate;
  uint32_t expansion, max_expansions, bucket_size, max_iterations;
  uint8_t policy, is_explicit;
};

// The parameters again, by the constructor that RESERVE and INITBYDIM use. What it would change (a
// rate above the cap, say) was never written by Iris.
std::optional<SpectralParams> params_again(const Fixed& fixed, const SpectralGeometry& first) {
  if (fixed.policy > 1 || fixed.is_explicit > 1) return std::nullopt;
  const auto policy = static_cast<SpectralPolicy>(fixed.policy);
  if (fixed.is_explicit == 1) {
    if (first.cells > kMaxSpectralCounters) return std::nullopt;
    const auto made =
        SpectralParams::make_explicit(static_cast<int64_t>(first.cells), first.hashes, policy);
    const auto* params = std::get_if<SpectralParams>(&made);
    if (params == nullptr || params->first_layer() != first) return std::nullopt;
    return *params;
  }
  if (fixed.capacity > kMaxSpectralCapacity || first.layout != SpectralLayout::kBlocked) {
    return std::nullopt;
  }
  const auto made = SpectralParams::make({.capacity = static_cast<int64_t>(fixed.capacity),
                                          .rate = fixed.rate,
                                          .expansion = fixed.expansion,
                                          .policy = policy,
                                          .bucket_size = fixed.bucket_size,
                                          .max_iterations = fixed.max_iterations,
                                          .max_expansions = fixed.max_expansions});
  const auto* params = std::get_if<SpectralParams>(&made);
  if (params == nullptr || params->rate() != fixed.rate || first.capacity != fixed.capacity) {
    return std::nullopt;
  }
  return *params;
}

bool take_layer(FieldReader& in, SpectralHeader& header) {
  SpectralGeometry layer;
  layer.cells = in.get<uint64_t>();
  layer.capacity = in.get<uint64_t>();
  layer.rate = in.get<double>();
  layer.hashes = in.get<uint32_t>();
  const auto layout = in.get<uint32_t>();
  const auto items = in.get<uint64_t>();
  if (!in.ok() || layout < 1 || layout > static_cast<uint32_t>(SpectralLayout::kClassic)) {
    return false;
  }
  layer.layout = static_cast<SpectralLayout>(layout);
  if (!layer.valid()) return false;
  // Layers are all of one layout.
  if (!header.layers.empty() && (layer.layout != SpectralLayout::kBlocked ||
                                 header.layers[0].layout != SpectralLayout::kBlocked)) {
    return false;
  }
  header.layers.push_back(layer);
  header.items.push_back(items);
  return true;
}

SpectralParams some_params() {
  return std::get<SpectralParams>(SpectralParams::make({}));
}

}  // namespace

uint64_t SpectralHeader::memory_bytes() const {
  uint64_t bytes = sizeof(SpectralFilter);
  for (const SpectralGeometry& layer : layers) {
    if (__builtin_add_overflow(bytes, layer.memory_bytes(), &bytes)) return UINT64_MAX;
  }
  return bytes;
}

std::string encode_spectral_header(const SpectralFilter& filter) {
  const SpectralRequest& request = filter.params().request();
  std::string out(kMagic);
  put<uint64_t>(out, static_cast<uint64_t>(request.capacity));
  put<double>(out, request.rate);
  put<uint32_t>(out, static_cast<uint32_t>(request.expansion));
  put<uint32_t>(out, static_cast<uint32_t>(request.max_expansions));
  put<uint32_t>(out, static_cast<uint32_t>(request.bucket_size));
  put<uint32_t>(out, static_cast<uint32_t>(request.max_iterations));
  put<uint8_t>(out, static_cast<uint8_t>(request.policy));
  put<uint8_t>(out, filter.params().explicit_dimensions() ? 1 : 0);
  put<uint16_t>(out, 0);
  put<uint32_t>(out, static_cast<uint32_t>(filter.layer_count()));
  put<uint64_t>(out, filter.seed());
  put<uint64_t>(out, filter.sum());
  put<uint64_t>(out, filter.deleted());
  for (size_t i = 0; i < filter.layer_count(); ++i) {
    const SpectralGeometry& geometry = filter.layer(i).geometry();
    put<uint64_t>(out, geometry.cells);
    put<uint64_t>(out, geometry.capacity);
    put<double>(out, geometry.rate);
    put<uint32_t>(out, geometry.hashes);
    put<uint32_t>(out, static_cast<uint32_t>(geometry.layout));
    put<uint64_t>(out, filter.layer(i).items());
  }
  put<uint64_t>(out, XXH3_64bits(out.data(), out.size()));
  return out;
}

std::optional<SpectralHeader> decode_spectral_header(std::string_view bytes) {
  if (bytes.empty() || spectral_header_bytes(bytes) != bytes.size()) return std::nullopt;
  const std::string_view covered = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (FieldReader(bytes.substr(covered.size())).get<uint64_t>() !=
      XXH3_64bits(covered.data(), covered.size())) {
    return std::nullopt;
  }
  FieldReader in(covered.substr(kMagic.size()));
  Fixed fixed{};
  fixed.capacity = in.get<uint64_t>();
  fixed.rate = in.get<double>();
  fixed.expansion = in.get<uint32_t>();
  fixed.max_expansions = in.get<uint32_t>();
  fixed.bucket_size = in.get<uint32_t>();
  fixed.max_iterations = in.get<uint32_t>();
  fixed.policy = in.get<uint8_t>();
  fixed.is_explicit = in.get<uint8_t>();
  const auto zero = in.get<uint16_t>();
  const auto layer_count = in.get<uint32_t>();
  SpectralHeader header{some_params(), 0, 0, 0, {}, {}};
  header.seed = in.get<uint64_t>();
  header.sum = in.get<uint64_t>();
  header.deleted = in.get<uint64_t>();
  if (zero != 0 || header.sum > kMaxSpectralCount) return std::nullopt;
  for (uint32_t i = 0; i < layer_count; ++i) {
    if (!take_layer(in, header)) return std::nullopt;
  }
  const auto params = params_again(fixed, header.layers.front());
  if (!params || header.layers.size() > params->max_layers()) return std::nullopt;
  header.params = *params;
  return header;
}

uint64_t spectral_header_bytes(std::string_view start) {
  if (!start.starts_with(kMagic) || start.size() < kFixedBytes) return 0;
  const auto layers = FieldReader(start.substr(kLayersAt)).get<uint32_t>();
  if (layers < 1 || layers > kMaxSpectralLayers) return 0;
  return kFixedBytes + kLayerBytes * layers + kChecksumBytes;
}

}  // namespace iris::filters
