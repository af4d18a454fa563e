// A spectral Bloom filter (Cohen and Matias, 2003): a Bloom filter whose cells count. The count of
// an item is the smallest of its cells: never too low as long as nobody removes what was not added,
// and too high with at most the promised probability.
//
// The filter is a chain of layers, oldest first. An item has one home: the oldest layer in which
// all its cells are above zero. Its counts go there; an item without a home goes to the newest.
//
//     increment                                decrement, count
//      |  each layer, oldest first:              |  each layer, oldest first:
//      |    stripe of the item's chunk           |    stripe of the item's chunk
//      |    count > 0, or newest layer?          |    count > 0? the home
//      |      sum, place among the items; none:  |
//      |        gather what threads have, again
//      |      room for high parts
//      |      before_change()   the log's record
//      |      write the cells
//
// One stripe at a time is enough. An older layer never gets a new cell above zero, since it is
// incremented only where all cells of the item are: so "not in this layer" stays true when its
// stripe is let go. "In this layer" need not, and is therefore acted on under the same stripe.
// count() does without a stripe where the digits of the block tell the answer.
//
// Threads. Concurrent: hash, prefetch, increment, increment_all, add_if_absent, decrement, count,
// compact, stats, and the numbers. Exclusive (the caller has the filter alone): grow, clone,
// merged, digest, replay_*, and whatever takes a mutable layer.
//
// Invariants
//   1. The sum of all counts is at most kMaxSpectralCount, and no cell is above the sum: so no cell
//      can wrap. The sum is raised before the cells are, lowered after. It is the difference of two
//      totals that only grow, what was added and what was taken away: so one atomic operation
//      serves the sum and the count of changes.
//   2. What cannot be done changes nothing: checks and reservations come before before_change().
//   3. Minimum Selection, blocked: in each layer the cells add up to k times its sum of counts. So
//      a sum of 0 means that all cells are 0, and then the number of items is 0 as well.
//   4. change_count() grows, under the stripe, with every effective change and with nothing else:
//      the added total is raised when nothing can fail any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "filters/bloom_filter.h"  // ContentDigest, GrowError: one vocabulary for both kinds
#include "filters/bounded_counter.h"
#include "filters/item_hash.h"
#include "filters/spectral_layer.h"
#include "filters/spectral_params.h"
#include "filters/stripe_table.h"

namespace iris::filters {

enum class SpectralStatus : uint8_t {
  kOk,
  kPresent,        // add_if_absent: it was there, nothing changed
  kAbsent,         // decrement: the count is 0
  kExceeds,        // decrement: by more than the count
  kNoDecrements,   // decrement: not with policy MI
  kOverflow,       // the sum of all counts would pass kMaxSpectralCount
  kFull,           // a new item, and the filter is full and of fixed size
  kNeedsLayer,     // a new item: grow(result.count) in the exclusive state, then again
  kMaxExpansions,  // a new item, and no more layers are allowed
  kNoMemory,       // no room for large counters: it may not grow, or there is none
};

struct SpectralResult {
  SpectralStatus status;
  // kOk, kPresent, kExceeds: the item's count now. kFull, kNeedsLayer, kMaxExpansions: new items
  // that must find room.
  uint64_t count;
};

// What the log keeps of one effective change: enough to do it again without deciding anything.
struct SpectralChange {
  ItemHash hash;
  uint32_t layer;
  SpectralEdit edit;  // kAdd, kSubtract or kRaise
  uint64_t sum;       // by how much the sum of all counts grows (falls, for kSubtract)
  int64_t items;      // by how much the layer's number of distinct items changes
};

// A borrowed callable that takes the changes of one step. It runs under the stripes, after all
// checks and before any cell changes, and must not wait for anything. Handed on by reference, as is
// MayGrow: a copy is stored as two words and loaded as one pair, for which the core waits.
class BeforeSpectralChange {
 public:
  using Changes = std::span<const SpectralChange>;

  BeforeSpectralChange() = default;
  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, BeforeSpectralChange>)
      // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): constrained above
      BeforeSpectralChange(Callable&& callable)
      : callable_(const_cast<void*>(static_cast<const void*>(&callable))),
        call_([](void* target, Changes changes) {
          (*static_cast<std::remove_reference_t<Callable>*>(target))(changes);
        }) {}

  void operator()(Changes changes) const {
    if (call_ != nullptr) call_(callable_, changes);
  }

 private:
  void* callable_ = nullptr;
  void (*call_)(void*, Changes) = nullptr;
};

struct SpectralIncrement {
  ItemHash hash;
  uint64_t amount;
};

enum class SpectralMergeError : uint8_t {
  kNone,
  kPolicy,
  kSeed,
  kLayers,  // one of them has grown
  kCounters,
  kHashes,
  kCapacity,
  kOverflow,
  kNoMemory,
};

struct SpectralStats {
  SpectralLayout layout;
  SpectralPolicy policy;
  uint64_t counters;
  uint32_t hashes;       // of the newest layer
  double bits_per_item;  // of memory, for the items inside; 0 if empty
  double fill_ratio;     // of cells above zero
  double promised_rate;  // 0 for explicit dimensions
  double current_rate;   // what an absent item would meet now
  uint64_t blocks;
  uint64_t extended_blocks;  // with counters above 7
  uint64_t extension_bytes;
};

