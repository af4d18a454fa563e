#include "server/saved_values.h"

#include <utility>
#include <variant>

#include "filters/bloom_header.h"
#include "filters/bloom_loader.h"
#include "filters/spectral_dump.h"
#include "filters/spectral_header.h"
#include "server/bloom_value.h"
#include "server/change_words.h"
#include "server/spectral_value.h"

namespace iris::server {

using filters::BloomFilter;
using filters::SpectralFilter;

namespace {

constexpr uint64_t kNoLimit = UINT64_MAX;

class HollowValue final : public UnreadableValue {
 public:
  explicit HollowValue(uint64_t id) : UnreadableValue(ValueKind::kHollow, id) {}
  std::string_view type_name() const override { return "none"; }
  std::string_view encoding() const override { return "none"; }
  uint64_t memory_bytes() const override { return sizeof *this; }
};

template <typename FilterValue, typename Filter>
std::unique_ptr<Value> value_of(std::variant<std::unique_ptr<Filter>, filters::LoadError> loaded) {
  auto* filter = std::get_if<std::unique_ptr<Filter>>(&loaded);
  return filter == nullptr ? nullptr : std::make_unique<FilterValue>(std::move(*filter));
}

}  // namespace

std::unique_ptr<Value> value_from_header(std::string_view kind, std::string_view header,
                                         uint64_t id) {
  if (kind == change::kBloom) {
    const auto decoded = filters::decode_header(header);
    if (!decoded) return nullptr;
    auto made = filters::filter_from_header(*decoded, id, kNoLimit);
    auto* filter = std::get_if<std::unique_ptr<BloomFilter>>(&made);
    return filter == nullptr ? nullptr : std::make_unique<BloomValue>(std::move(*filter));
  }
  const auto decoded = filters::decode_spectral_header(header);
  if (kind != change::kSpectral || !decoded) return nullptr;
  auto filter =
      SpectralFilter::create_with_layers(decoded->params, id, decoded->seed, decoded->layers);
  if (filter == nullptr ||
      !filter->restore_totals(decoded->sum, decoded->deleted, decoded->items)) {
    return nullptr;
  }
  return std::make_unique<SpectralValue>(std::move(filter));
}

std::unique_ptr<Value> value_from_text(std::string_view kind, std::string_view text, uint64_t id) {
  return kind == change::kBloom
             ? value_of<BloomValue>(filters::deserialize(text, id, kNoLimit))
             : value_of<SpectralValue>(filters::deserialize_spectral(text, id, kNoLimit));
}

std::unique_ptr<Value> hollow_value(uint64_t id) {
  return std::make_unique<HollowValue>(id);
}

std::unique_ptr<Value> start_of_load(std::string_view kind, std::string_view header, uint64_t id,
                                     uint64_t filter_id) {
  if (kind == change::kBloom) {
    auto started = filters::BloomLoader::start(header, filter_id, kNoLimit);
    auto* loader = std::get_if<std::unique_ptr<filters::BloomLoader>>(&started);
    return loader == nullptr ? nullptr
                             : std::make_unique<LoadingBloomValue>(std::move(*loader), id);
  }
  auto started = filters::SpectralLoader::start(header, filter_id, kNoLimit);
  auto* loader = std::get_if<std::unique_ptr<filters::SpectralLoader>>(&started);
  return loader == nullptr ? nullptr
                           : std::make_unique<LoadingSpectralValue>(std::move(*loader), id);
}

bool load(Value& value, int64_t iterator, std::string_view piece) {
  using filters::LoadError;
  if (value.kind() == ValueKind::kBloomLoading) {
    auto& loader = static_cast<LoadingBloomValue&>(value).loader();
    return loader.load(iterator, piece) == LoadError::kNone;
  }
  if (value.kind() != ValueKind::kSpectralLoading) return false;
  auto& loader = static_cast<LoadingSpectralValue&>(value).loader();
  return loader.load(iterator, piece) == LoadError::kNone;
}

std::unique_ptr<Value> loaded_filter(Value& value) {
  if (value.kind() == ValueKind::kBloomLoading) {
    auto& loader = static_cast<LoadingBloomValue&>(value).loader();
    return loader.complete() ? std::make_unique<BloomValue>(loader.take()) : nullptr;
  }
  if (value.kind() != ValueKind::kSpectralLoading) return nullptr;
  auto& loader = static_cast<LoadingSpectralValue&>(value).loader();
  return loader.complete() ? std::make_unique<SpectralValue>(loader.take()) : nullptr;
}

}  // namespace iris::server
