#include "filters/spectral_params.h"

#include <algorithm>
#include <cmath>

#include "filters/cell_memory.h"
#include "filters/spectral_block.h"
#include "filters/spectral_filter.h"
#include "filters/stripe_table.h"

namespace iris::filters {
namespace {

constexpr double kFirstShare = 0.5;
constexpr double kNextShare = 0.36;
constexpr double kFloorShare = 0.025 / kMaxSpectralLayers;

double layer_rate(double rate, uint32_t index) {
  return rate * std::max(kFirstShare * std::pow(kNextShare, index), kFloorShare);
}

bool in_range(int64_t value, int64_t low, int64_t high) {
  return value >= low && value <= high;
}

std::optional<SpectralGeometry> blocked_geometry(uint64_t capacity, double rate,
                                                 SpectralPolicy policy) {
  const auto size = size_spectral_layer(capacity, rate, policy);
  if (!size) return std::nullopt;
  return SpectralGeometry{.layout = SpectralLayout::kBlocked,
                          .hashes = size->hashes,
                          .cells = size->blocks * kBlockCells,
                          .capacity = capacity,
                          .rate = rate};
}

}  // namespace

bool SpectralGeometry::valid() const {
  if (hashes < 1 || cells < 1) return false;
  if (layout == SpectralLayout::kClassic) {
    return hashes <= kMaxSpectralHashes && cells <= kMaxSpectralCounters &&
           capacity == kUnlimited && rate == 0;
  }
  return layout == SpectralLayout::kBlocked && hashes <= kMaxBlockHashes &&
         cells % kBlockCells == 0 && cells / kBlockCells <= kMaxSpectralBlocks && capacity >= 1 &&
         capacity <= kMaxSpectralCapacity && rate > 0 && rate < 1;
}

uint64_t SpectralGeometry::blocks() const {
  return (cells + kBlockCells - 1) / kBlockCells;
}

uint64_t SpectralGeometry::chunks() const {
  constexpr uint64_t kChunkBlocks = kChunkBytes / sizeof(SpectralBlock);
  return (blocks() + kChunkBlocks - 1) / kChunkBlocks;
}

bool SpectralGeometry::spreads() const {
  return blocks() * sizeof(SpectralBlock) >= uint64_t{1} << 20;
}

// Blocks are at most 2^40 and chunks fewer, so no product here passes 2^47.
uint64_t SpectralGeometry::memory_bytes() const {
  const uint64_t cells_bytes = CellMemory::footprint_bytes_for(blocks() * sizeof(SpectralBlock));
  const uint64_t counters = spreads() ? 2 * BoundedCounter::spread_bytes() : 0;
  const uint64_t rest = sizeof(SpectralLayer) + counters + chunks() * sizeof(ExtensionArena);
  return cells_bytes == UINT64_MAX ? UINT64_MAX : cells_bytes + rest;
}

SpectralParams::Result SpectralParams::make(const SpectralRequest& request) {
  if (!in_range(request.max_iterations, 1, kMaxIterations)) {
    return SpectralParamsError::kMaxIterationsOutOfRange;
  }
  if (!in_range(request.bucket_size, 1, kMaxBucketSize)) {
    return SpectralParamsError::kBucketSizeOutOfRange;
  }
  if (!in_range(request.expansion, 0, kMaxExpansion)) {
    return SpectralParamsError::kExpansionOutOfRange;
  }
  if (!in_range(request.capacity, 2 * request.bucket_size,
                static_cast<int64_t>(kMaxSpectralCapacity))) {
    return SpectralParamsError::kCapacityOutOfRange;
  }
  // Written so that nan fails it.
  if (!(request.rate > 0 && request.rate < 1)) return SpectralParamsError::kRateOutOfRange;
  if (request.rate < kMinSpectralRate) return SpectralParamsError::kRateTooSmall;
  if (!in_range(request.max_expansions, 1, kMaxMaxExpansions)) {
    return SpectralParamsError::kMaxExpansionsOutOfRange;
  }

  SpectralParams params;
  params.request_ = request;
  params.request_.rate = std::min(request.rate, kMaxSpectralRate);
  const double rate = params.scaling() ? layer_rate(params.rate(), 0) : params.rate();
  const auto first =
      blocked_geometry(static_cast<uint64_t>(request.capacity), rate, request.policy);
  if (!first) return SpectralParamsError::kTooLarge;
  params.first_ = *first;
  return params;
}

SpectralParams::Result SpectralParams::make_explicit(int64_t counters, int64_t hashes,
                                                     SpectralPolicy policy) {
  if (!in_range(counters, 1, static_cast<int64_t>(kMaxSpectralCounters))) {
    return SpectralParamsError::kCountersOutOfRange;
  }
  if (!in_range(hashes, 1, kMaxSpectralHashes)) return SpectralParamsError::kHashesOutOfRange;
  SpectralParams params;
  params.request_.capacity = 0;
  params.request_.rate = 0;
  params.request_.expansion = 0;
  params.request_.policy = policy;
  params.first_ = {.layout = SpectralLayout::kClassic,
                   .hashes = static_cast<uint32_t>(hashes),
                   .cells = static_cast<uint64_t>(counters),
                   .capacity = SpectralGeometry::kUnlimited,
                   .rate = 0};
  return params;
}

uint32_t SpectralParams::max_layers() const {
  if (!scaling()) return 1;
  return static_cast<uint32_t>(
      std::min(request_.max_expansions, static_cast<int64_t>(kMaxSpectralLayers)));
}

std::optional<SpectralGeometry> SpectralParams::next_layer(uint32_t index,
                                                           const SpectralGeometry& last,
                                                           uint64_t min_capacity) const {
  uint64_t capacity = 0;
  if (!scaling() || index >= max_layers()) return std::nullopt;
  if (__builtin_mul_overflow(last.capacity, uint64_t{expansion()}, &capacity)) return std::nullopt;
  return blocked_geometry(std::max(capacity, min_capacity), layer_rate(rate(), index), policy());
}

uint64_t SpectralParams::memory_bytes() const {
  const uint64_t layer = first_.memory_bytes();
  const uint64_t counter = first_.spreads() ? BoundedCounter::spread_bytes() : 0;
  const uint64_t rest = sizeof(SpectralFilter) + sizeof(void*) + counter;
  return layer == UINT64_MAX ? UINT64_MAX : layer + rest;
}

}  // namespace iris::filters
