#include "filters/bloom_params.h"

#include <algorithm>

#include "filters/bloom_filter.h"

namespace iris::filters {
namespace {

// One line a lookup is worth 8 % more bits, not 14 %: `auto` goes over to pages below this rate.
constexpr double kBlockedFromRate = 0.001;

struct Tightening {
  double first;
  double next;
};

constexpr Tightening tightening_of(bool classic) {
  return classic ? Tightening{0.5, 0.5} : Tightening{0.64, 0.36};
}

}  // namespace

std::variant<BloomParams, BloomParamsError> BloomParams::make(const BloomRequest& request) {
  // Written so that nan fails it.
  if (!(request.rate > 0 && request.rate < 1)) return BloomParamsError::kRateOutOfRange;
  if (request.rate < kMinRate) return BloomParamsError::kRateTooSmall;
  if (request.capacity < 1 || static_cast<uint64_t>(request.capacity) > kMaxCapacity) {
    return BloomParamsError::kCapacityOutOfRange;
  }
  const int64_t expansion = request.expansion.value_or(request.default_expansion);
  if (expansion < 0 || expansion > kMaxExpansion) return BloomParamsError::kExpansionOutOfRange;
  if (request.nonscaling && request.expansion.value_or(0) > 0) {
    return BloomParamsError::kNonscalingCannotExpand;
  }

  BloomParams params;
  params.rate_ = std::min(request.rate, kMaxRate);
  params.expansion_ = static_cast<uint32_t>(expansion);
  params.scaling_ = !request.nonscaling && expansion > 0;
  params.layout_ = request.layout;
  const bool classic = request.layout == LayoutChoice::kClassic;
  const double first_rate =
      params.scaling_ ? params.rate_ * tightening_of(classic).first : params.rate_;
  const auto first =
      geometry_of(request.layout, static_cast<uint64_t>(request.capacity), first_rate);
  if (!first) return BloomParamsError::kTooLarge;
  params.first_ = *first;
  return params;
}

std::variant<BloomParams, BloomParamsError> BloomParams::make_explicit(int64_t bits,
                                                                       int64_t hashes) {
  if (bits < 1 || static_cast<uint64_t>(bits) > kMaxExplicitBits) {
    return BloomParamsError::kBitsOutOfRange;
  }
  if (hashes < 1 || hashes > static_cast<int64_t>(kMaxHashes)) {
    return BloomParamsError::kHashesOutOfRange;
  }
  BloomParams params;
  params.layout_ = LayoutChoice::kClassic;
  params.first_ = {.bits = static_cast<uint64_t>(bits),
                   .capacity = LayerGeometry::kUnlimited,
                   .rate = 0,
                   .hashes = static_cast<uint32_t>(hashes),
                   .layout = BloomLayout::kExplicit};
  return params;
}

std::optional<LayerGeometry> BloomParams::next_layer(const LayerGeometry& last) const {
  if (!scaling_) return std::nullopt;
  uint64_t capacity = 0;
  if (__builtin_mul_overflow(last.capacity, uint64_t{expansion_}, &capacity)) return std::nullopt;
  const double rate = std::max(last.rate * tightening_of(classic()).next, kMinLayerRate);
  return geometry_of(layout_, capacity, rate);
}

std::optional<LayerGeometry> BloomParams::geometry_of(LayoutChoice layout, uint64_t capacity,
                                                      double rate) {
  switch (layout) {
    case LayoutChoice::kBlocked:
      return size_layer(BloomLayout::kBlocked, capacity, rate);
    case LayoutChoice::kPaged:
      return size_layer(BloomLayout::kPaged, capacity, rate);
    case LayoutChoice::kClassic:
      return size_layer(BloomLayout::kClassic, capacity, rate);
    case LayoutChoice::kAuto:
      break;
  }
  const auto blocked = size_layer(BloomLayout::kBlocked, capacity, rate);
  if (rate >= kBlockedFromRate) return blocked;
  const auto paged = size_layer(BloomLayout::kPaged, capacity, rate);
  // A tiny filter would take a page for what fits a few lines.
  return blocked && paged && blocked->bits <= paged->bits ? blocked : paged;
}

uint64_t BloomParams::memory_bytes() const {
  return BloomFilter::footprint_bytes_for(first_);
}

}  // namespace iris::filters