class SpectralFilter {
 public:
  // Null if the memory cannot be had. `id` is unique in the process; `seed` is the data
  // directory's.
  [[nodiscard]] static std::unique_ptr<SpectralFilter> create(const SpectralParams& params,
                                                              uint64_t id, uint64_t seed);
  // An empty filter with these layers, for loaders. They must be valid, and at least one.
  [[nodiscard]] static std::unique_ptr<SpectralFilter> create_with_layers(
      const SpectralParams& params, uint64_t id, uint64_t seed,
      std::span<const SpectralGeometry> layers);
  // A copy of its own, or null if the memory cannot be had.
  [[nodiscard]] std::unique_ptr<SpectralFilter> clone(uint64_t id) const;

  // --- concurrent; amounts are in [1, kMaxSpectralCount] ---
  ItemHash hash(std::string_view item) const { return hash_item(item, seed_); }
  // The two newest layers hold most of the items of a growing filter.
  [[gnu::always_inline]] void prefetch(const ItemHash& hash) const {
    layers_.back()->prefetch(hash);
    if (layers_.size() > 1) layers_[layers_.size() - 2]->prefetch(hash);
  }
  uint64_t count(const ItemHash& hash, StripeTable& stripes) const;
  // What makes counts larger may need memory for their high parts, and asks for it first.
  SpectralResult increment(const ItemHash& hash, uint64_t amount, StripeTable& stripes,
                           const BeforeSpectralChange& before_change = {},
                           const MayGrow& may_grow = {});
  // Counts the item once if its count is 0.
  SpectralResult add_if_absent(const ItemHash& hash, StripeTable& stripes,
                               const BeforeSpectralChange& before_change = {},
                               const MayGrow& may_grow = {});
  SpectralResult decrement(const ItemHash& hash, uint64_t amount, StripeTable& stripes,
                           const BeforeSpectralChange& before_change = {});
  // All or nothing, as one step under all stripes of the items. On kOk `counts` holds the count of
  // each item after its own increment.
  SpectralResult increment_all(std::span<const SpectralIncrement> items, std::span<uint64_t> counts,
                               StripeTable& stripes, const BeforeSpectralChange& before_change = {},
                               const MayGrow& may_grow = {});
  // Gives back all memory of extensions that is not needed, chunk by chunk under its stripe. Of a
  // large filter some chunks at a time: `count` of them from the number `first` on, where the
  // chunks of all layers are numbered in a row. Returns with which to go on; 0: all is done.
  uint64_t compact(StripeTable& stripes, uint64_t first = 0, uint64_t count = UINT64_MAX);
  SpectralStats stats() const;

  StripeSet stripes() const;  // all that guard this filter
  // That of an item which is new.
  uint32_t stripe_of(const ItemHash& hash) const {
    return stripe_of(layers_.size() - 1, layers_.back()->chunk_of(hash));
  }
  // The stripe of a chunk, counted as in the dump and the snapshot: a layer's own, from 0.
  uint32_t stripe_of(size_t layer_index, uint64_t chunk) const;

  // What was taken away is read first: it never passes what was added.
  uint64_t sum() const {
    const uint64_t removed = totals_.removed.load(std::memory_order_acquire);
    return totals_.added.count() - removed;
  }
  uint64_t deleted() const;  // in all, at most kMaxSpectralCount
  uint64_t items() const;    // distinct, an estimate; 0 when sum() is
  // Both totals only grow, so it is equal at two moments only if nothing changed between them.
  uint64_t change_count() const {
    const uint64_t removed = totals_.removed.load(std::memory_order_acquire);
    return totals_.added.count() + removed;
  }
  uint64_t capacity() const;  // of all layers; SpectralGeometry::kUnlimited if explicit
  uint64_t cell_bytes() const;
  uint64_t memory_bytes() const;  // all that the filter takes, its objects included

  uint64_t id() const { return id_; }
  uint64_t seed() const { return seed_; }
  const SpectralParams& params() const { return params_; }
  size_t layer_count() const { return layers_.size(); }
  const SpectralLayer& layer(size_t index) const { return *layers_[index]; }

  // --- exclusive ---
  // The layer that grow() would add, or nothing if none may be.
  std::optional<SpectralGeometry> next_layer(uint64_t new_items) const;
  // Adds a layer that has room for at least `new_items`.
  [[nodiscard]] GrowError grow(uint64_t new_items = 1);
  // Replay of a logged growth, with the geometry that was logged.
  [[nodiscard]] GrowError add_layer(const SpectralGeometry& geometry);
  // A new filter with the sums of counts; `sources` are of one layer and alike, and at least one.
  struct Merged {
    std::unique_ptr<SpectralFilter> filter;  // null on an error
    SpectralMergeError error;
  };
  [[nodiscard]] static Merged merged(std::span<const SpectralFilter* const> sources, uint64_t id);
  // Equal exactly if parameters, seed, counts and items of two filters are equal, however their
  // extensions lie in memory. Empty layers count as not there, and the deleted total is left out:
  // a filter from which all was removed equals a fresh one.
  ContentDigest digest() const;

