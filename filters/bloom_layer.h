// One layer of a Bloom filter: its geometry, its cells and its number of items.
//
// The layout is decided once an operation by a switch that always goes the same way for a filter;
// there are no virtual calls and no allocations behind any of them. The names of the layouts and
// the way from a hash to its bits are in bloom_probes.h.
//
// Threads: contains(), prefetch(), read_cells(), fill() and the counts need no lock. set()
// needs the stripe of chunk_of(), reserve() any stripe of the filter, gather_places() all of them.
// The rest is for who has the layer alone.
//
// Invariants
//   1. The geometry came from BloomParams or was checked by a loader; the cells fit it exactly.
//   2. item_count() never passes the capacity by reserve(). Only a merge may do that, and then
//      the layer counts as full.
//   3. A bit is never cleared.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "filters/bloom_probes.h"
#include "filters/bloom_sizing.h"
#include "filters/bounded_counter.h"
#include "filters/cell_memory.h"
#include "filters/item_hash.h"
#include "filters/stripe_table.h"

namespace iris::filters {

// Merges and replay saturate here, and loaders accept no more: 1,024 layers of it still fit the
// signed 64-bit integer of a reply.
inline constexpr uint64_t kMaxLayerItems = uint64_t{1} << 52;

class BloomLayer {
 public:
  // Empty if the memory cannot be had.
  [[nodiscard]] static std::optional<BloomLayer> allocate(const LayerGeometry& geometry);

  BloomLayer(BloomLayer&&) noexcept = default;
  BloomLayer& operator=(BloomLayer&&) = delete;

  // Calls `visit` with what finds an item's bits in this layout (bloom_probes.h), and returns what
  // that returns: who works on many items decides the layout once.
  template <typename Visit>
  [[gnu::always_inline]] auto with_layout(Visit&& visit) const {
    switch (geometry_.layout) {
      case BloomLayout::kBlocked:
        return visit(Locator<probes::BlockedItem<std::countr_zero(kBlockedBits)>>{*this});
      case BloomLayout::kPaged:
        return visit(Locator<probes::BlockedItem<std::countr_zero(kPagedBits)>>{*this});
      case BloomLayout::kClassic:
        return visit(Locator<probes::ScatteredItem<probes::ClassicPositions>>{*this});
      case BloomLayout::kExplicit:
        return visit(Locator<probes::ScatteredItem<probes::ExplicitPositions>>{*this});
    }
    __builtin_unreachable();
  }
  // Calls `visit` with where the item's bits lie, and returns what that returns: who does several
  // things with an item decides the layout and finds the block once.
  template <typename Visit>
  [[gnu::always_inline]] auto at(const ItemHash& hash, Visit&& visit) const {
    return with_layout([&](auto locate) { return visit(locate(hash)); });
  }

  bool contains(const ItemHash& hash) const {
    return at(hash, [](const auto& item) { return item.present(); });
  }
  // Which of at most 32 items are in it: bit i for hashes[i].
  [[gnu::flatten]] uint32_t contained(std::span<const ItemHash> hashes) const {
    return with_layout([&](auto locate) {
      uint32_t found = 0;
      for (size_t i = 0; i < hashes.size(); ++i) {
        found |= uint32_t{locate(hashes[i]).present()} << i;
      }
      return found;
    });
  }
  void set(const ItemHash& hash) {
    at(hash, [](const auto& item) { item.set(); });
  }
  // Inlined by force: a call would cost as much as what it does.
  [[gnu::always_inline]] void prefetch(const ItemHash& hash) const {
    at(hash, [](const auto& item) { item.prefetch(); });
  }

  // The chunk that holds the item's bits in this layer (invariant 2 of bloom_probes.h).
  uint64_t chunk_of(const ItemHash& hash) const {
    return at(hash, [](const auto& item) { return item.chunk(); });
  }
  uint64_t chunks() const;
  // The bytes of a chunk, as [first, first + length) of the cells.
  std::pair<uint64_t, uint64_t> chunk_range(uint64_t chunk) const;

  // Takes the place of one more item. If there seems to be none, other threads may have some
  // (bounded_counter.h).
  [[nodiscard]] bool reserve() { return items_->take(1); }
  bool gather_helps() const { return items_->gather_helps(1); }
  void gather_places() { items_->gather(); }

  const LayerGeometry& geometry() const { return geometry_; }
  uint64_t item_count() const { return items_->count(); }
  bool full() const { return item_count() >= geometry_.capacity; }

  // Copies cells out while others may be setting bits: word by word, each as it is at that moment.
  void read_cells(uint64_t first_byte, std::span<std::byte> out) const;

  // For loaders, merge and replay, which have the layer alone.
  std::span<std::byte> cells() { return {cells_.data(), geometry_.cell_bytes()}; }
  std::span<const std::byte> cells() const { return {cells_.data(), geometry_.cell_bytes()}; }
  void set_item_count(uint64_t count) { items_->set(count, geometry_.capacity, count); }
  void add_to_item_count(uint64_t more);
  // Sets every bit that `other` has; the geometries must be equal.
  void unite(const BloomLayer& other);
  // False if a bit beyond the geometry is set, which only a forged image can have.
  bool padding_is_clear() const;

  struct Fill {
    double ratio;         // of set bits
    double current_rate;  // what an absent item would meet now
  };
  // From all cells, or from an even sample of the blocks if there are more than 16 MB.
  Fill fill() const;

  // What a layer takes: its object, and what that points to.
  static constexpr uint64_t object_bytes() { return sizeof(BloomLayer) + sizeof(BoundedCounter); }
  static uint64_t content_bytes_for(const LayerGeometry& geometry);

 private:
  template <typename Item>
  struct Locator {
    const BloomLayer& layer;
    [[gnu::always_inline]] Item operator()(const ItemHash& hash) const {
      return Item(layer.words(), hash, layer.geometry_.bits, layer.geometry_.hashes);
    }
  };

  BloomLayer(const LayerGeometry& geometry, CellMemory cells)
      : geometry_(geometry),
        cells_(std::move(cells)),
        items_(std::make_unique<BoundedCounter>(geometry.capacity)) {
    if (spreads(geometry)) items_->spread();
  }

  static bool spreads(const LayerGeometry& geometry) {
    return geometry.cell_bytes() >= uint64_t{1} << 20;
  }

  uint64_t* words() const {
    return reinterpret_cast<uint64_t*>(const_cast<std::byte*>(cells_.data()));
  }

  LayerGeometry geometry_;
  CellMemory cells_;
  // Apart from what every lookup reads: else each add would take that line away from all cores.
  std::unique_ptr<BoundedCounter> items_;
};

}  // namespace iris::filters
