// What is done with a whole spectral filter at rest: copies, merges, digests, and the replay of
// what the log or a file says. The caller has the filter alone. And its statistics, which are
// numbers that it keeps anyway.
#include <algorithm>
#include <cmath>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "filters/check.h"
#include "filters/spectral_chunk.h"
#include "filters/spectral_filter.h"

namespace iris::filters {
namespace {

__extension__ typedef unsigned __int128 uint128;

// A loader's number of items is believed up to here, so that sums over layers stay far from
// overflow. Merges add up to the same limit.
constexpr uint64_t kMaxItems = uint64_t{1} << 56;

struct CellSums {
  uint128 sum = 0;
  uint64_t largest = 0;
};

// Of one chunk's cells.
CellSums chunk_sums(const SpectralLayer& layer, uint64_t chunk_index) {
  CellSums sums;
  const ExtensionArena& arena = layer.arena(chunk_index);
  for (const SpectralBlock& block : layer.chunk(chunk_index)) {
    const BlockDigits digits = BlockDigits::load(block);
    uint64_t largest = digits.largest();
    if (largest == 0) continue;
    sums.sum += digits.sum();
    const uint32_t count = ExtensionLink::unpack(block.link).count;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t high = arena.high(block, i);
      sums.sum += high;
      largest = std::max(largest, kDigitMax + high);
    }
    sums.largest = std::max(sums.largest, largest);
  }
  return sums;
}

// What an absent item meets in one layer, from the cells that are above zero.
double current_rate(const SpectralLayer& layer) {
  const SpectralGeometry& geometry = layer.geometry();
  const auto cells = static_cast<double>(geometry.cells);
  const auto nonzero = static_cast<double>(layer.nonzero_cells());
  if (nonzero == 0) return 0;
  if (geometry.layout == SpectralLayout::kClassic)
    return std::pow(nonzero / cells, geometry.hashes);
  const double items = -std::log(std::max(cells - nonzero, 0.5) / cells) * cells / geometry.hashes;
  return spectral_rate(items, geometry.blocks(), geometry.hashes);
}

void hash_number(XXH3_state_t& state, uint64_t value) {
  XXH3_128bits_update(&state, &value, sizeof(value));
}

void hash_geometry(XXH3_state_t& state, const SpectralGeometry& geometry) {
  hash_number(state, static_cast<uint64_t>(geometry.layout));
  hash_number(state, geometry.hashes);
  hash_number(state, geometry.cells);
  hash_number(state, geometry.capacity);
  hash_number(state, std::bit_cast<uint64_t>(geometry.rate));
}

SpectralMergeError difference(const SpectralFilter& a, const SpectralFilter& b) {
  const SpectralGeometry& left = a.params().first_layer();
  const SpectralGeometry& right = b.params().first_layer();
  if (a.params().policy() != b.params().policy()) return SpectralMergeError::kPolicy;
  if (a.seed() != b.seed()) return SpectralMergeError::kSeed;
  if (a.layer_count() != 1 || b.layer_count() != 1) return SpectralMergeError::kLayers;
  if (left.cells != right.cells || left.layout != right.layout)
    return SpectralMergeError::kCounters;
  if (left.hashes != right.hashes) return SpectralMergeError::kHashes;
  if (left.capacity != right.capacity) return SpectralMergeError::kCapacity;
  return SpectralMergeError::kNone;
}

// False if the memory cannot be had. The sums were checked, so no cell can pass its limit.
bool add_layer_counts(SpectralLayer& to, const SpectralLayer& from) {
  SpectralLayer::BlockValues sum;
  SpectralLayer::BlockValues more;
  for (uint64_t block = 0; block < to.geometry().blocks(); ++block) {
    to.read_block(block, sum);
    from.read_block(block, more);
    for (uint32_t cell = 0; cell < kBlockCells; ++cell) sum[cell] += more[cell];
    if (!to.write_block(block, sum)) return false;
  }
  const uint64_t items = std::min(from.items(), kMaxItems - std::min(to.items(), kMaxItems));
  to.change_items(static_cast<int64_t>(items));
  return true;
}

}  // namespace