  // Replay of a logged change, cells and numbers apart, since a snapshot has them from different
  // moments. False if the change does not fit the filter: the log is not this filter's.
  //
  // Only cells in chunks that were copied before the change are changed: `copied` has the moment of
  // each chunk of the layer; none: all were.
  [[nodiscard]] bool replay_cells(const SpectralChange& change, uint64_t moment = 0,
                                  std::span<const uint64_t> copied = {});
  [[nodiscard]] bool replay_totals(const SpectralChange& change);
  // Begins a replay: the numbers as they were when the header was copied. False if no filter can
  // have such numbers.
  [[nodiscard]] bool restore_totals(uint64_t sum, uint64_t deleted,
                                    std::span<const uint64_t> items);
  // Ends a load: what was read beside the cells, brought in line with them. False if no filter can
  // have such cells. So no file can break invariants 1 and 3, not even one with right checksums.
  [[nodiscard]] bool settle(uint64_t sum, uint64_t deleted, std::span<const uint64_t> items);
  SpectralLayer& mutable_layer(size_t index) { return *layers_[index]; }

 private:
  SpectralFilter(const SpectralParams& params, uint64_t id, uint64_t seed)
      : params_(params), id_(id), seed_(seed) {}

  class Slice;
  uint32_t stripe_of(size_t layer_index, const ItemCells& item) const {
    return stripe_of(layer_index, layers_[layer_index]->chunk_of(item));
  }
  void spread();
  // Each layer has its own place in the stripe table.
  uint64_t lock_id(size_t layer_index) const { return id_ + (uint64_t{layer_index} << 48); }
  uint64_t estimate(size_t layer_index, const ItemCells::Group& group, StripeTable& stripes) const;
  // Under the stripe of the item's chunk in that layer, which is its home or the newest. `place` is
  // what the layer wants to know of the item to apply such a plan.
  template <typename Place, typename Plan>
  SpectralResult increment_here(size_t layer_index, const ItemHash& hash, const Place& place,
                                const Plan& plan, uint64_t amount, const BeforeSpectralChange& hook,
                                const MayGrow& may_grow);
  SpectralResult increment_block(size_t layer_index, const ItemHash& hash,
                                 const ItemCells::Group& group, uint64_t amount,
                                 const BeforeSpectralChange& hook, const MayGrow& may_grow);
  SpectralResult increment_any(size_t layer_index, const ItemHash& hash,
                               const ItemCells::Group& group, uint64_t amount,
                               const BeforeSpectralChange& hook, const MayGrow& may_grow);
  SpectralResult increment_classic(const ItemHash& hash, uint64_t amount, StripeTable& stripes,
                                   const BeforeSpectralChange& hook, const MayGrow& may_grow);
  SpectralResult increment_cells(size_t layer_index, const ItemHash& hash, const ItemCells& item,
                                 uint64_t amount, const BeforeSpectralChange& hook,
                                 const MayGrow& may_grow);
  SpectralResult decrement_here(size_t layer_index, const ItemHash& hash, const ItemCells& item,
                                const CellPlan& plan, uint64_t amount,
                                const BeforeSpectralChange& hook);
  SpectralEdit increment_edit(uint64_t amount) const;
  // What `attempt` returns, which may need a place or `amount` of the sum: others may have what it
  // lacks (bounded_counter.h).
  template <typename Attempt>
  SpectralResult gathering(uint64_t amount, StripeTable& stripes, Attempt&& attempt) {
    while (true) {
      const SpectralResult result = attempt();
      if (result.status == SpectralStatus::kOk || !gather(result, amount, stripes)) return result;
    }
  }
  bool gather(const SpectralResult& refused, uint64_t amount, StripeTable& stripes);
  SpectralResult try_increment(const ItemHash& hash, uint64_t amount, StripeTable& stripes,
                               const BeforeSpectralChange& hook, const MayGrow& may_grow);
  SpectralResult try_add_if_absent(const ItemHash& hash, StripeTable& stripes,
                                   const BeforeSpectralChange& hook, const MayGrow& may_grow);
  [[nodiscard]] bool raise_sum(uint64_t amount) { return totals_.added.take(amount); }
  void lower_sum(uint64_t amount);
  void set_totals(uint64_t sum, uint64_t removed);
  bool drifting() const { return totals_.removed.load(std::memory_order_relaxed) != 0; }
  SpectralResult no_place(uint64_t new_items) const;

  // On a line of their own, apart from what every lookup reads. Both modulo 2^64; what is taken of
  // the first is the sum, and what threads have in their purses.
  struct alignas(64) Totals {
    BoundedCounter added{kMaxSpectralCount};
    std::atomic<uint64_t> removed{0};
  };

  Totals totals_;
  const SpectralParams params_;
  const uint64_t id_;
  const uint64_t seed_;
  std::vector<std::unique_ptr<SpectralLayer>> layers_;
};

}  // namespace iris::filters
