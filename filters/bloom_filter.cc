#include "filters/bloom_filter.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace iris::filters {
namespace {

uint64_t add_saturated(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

MergeError layer_merge_error(const LayerGeometry& a, const LayerGeometry& b) {
  if (a.layout != b.layout) return MergeError::kLayout;
  if (a.bits != b.bits) return MergeError::kBits;
  if (a.hashes != b.hashes) return MergeError::kHashes;
  // Equal bits and hashes for another capacity or rate: the union would work, its promise not.
  if (a.capacity != b.capacity || a.rate != b.rate) return MergeError::kCapacity;
  return MergeError::kNone;
}

}  // namespace

std::unique_ptr<BloomFilter> BloomFilter::create(const BloomParams& params, uint64_t id,
                                                 uint64_t seed) {
  auto layer = BloomLayer::allocate(params.first_layer());
  if (!layer) return nullptr;
  std::vector<BloomLayer> layers;
  layers.reserve(1);  // most filters never grow: no spare places
  layers.push_back(std::move(*layer));
  return assemble(params, id, seed, std::move(layers));
}

std::unique_ptr<BloomFilter> BloomFilter::assemble(const BloomParams& params, uint64_t id,
                                                   uint64_t seed, std::vector<BloomLayer> layers) {
  CHECK(!layers.empty() && layers.size() <= kMaxLayers);
  // The constructor is private, so make_unique cannot reach it.
  std::unique_ptr<BloomFilter> filter(new BloomFilter(params, id, params.classic() ? 0 : seed));
  filter->layers_ = std::move(layers);
  return filter;
}

std::unique_ptr<BloomFilter> BloomFilter::clone(uint64_t id) const {
  std::vector<BloomLayer> copies;
  copies.reserve(layers_.size());
  for (const BloomLayer& layer : layers_) {
    auto copy = BloomLayer::allocate(layer.geometry());
    if (!copy) return nullptr;
    std::memcpy(copy->cells().data(), layer.cells().data(), layer.cells().size());
    copy->set_item_count(layer.item_count());
    copies.push_back(std::move(*copy));
  }
  return assemble(params_, id, seed_, std::move(copies));
}

StripeSet BloomFilter::stripes() const {
  uint64_t chunks = 0;
  for (const BloomLayer& layer : layers_) chunks = std::max(chunks, layer.chunks());
  StripeSet set;
  set.add_filter(id_, chunks);
  return set;
}

// False if there are none to gather: the newest layer is full.
[[gnu::noinline]] bool BloomFilter::gather_places(StripeTable& stripe_table) {
  if (!newest().gather_helps()) return false;
  const StripeSetGuard guard(stripe_table, stripes());
  newest().gather_places();
  return true;
}

uint64_t BloomFilter::item_count() const {
  uint64_t count = 0;
  for (const BloomLayer& layer : layers_) count = add_saturated(count, layer.item_count());
  return count;
}

uint64_t BloomFilter::capacity() const {
  uint64_t capacity = 0;
  for (const BloomLayer& layer : layers_) {
    capacity = add_saturated(capacity, layer.geometry().capacity);
  }
  return capacity;
}

uint64_t BloomFilter::cell_bytes() const {
  uint64_t bytes = 0;
  for (const BloomLayer& layer : layers_) bytes += layer.geometry().cell_bytes();
  return bytes;
}

uint64_t BloomFilter::memory_bytes() const {
  uint64_t bytes = sizeof(BloomFilter) + layers_.capacity() * BloomLayer::object_bytes();
  for (const BloomLayer& layer : layers_) bytes += BloomLayer::content_bytes_for(layer.geometry());
  return bytes;
}

uint64_t BloomFilter::footprint_bytes_for(const LayerGeometry& first) {
  return add_saturated(BloomLayer::content_bytes_for(first),
                       sizeof(BloomFilter) + BloomLayer::object_bytes());
}

BloomStats BloomFilter::stats() const {
  BloomStats stats{};
  stats.newest_layout = newest().geometry().layout;
  stats.newest_hashes = newest().geometry().hashes;
  stats.promised_rate = params_.rate();
  double set_bits = 0, all_refuse = 1;
  for (const BloomLayer& layer : layers_) {
    const BloomLayer::Fill fill = layer.fill();
    stats.bits += layer.geometry().bits;
    set_bits += fill.ratio * static_cast<double>(layer.geometry().bits);
    all_refuse *= 1 - fill.current_rate;
  }
  stats.fill_ratio = set_bits / static_cast<double>(stats.bits);
  stats.current_rate = 1 - all_refuse;
  const uint64_t items = params_.explicit_dimensions() ? item_count() : capacity();
  stats.bits_per_item =
      items == 0 ? 0 : static_cast<double>(stats.bits) / static_cast<double>(items);
  return stats;
}

std::optional<uint64_t> BloomFilter::next_layer_bytes() const {
  if (layers_.size() >= kMaxLayers) return std::nullopt;
  const auto next = params_.next_layer(newest().geometry());
  if (!next) return std::nullopt;
  return add_saturated(BloomLayer::content_bytes_for(*next), BloomLayer::object_bytes());
}

GrowError BloomFilter::grow() {
  if (!params_.scaling()) return GrowError::kNotScaling;
  const auto next = params_.next_layer(newest().geometry());
  return next ? add_layer(*next) : GrowError::kTooLarge;
}

GrowError BloomFilter::add_layer(const LayerGeometry& geometry) {
  if (layers_.size() >= kMaxLayers) return GrowError::kTooManyLayers;
  auto layer = BloomLayer::allocate(geometry);
  if (!layer) return GrowError::kNoMemory;
  layers_.push_back(std::move(*layer));
  return GrowError::kNone;
}

MergeError BloomFilter::merge_error(const BloomFilter& other) const {
  if (layers_.front().geometry().layout != other.layers_.front().geometry().layout) {
    return MergeError::kLayout;
  }
  if (seed_ != other.seed_) return MergeError::kSeed;
  if (layers_.size() != other.layers_.size()) return MergeError::kLayerCount;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const MergeError error = layer_merge_error(layers_[i].geometry(), other.layers_[i].geometry());
    if (error != MergeError::kNone) return error;
  }
  return MergeError::kNone;
}

