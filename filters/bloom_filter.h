// A Bloom filter: a chain of layers, oldest first. Items go into the newest; lookups ask all.
//
//     add                                         contains
//      |  known? -> kPresent: bit tests, no lock    newest layer, then older ones: bit tests,
//      |  stripe of the item's chunk ------+        no lock at all
//      |    had somebody had it since?
//      |    then: known now? -> kPresent
//      |    take a place in its count; none -> gather those that threads have, and begin again,
//      |                                       or kNeedsLayer / kFull
//      |    before_change()   the log's record
//      |    set the bits
//      +-----------------------------------+
//
// Threads. Concurrent: hash, prefetch, contains, add, counts, read_cells of a layer. Exclusive (the
// caller has the filter alone): grow, merge, apply_add, digest, clone, and whatever else takes the
// filter by a non-const reference. Layers come and go only in the exclusive state, so the
// concurrent operations read the chain without a lock.
//
// Invariants
//   1. Only the newest layer changes by adds. An item's stripe is that of its chunk there, so two
//      adds of one item always meet at one stripe, and only one of them says kAdded.
//   2. The order is: check, stripe, check again if anybody had the stripe since before the first
//      check, reserve, before_change, set. (Who works alone takes no stripe: stripe_table.h.) Bits
//      are never cleared, so what looks known is known. Who sees a bit of an item finds its record
//      below the log's end; who was told kAdded is seen by every later lookup.
//   3. A known item is kPresent even when the filter is full.
//   4. There is at least one layer, and at most kMaxLayers: that bounds the work of a lookup in a
//      filter that expands by a factor of 1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "filters/bloom_layer.h"
#include "filters/bloom_params.h"
#include "filters/check.h"
#include "filters/item_hash.h"
#include "filters/murmur_hash.h"
#include "filters/stripe_table.h"

namespace iris::filters {

enum class AddOutcome : uint8_t {
  kAdded,
  kPresent,
  kNeedsLayer,  // the newest layer is full: grow() in the exclusive state, then add again
  kFull,        // and the filter does not scale
};

enum class GrowError : uint8_t {
  kNone,
  kNotScaling,
  kTooManyLayers,
  kTooLarge,  // the next layer is beyond the limits of any filter
  kNoMemory,
};

enum class MergeError : uint8_t { kNone, kLayout, kSeed, kLayerCount, kBits, kHashes, kCapacity };

struct ContentDigest {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const ContentDigest&) const = default;
};

struct BloomStats {
  BloomLayout newest_layout;
  uint64_t bits;
  uint32_t newest_hashes;
  double bits_per_item;  // at capacity; of the items inside for explicit filters, 0 if empty
  double fill_ratio;
  double promised_rate;  // 0 for explicit filters
  double current_rate;   // from the fill
};

class BloomFilter {
 public:
  static constexpr uint32_t kMaxLayers = 1024;

  // Null if the memory cannot be had. `id` is unique in the process; `seed` is the data directory's
  // (classic filters have none: it becomes 0).
  [[nodiscard]] static std::unique_ptr<BloomFilter> create(const BloomParams& params, uint64_t id,
                                                           uint64_t seed);
  // From layers that a loader made and checked.
  [[nodiscard]] static std::unique_ptr<BloomFilter> assemble(const BloomParams& params, uint64_t id,
                                                             uint64_t seed,
                                                             std::vector<BloomLayer> layers);
  // A copy of its own, or null if the memory cannot be had.
  [[nodiscard]] std::unique_ptr<BloomFilter> clone(uint64_t id) const;

  // --- concurrent ---
  ItemHash hash(std::string_view item) const {
    return params_.classic() ? classic_item_hash(item) : hash_item(item, seed_);
  }
  void prefetch(const ItemHash& hash) const;
  bool contains(const ItemHash& hash) const;
  // Which of at most 32 items are in it: bit i for hashes[i]. Nothing is decided between two items,
  // so that they are looked up side by side.
  uint32_t contained(std::span<const ItemHash> hashes) const;

  // `before_change()` runs under the stripe when the item is new and has its place, before any bit
  // of it can be seen. It must not wait for anything.
  template <typename BeforeChange>
  AddOutcome add(const ItemHash& hash, StripeTable& stripes, BeforeChange&& before_change);
  AddOutcome add(const ItemHash& hash, StripeTable& stripes) {
    return add(hash, stripes, [] {});
  }

  uint32_t stripe_of(const ItemHash& hash) const {
    return StripeTable::index_of(id_, newest().chunk_of(hash));
  }
  // All stripes that guard this filter.
  StripeSet stripes() const;

  uint64_t item_count() const;
  // Grows with every effective change; for WATCH.
  uint64_t change_count() const { return item_count() + other_changes_; }
  uint64_t capacity() const;  // of all layers; LayerGeometry::kUnlimited if explicit
  BloomStats stats() const;

  uint64_t id() const { return id_; }
  uint64_t seed() const { return seed_; }
  const BloomParams& params() const { return params_; }
  size_t layer_count() const { return layers_.size(); }
  const BloomLayer& layer(size_t index) const { return layers_[index]; }
  std::span<const BloomLayer> layers() const { return layers_; }

  uint64_t cell_bytes() const;
  // All that the filter takes, its objects included.
  uint64_t memory_bytes() const;
  // What BF.INFO reports as Size: RedisBloom's figure, so that tools see the same for both.
  uint64_t info_size_bytes() const { return 32 + 64 * layers_.size() + cell_bytes(); }
  static uint64_t footprint_bytes_for(const LayerGeometry& first);