std::unique_ptr<SpectralFilter> SpectralFilter::clone(uint64_t id) const {
  std::vector<SpectralGeometry> geometries;
  for (const auto& layer : layers_) geometries.push_back(layer->geometry());
  auto copy = create_with_layers(params_, id, seed_, geometries);
  if (!copy) return nullptr;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!copy->layers_[i]->copy_from(*layers_[i])) return nullptr;
  }
  copy->set_totals(sum(), deleted());
  return copy;
}

SpectralFilter::Merged SpectralFilter::merged(std::span<const SpectralFilter* const> sources,
                                              uint64_t id) {
  CHECK(!sources.empty());
  uint64_t sum = 0;
  uint64_t removed = 0;
  for (const SpectralFilter* source : sources) {
    const SpectralMergeError error = difference(*sources[0], *source);
    if (error != SpectralMergeError::kNone) return {nullptr, error};
    if (source->sum() > kMaxSpectralCount - sum) return {nullptr, SpectralMergeError::kOverflow};
    sum += source->sum();
    removed = std::min(removed + source->deleted(), kMaxSpectralCount);
  }
  auto result = sources[0]->clone(id);
  if (!result) return {nullptr, SpectralMergeError::kNoMemory};
  for (const SpectralFilter* source : sources.subspan(1)) {
    if (!add_layer_counts(*result->layers_[0], *source->layers_[0])) {
      return {nullptr, SpectralMergeError::kNoMemory};
    }
  }
  result->set_totals(sum, removed);
  return {std::move(result), SpectralMergeError::kNone};
}