MergeError BloomFilter::merge(const BloomFilter& other) {
  if (const MergeError error = merge_error(other); error != MergeError::kNone) return error;
  for (size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].unite(other.layers_[i]);
    layers_[i].add_to_item_count(other.layers_[i].item_count());
  }
  ++other_changes_;  // a merge of an empty filter is a change too, as DEL and RESTORE would be
  return MergeError::kNone;
}

std::unique_ptr<BloomFilter> BloomFilter::united(std::span<const BloomFilter* const> sources,
                                                 uint64_t id) {
  CHECK(!sources.empty());
  std::unique_ptr<BloomFilter> filter = sources[0]->clone(id);
  if (filter == nullptr) return nullptr;
  for (const BloomFilter* source : sources.subspan(1)) {
    if (filter->merge(*source) != MergeError::kNone) return nullptr;
  }
  return filter;
}

void BloomFilter::apply_add(size_t layer_index, const ItemHash& hash, uint64_t items) {
  CHECK(layer_index < layers_.size());
  BloomLayer& layer = layers_[layer_index];
  layer.set(hash);
  layer.add_to_item_count(items);
}

ContentDigest BloomFilter::digest() const {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  const auto feed = [&state](const auto& value) {
    XXH3_128bits_update(&state, &value, sizeof value);
  };
  feed(seed_);
  feed(params_.rate());
  feed(uint64_t{params_.expansion()});
  feed(uint64_t{params_.scaling()});
  feed(uint64_t{layers_.size()});
  for (const BloomLayer& layer : layers_) {
    const LayerGeometry& geometry = layer.geometry();
    feed(static_cast<uint64_t>(geometry.layout));
    feed(geometry.bits);
    feed(uint64_t{geometry.hashes});
    feed(geometry.capacity);
    feed(geometry.rate);
    feed(layer.item_count());
    XXH3_128bits_update(&state, layer.cells().data(), layer.cells().size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

}  // namespace iris::filters