  // --- exclusive ---
  // What grow() will take, or nothing if the filter cannot grow.
  std::optional<uint64_t> next_layer_bytes() const;
  [[nodiscard]] GrowError grow();
  // Replay of a logged growth, with the geometry that was logged.
  [[nodiscard]] GrowError add_layer(const LayerGeometry& geometry);
  // Union. Counts are added layer by layer, so a layer may then hold more than its capacity.
  [[nodiscard]] MergeError merge(const BloomFilter& other);
  // Whether `other` could be merged, without changing anything.
  [[nodiscard]] MergeError merge_error(const BloomFilter& other) const;
  // A new filter with the items of all sources, which fit the first one (merge_error()), and at
  // least one. Null if the memory cannot be had.
  [[nodiscard]] static std::unique_ptr<BloomFilter> united(
      std::span<const BloomFilter* const> sources, uint64_t id);
  // Replay of a logged add: sets the bits in that layer and counts `items` more there (0 if the
  // count was captured later than the bits).
  void apply_add(size_t layer_index, const ItemHash& hash, uint64_t items);
  BloomLayer& mutable_layer(size_t index) { return layers_[index]; }
  // Equal exactly if layout, geometry, seed, counts and bits of two filters are equal.
  ContentDigest digest() const;

 private:
  BloomFilter(const BloomParams& params, uint64_t id, uint64_t seed)
      : params_(params), id_(id), seed_(seed) {}

  BloomLayer& newest() { return layers_.back(); }
  const BloomLayer& newest() const { return layers_.back(); }

  bool in_older_layers(const ItemHash& hash) const {
    return layers_.size() > 1 && search_older_layers(hash);
  }
  // These two are for few filters, so they are kept out of what calls them.
  [[gnu::noinline]] bool search_older_layers(const ItemHash& hash) const {
    for (size_t i = layers_.size() - 1; i-- > 0;) {
      if (layers_[i].contains(hash)) return true;
    }
    return false;
  }
  // `found`, with those that are found in older layers.
  [[gnu::noinline]] uint32_t search_older_layers(std::span<const ItemHash> hashes,
                                                 uint32_t found) const {
    for (size_t i = 0; i < hashes.size(); ++i) {
      if ((found >> i & 1) == 0) found |= uint32_t{search_older_layers(hashes[i])} << i;
    }
    return found;
  }
  // Of an item that is in no older layer.
  template <typename Item, typename BeforeChange>
  AddOutcome add_at(const Item& item, StripeTable& stripes, BeforeChange&& before_change);
  // Of one that is new, by who has its stripe.
  template <typename Item, typename BeforeChange>
  AddOutcome put(const Item& item, BeforeChange&& before_change);
  AddOutcome no_place() const {
    return params_.scaling() ? AddOutcome::kNeedsLayer : AddOutcome::kFull;
  }
  bool gather_places(StripeTable& stripes);

  BloomParams params_;
  const uint64_t id_;
  const uint64_t seed_;
  uint64_t other_changes_ = 0;  // besides adds; changed only in the exclusive state
  std::vector<BloomLayer> layers_;
};

[[gnu::always_inline]] inline void BloomFilter::prefetch(const ItemHash& hash) const {
  // The two newest hold most of the items of a growing filter.
  newest().prefetch(hash);
  if (layers_.size() > 1) layers_[layers_.size() - 2].prefetch(hash);
}

inline bool BloomFilter::contains(const ItemHash& hash) const {
  // The number of layers is asked for first: whether an item is there is a coin toss, and a branch
  // on it would hold up the next request too.
  if (layers_.size() > 1) return newest().contains(hash) || search_older_layers(hash);
  return newest().contains(hash);
}

inline uint32_t BloomFilter::contained(std::span<const ItemHash> hashes) const {
  const uint32_t found = newest().contained(hashes);
  return layers_.size() > 1 ? search_older_layers(hashes, found) : found;
}

// All that it calls for most items becomes part of it: some 4 % less time for a request of ten.
template <typename BeforeChange>
[[gnu::flatten]] AddOutcome BloomFilter::add(const ItemHash& hash, StripeTable& stripes,
                                             BeforeChange&& before_change) {
  if (in_older_layers(hash)) return AddOutcome::kPresent;  // they never change: invariant 1
  while (true) {
    const AddOutcome outcome =
        newest().at(hash, [&](const auto& item) { return add_at(item, stripes, before_change); });
    const bool done = outcome == AddOutcome::kAdded || outcome == AddOutcome::kPresent;
    if (done || !gather_places(stripes)) return outcome;
  }
}

template <typename Item, typename BeforeChange>
AddOutcome BloomFilter::add_at(const Item& item, StripeTable& stripes,
                               BeforeChange&& before_change) {
  if (!stripes.shared()) {
    return item.present() ? AddOutcome::kPresent : put(item, before_change);
  }
  const uint32_t stripe = StripeTable::index_of(id_, item.chunk());
  const std::optional<uint32_t> moment = stripes.moment(stripe);
  if (item.present()) return AddOutcome::kPresent;
  const bool as_seen = moment && stripes.lock_unchanged_since(stripe, *moment);
  if (!as_seen) stripes.lock(stripe);
  const StripeGuard guard(stripes, stripe, std::adopt_lock);
  if (!as_seen && item.present()) return AddOutcome::kPresent;
  return put(item, before_change);
}

template <typename Item, typename BeforeChange>
AddOutcome BloomFilter::put(const Item& item, BeforeChange&& before_change) {
  if (!newest().reserve()) return no_place();
  before_change();
  item.set();
  return AddOutcome::kAdded;
}

}  // namespace iris::filters