ContentDigest SpectralFilter::digest() const {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  const SpectralRequest& request = params_.request();
  hash_geometry(state, params_.first_layer());
  for (const int64_t number : {request.capacity, request.expansion, request.bucket_size,
                               request.max_iterations, request.max_expansions}) {
    hash_number(state, static_cast<uint64_t>(number));
  }
  hash_number(state, static_cast<uint64_t>(request.policy));
  hash_number(state, std::bit_cast<uint64_t>(request.rate));
  hash_number(state, seed_);
  hash_number(state, sum());
  std::string bytes;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const SpectralLayer& layer = *layers_[i];
    if (layer.nonzero_cells() == 0) continue;
    hash_number(state, i);
    hash_geometry(state, layer.geometry());
    hash_number(state, layer.items());
    for (uint64_t chunk = 0; chunk < layer.chunk_count(); ++chunk) {
      bytes.clear();
      encode_spectral_chunk(layer, chunk, bytes);
      XXH3_128bits_update(&state, bytes.data(), bytes.size());
    }
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

SpectralStats SpectralFilter::stats() const {
  const SpectralGeometry& newest = layers_.back()->geometry();
  SpectralStats stats{};
  stats.layout = newest.layout;
  stats.policy = params_.policy();
  stats.hashes = newest.hashes;
  stats.promised_rate = params_.rate();
  uint64_t nonzero = 0;
  double all_miss = 1;
  for (const auto& layer : layers_) {
    stats.counters += layer->geometry().cells;
    stats.blocks += layer->geometry().blocks();
    stats.extension_bytes += layer->extension_bytes();
    nonzero += layer->nonzero_cells();
    stats.extended_blocks += layer->extended_blocks();
    all_miss *= 1 - current_rate(*layer);
  }
  stats.fill_ratio = static_cast<double>(nonzero) / static_cast<double>(stats.counters);
  stats.current_rate = 1 - all_miss;
  const uint64_t count = items();
  if (count > 0) {
    stats.bits_per_item = 8 * static_cast<double>(memory_bytes()) / static_cast<double>(count);
  }
  return stats;
}

bool SpectralFilter::replay_cells(const SpectralChange& change, uint64_t moment,
                                  std::span<const uint64_t> copied) {
  if (change.layer >= layers_.size() || change.edit.kind > SpectralEditKind::kRaise) return false;
  if (change.edit.amount > kMaxSpectralCount) return false;
  SpectralLayer& layer = *layers_[change.layer];
  ItemCells item;
  CellPlan plan;
  layer.locate(change.hash, item);
  if (!copied.empty()) {
    // Each cell of an item changes by itself, so those that lie elsewhere can be left alone.
    const auto end = std::remove_if(
        item.groups.begin(), item.groups.begin() + item.count, [&](const ItemCells::Group& group) {
          return copied[group.block / SpectralLayer::kChunkBlocks] >= moment;
        });
    item.count = static_cast<uint32_t>(end - item.groups.begin());
    if (item.count == 0) return true;
  }
  layer.plan(item, change.edit, plan);
  if (!plan.possible || !layer.reserve(item, plan)) return false;
  layer.change_nonzero(plan.nonzero_change);
  layer.apply(item, plan);
  if (change.edit.kind == SpectralEditKind::kSubtract) layer.trim(item);
  return true;
}

bool SpectralFilter::replay_totals(const SpectralChange& change) {
  if (change.layer >= layers_.size() || change.sum > kMaxSpectralCount) return false;
  SpectralLayer& layer = *layers_[change.layer];
  const auto items = static_cast<int64_t>(layer.items()) + change.items;
  if (change.items > static_cast<int64_t>(kMaxItems) || items < 0) return false;
  if (change.edit.kind == SpectralEditKind::kSubtract) {
    if (change.sum > sum()) return false;
    lower_sum(change.sum);
  } else if (!raise_sum(change.sum)) {
    return false;
  }
  layer.change_items(change.items);
  return true;
}

bool SpectralFilter::restore_totals(uint64_t sum, uint64_t deleted,
                                    std::span<const uint64_t> items) {
  if (sum > kMaxSpectralCount || deleted > kMaxSpectralCount) return false;
  for (size_t i = 0; i < layers_.size() && i < items.size(); ++i) {
    if (items[i] > kMaxItems) return false;
    layers_[i]->change_items(static_cast<int64_t>(items[i] - layers_[i]->items()));
  }
  set_totals(sum, deleted);
  return true;
}

bool SpectralFilter::settle(uint64_t sum, uint64_t deleted, std::span<const uint64_t> items) {
  CHECK(items.size() == layers_.size());
  const bool exact =
      params_.policy() == SpectralPolicy::kMinimumSelection && !params_.explicit_dimensions();
  uint128 counted = 0;  // exactly the sum of counts, or a lower bound of it
  uint64_t largest = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    SpectralLayer& layer = *layers_[i];
    const uint32_t hashes = layer.geometry().hashes;
    uint128 cells = 0;
    for (uint64_t chunk = 0; chunk < layer.chunk_count(); ++chunk) {
      const CellSums sums = chunk_sums(layer, chunk);
      if (exact && sums.sum % hashes != 0) return false;
      cells += sums.sum;
      largest = std::max(largest, sums.largest);
    }
    counted += (cells + hashes - 1) / hashes;
    const uint64_t kept = layer.nonzero_cells() == 0 ? 0 : std::min(items[i], kMaxItems);
    layer.change_items(static_cast<int64_t>(kept - layer.items()));
  }
  if (counted > kMaxSpectralCount || largest > kMaxSpectralCount) return false;
  if (exact) {
    if (largest > counted) return false;
    sum = static_cast<uint64_t>(counted);
  } else {
    // A dump is taken chunk by chunk, so its cells may be newer than its header.
    sum = largest == 0 ? 0 : std::max({sum, static_cast<uint64_t>(counted), largest});
    if (sum > kMaxSpectralCount) return false;
  }
  set_totals(sum, std::min(deleted, kMaxSpectralCount));
  return true;
}

}  // namespace iris::filters
