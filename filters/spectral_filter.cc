#include "filters/spectral_filter.h"

#include <algorithm>
#include <new>
#include <numeric>

#include "filters/check.h"

namespace iris::filters {

std::unique_ptr<SpectralFilter> SpectralFilter::create(const SpectralParams& params, uint64_t id,
                                                       uint64_t seed) {
  return create_with_layers(params, id, seed, {&params.first_layer(), 1});
}

std::unique_ptr<SpectralFilter> SpectralFilter::create_with_layers(
    const SpectralParams& params, uint64_t id, uint64_t seed,
    std::span<const SpectralGeometry> layers) {
  CHECK(!layers.empty());
  std::unique_ptr<SpectralFilter> filter(new (std::nothrow) SpectralFilter(params, id, seed));
  if (!filter) return nullptr;
  for (const SpectralGeometry& geometry : layers) {
    if (filter->add_layer(geometry) != GrowError::kNone) return nullptr;
  }
  return filter;
}

uint64_t SpectralFilter::count(const ItemHash& hash, StripeTable& stripes) const {
  if (params_.explicit_dimensions()) {
    ItemCells item;
    layers_[0]->locate(hash, item);
    StripeGuard guard(stripes, stripe_of(0, item));
    return layers_[0]->estimate(item);
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    const uint64_t count = estimate(i, layers_[i]->locate_block(hash), stripes);
    if (count > 0) return count;
  }
  return 0;
}

// Mostly without the stripe: threads that count would else carry its line from core to core.
uint64_t SpectralFilter::estimate(size_t layer_index, const ItemCells::Group& group,
                                  StripeTable& stripes) const {
  const SpectralLayer& layer = *layers_[layer_index];
  const uint32_t stripe = stripe_of(layer_index, SpectralLayer::chunk_of(group));
  if (const auto moment = stripes.moment(stripe)) {
    const auto count = layer.estimate_small(group);
    if (count && stripes.unchanged_since(stripe, *moment)) return *count;
  }
  ItemCells item;
  item.count = 1;
  item.groups[0] = group;
  StripeGuard guard(stripes, stripe);
  return layer.estimate(item);
}

SpectralResult SpectralFilter::increment(const ItemHash& hash, uint64_t amount,
                                         StripeTable& stripes,
                                         const BeforeSpectralChange& before_change,
                                         const MayGrow& may_grow) {
  CHECK(amount >= 1 && amount <= kMaxSpectralCount);
  return gathering(amount, stripes,
                   [&] { return try_increment(hash, amount, stripes, before_change, may_grow); });
}

// All that it calls for most items becomes part of it, so that what was located and planned stays
// in registers.
[[gnu::flatten]] SpectralResult SpectralFilter::try_increment(const ItemHash& hash, uint64_t amount,
                                                              StripeTable& stripes,
                                                              const BeforeSpectralChange& hook,
                                                              const MayGrow& may_grow) {
  if (params_.explicit_dimensions()) {
    return increment_classic(hash, amount, stripes, hook, may_grow);
  }
  const size_t newest = layers_.size() - 1;
  for (size_t i = 0;; ++i) {
    const ItemCells::Group group = layers_[i]->locate_block(hash);
    StripeGuard guard(stripes, stripe_of(i, SpectralLayer::chunk_of(group)));
    if (i < newest && layers_[i]->absent(group)) continue;
    return increment_block(i, hash, group, amount, hook, may_grow);
  }
}

SpectralResult SpectralFilter::increment_block(size_t layer_index, const ItemHash& hash,
                                               const ItemCells::Group& group, uint64_t amount,
                                               const BeforeSpectralChange& hook,
                                               const MayGrow& may_grow) {
  const SpectralLayer& layer = *layers_[layer_index];
  if (amount == 1) {
    const SpectralEditKind kind = increment_edit(1).kind;
    DigitsPlan small;
    if (layer.plan_digits(group, kind, small)) {
      return increment_here(layer_index, hash, group, small, 1, hook, may_grow);
    }
    InlineIncrement inlined;
    if (kind == SpectralEditKind::kAdd && layer.plan_inline(group, inlined)) {
      return increment_here(layer_index, hash, group, inlined, 1, hook, may_grow);
    }
  }
  return increment_any(layer_index, hash, group, amount, hook, may_grow);
}

// These two are apart from the rest, which is small and quick without them: an ItemCells takes 6 KB
// of the stack.
[[gnu::noinline]] SpectralResult SpectralFilter::increment_any(
    size_t layer_index, const ItemHash& hash, const ItemCells::Group& group, uint64_t amount,
    const BeforeSpectralChange& hook, const MayGrow& may_grow) {
  ItemCells item;
  item.count = 1;
  item.groups[0] = group;
  return increment_cells(layer_index, hash, item, amount, hook, may_grow);
}

[[gnu::noinline]] SpectralResult SpectralFilter::increment_classic(const ItemHash& hash,
                                                                   uint64_t amount,
                                                                   StripeTable& stripes,
                                                                   const BeforeSpectralChange& hook,
                                                                   const MayGrow& may_grow) {
  ItemCells item;
  layers_[0]->locate(hash, item);
  StripeGuard guard(stripes, stripe_of(0, item));
  return increment_cells(0, hash, item, amount, hook, may_grow);
}

// Any item by any amount.
SpectralResult SpectralFilter::increment_cells(size_t layer_index, const ItemHash& hash,
                                               const ItemCells& item, uint64_t amount,
                                               const BeforeSpectralChange& hook,
                                               const MayGrow& may_grow) {
  CellPlan plan;
  layers_[layer_index]->plan_any(item, increment_edit(amount), plan);
  if (!plan.possible) return {SpectralStatus::kOverflow, plan.before};
  return increment_here(layer_index, hash, item, plan, amount, hook, may_grow);
}

SpectralResult SpectralFilter::add_if_absent(const ItemHash& hash, StripeTable& stripes,
                                             const BeforeSpectralChange& before_change,
                                             const MayGrow& may_grow) {
  return gathering(1, stripes,
                   [&] { return try_add_if_absent(hash, stripes, before_change, may_grow); });
}

SpectralResult SpectralFilter::try_add_if_absent(const ItemHash& hash, StripeTable& stripes,
                                                 const BeforeSpectralChange& hook,
                                                 const MayGrow& may_grow) {
  ItemCells item;
  const size_t newest = layers_.size() - 1;
  for (size_t i = 0; i < newest; ++i) {
    layers_[i]->locate(hash, item);
    StripeGuard guard(stripes, stripe_of(i, item));
    const uint64_t count = layers_[i]->estimate(item);
    if (count > 0) return {SpectralStatus::kPresent, count};
  }
  CellPlan plan;
  layers_[newest]->locate(hash, item);
  StripeGuard guard(stripes, stripe_of(newest, item));
  layers_[newest]->plan(item, increment_edit(1), plan);
  if (plan.before > 0) return {SpectralStatus::kPresent, plan.before};
  return increment_here(newest, hash, item, plan, 1, hook, may_grow);
}

SpectralResult SpectralFilter::decrement(const ItemHash& hash, uint64_t amount,
                                         StripeTable& stripes,
                                         const BeforeSpectralChange& before_change) {
  CHECK(amount >= 1 && amount <= kMaxSpectralCount);
  if (params_.policy() == SpectralPolicy::kMinimalIncrease) {
    return {SpectralStatus::kNoDecrements, 0};
  }
  ItemCells item;
  CellPlan plan;
  for (size_t i = 0; i < layers_.size(); ++i) {
    layers_[i]->locate(hash, item);
    StripeGuard guard(stripes, stripe_of(i, item));
    layers_[i]->plan(item, {SpectralEditKind::kSubtract, amount}, plan);
    if (plan.before == 0) continue;
    if (plan.before < amount) return {SpectralStatus::kExceeds, plan.before};
    return decrement_here(i, hash, item, plan, amount, before_change);
  }
  return {SpectralStatus::kAbsent, 0};
}

template <typename Place, typename Plan>
SpectralResult SpectralFilter::increment_here(size_t layer_index, const ItemHash& hash,
                                              const Place& place, const Plan& plan, uint64_t amount,
                                              const BeforeSpectralChange& hook,
                                              const MayGrow& may_grow) {
  SpectralLayer& layer = *layers_[layer_index];
  int64_t items = 0;
  if (plan.before == 0) {
    const auto added = layer.try_add_items(1, plan.nonzero_change, drifting());
    if (!added) return no_place(1);
    items = *added;
  }
  const bool reserved = layer.reserve(place, plan, may_grow);
  if (!reserved || !raise_sum(amount)) {
    if (plan.before == 0) {
      layer.change_nonzero(-plan.nonzero_change);
      layer.change_items(-items);
    }
    return {reserved ? SpectralStatus::kOverflow : SpectralStatus::kNoMemory, plan.before};
  }
  const bool raise = params_.policy() == SpectralPolicy::kMinimalIncrease;
  const SpectralEdit edit = raise ? SpectralEdit{SpectralEditKind::kRaise, plan.after}
                                  : SpectralEdit{SpectralEditKind::kAdd, amount};
  const SpectralChange change{hash, static_cast<uint32_t>(layer_index), edit, amount, items};
  hook({&change, 1});
  layer.apply(place, plan);
  return {SpectralStatus::kOk, plan.after};
}

SpectralResult SpectralFilter::decrement_here(size_t layer_index, const ItemHash& hash,
                                              const ItemCells& item, const CellPlan& plan,
                                              uint64_t amount, const BeforeSpectralChange& hook) {
  SpectralLayer& layer = *layers_[layer_index];
  if (!layer.reserve(item, plan)) return {SpectralStatus::kNoMemory, plan.before};
  const int64_t items = plan.after == 0 ? layer.remove_item(plan.nonzero_change) : 0;
  const SpectralChange change{hash,
                              static_cast<uint32_t>(layer_index),
                              {SpectralEditKind::kSubtract, amount},
                              amount,
                              items};
  hook({&change, 1});
  layer.apply(item, plan);
  lower_sum(amount);
  if (plan.kind == CellPlan::Kind::kValues) layer.trim(item);
  return {SpectralStatus::kOk, plan.after};
}

SpectralEdit SpectralFilter::increment_edit(uint64_t amount) const {
  return {params_.policy() == SpectralPolicy::kMinimalIncrease ? SpectralEditKind::kIncrease
                                                               : SpectralEditKind::kAdd,
          amount};
}

// Never below 0: only a classic filter that was loaded from a forged file could come there, and it
// has one stripe for all.
void SpectralFilter::lower_sum(uint64_t amount) {
  const uint64_t lowered = params_.explicit_dimensions() ? std::min(amount, sum()) : amount;
  totals_.removed.fetch_add(lowered, std::memory_order_acq_rel);
  totals_.added.free(lowered);
}

void SpectralFilter::set_totals(uint64_t sum, uint64_t removed) {
  totals_.removed.store(removed, std::memory_order_release);
  totals_.added.set(removed + sum, kMaxSpectralCount, sum);
}

SpectralResult SpectralFilter::no_place(uint64_t new_items) const {
  if (!params_.scaling()) return {SpectralStatus::kFull, new_items};
  if (layers_.size() >= params_.max_layers()) return {SpectralStatus::kMaxExpansions, new_items};
  return {SpectralStatus::kNeedsLayer, new_items};
}

// False if that does not help whoever got this result.
[[gnu::noinline]] bool SpectralFilter::gather(const SpectralResult& refused, uint64_t amount,
                                              StripeTable& stripe_table) {
  SpectralLayer& newest = *layers_.back();
  switch (refused.status) {
    case SpectralStatus::kFull:
    case SpectralStatus::kNeedsLayer:
    case SpectralStatus::kMaxExpansions:
      if (!newest.gather_helps(refused.count)) return false;
      break;
    case SpectralStatus::kOverflow:
      if (!totals_.added.gather_helps(amount)) return false;
      break;
    default:
      return false;
  }
  const StripeSetGuard guard(stripe_table, stripes());
  newest.gather_places();
  totals_.added.gather();
  return true;
}

uint64_t SpectralFilter::compact(StripeTable& stripes, uint64_t first, uint64_t count) {
  uint64_t number = 0;  // of the layer's first chunk
  for (size_t i = 0; i < layers_.size(); ++i) {
    const uint64_t chunks = layers_[i]->chunk_count();
    for (uint64_t chunk = first - std::min(first, number); chunk < chunks; ++chunk) {
      if (count-- == 0) return number + chunk;
      StripeGuard guard(stripes, stripe_of(i, chunk));
      layers_[i]->compact_chunk(chunk);
    }
    number += chunks;
  }
  return 0;
}

StripeSet SpectralFilter::stripes() const {
  StripeSet set;
  for (size_t i = 0; i < layers_.size(); ++i) {
    set.add_filter(lock_id(i), layers_[i]->locked_chunk_count());
  }
  return set;
}

uint32_t SpectralFilter::stripe_of(size_t layer_index, uint64_t chunk) const {
  const bool classic = params_.explicit_dimensions();  // one chunk for locking
  return StripeTable::index_of(lock_id(layer_index), classic ? 0 : chunk);
}

uint64_t SpectralFilter::deleted() const {
  return std::min(totals_.removed.load(std::memory_order_relaxed), kMaxSpectralCount);
}

uint64_t SpectralFilter::items() const {
  if (sum() == 0) return 0;
  uint64_t items = 0;
  for (const auto& layer : layers_) items += layer->items();
  return items;
}

uint64_t SpectralFilter::capacity() const {
  if (params_.explicit_dimensions()) return SpectralGeometry::kUnlimited;
  uint64_t capacity = 0;
  for (const auto& layer : layers_) capacity += layer->geometry().capacity;
  return capacity;
}

uint64_t SpectralFilter::cell_bytes() const {
  uint64_t bytes = 0;
  for (const auto& layer : layers_) bytes += layer->geometry().blocks() * sizeof(SpectralBlock);
  return bytes;
}

uint64_t SpectralFilter::memory_bytes() const {
  uint64_t bytes = sizeof(SpectralFilter) + layers_.capacity() * sizeof(layers_[0]);
  for (const auto& layer : layers_) bytes += layer->memory_bytes();
  if (totals_.added.is_spread()) bytes += BoundedCounter::spread_bytes();
  return bytes;
}

std::optional<SpectralGeometry> SpectralFilter::next_layer(uint64_t new_items) const {
  return params_.next_layer(static_cast<uint32_t>(layers_.size()), layers_.back()->geometry(),
                            new_items);
}

GrowError SpectralFilter::grow(uint64_t new_items) {
  if (!params_.scaling()) return GrowError::kNotScaling;
  if (layers_.size() >= params_.max_layers()) return GrowError::kTooManyLayers;
  const auto geometry = next_layer(new_items);
  return geometry ? add_layer(*geometry) : GrowError::kTooLarge;
}

GrowError SpectralFilter::add_layer(const SpectralGeometry& geometry) {
  if (!geometry.valid()) return GrowError::kTooLarge;
  if (layers_.size() >= kMaxSpectralLayers) return GrowError::kTooManyLayers;
  auto layer = SpectralLayer::make(geometry);
  if (!layer) return GrowError::kNoMemory;
  layers_.push_back(std::move(layer));
  if (geometry.spreads()) spread();
  return GrowError::kNone;
}

// Makes room for several threads at once, when the filter has become large enough to be worth it.
// Every operation reads where its layer is: eight pointers are a cache line of their own, where a
// single one would share it with whatever else is small, and may be written by another core all the
// time. Two threads that only counted were then as fast as one.
void SpectralFilter::spread() {
  layers_.reserve(64 / sizeof layers_[0]);
  totals_.added.spread();
}

}  // namespace iris::filters
