// One layer of a Bloom filter: its geometry, its cells and its number of items.
//
// The layout is decided once an operation by a switch that always goes the same way for a filter;
// there are no virtual calls and no allocations behind any of them. The names of the layouts and
// the way from a hash to its bits are in bloom_probes.h.
//
// Threads: contains(), prefetch(), read_cells(), fill() and the counts need no lock. set()
// needs the stripe of chunk_of(); reserve() none, but its place is for an item that is set under
// one. The rest is for who has the layer alone.
//
// Invariants
//   1. The geometry came from BloomParams or was checked by a loader; the cells fit it exactly.
//   2. item_count() never passes the capacity by reserve(). Only a merge may do that, and then
//      the layer counts as full.
//   3. A bit is never cleared.
#pragma once

#include <algorithm>
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

// Cells that one stripe guards. Small, so that a filter of 10 MB has more stripes than two threads
// with a batch of adds each would meet at.
inline constexpr uint64_t kBloomChunkBytes = 8 * 1024;

class BloomLayer {
 public:
  // Empty if the memory cannot be had.
  [[nodiscard]] static std::optional<BloomLayer> allocate(const LayerGeometry& geometry);

  BloomLayer(BloomLayer&&) noexcept = default;
  BloomLayer& operator=(BloomLayer&&) = delete;

  bool contains(const ItemHash& hash) const;
  void set(const ItemHash& hash);
  void prefetch(const ItemHash& hash) const;

  // The chunk that holds the item's bits in this layer (invariant 2 of bloom_probes.h).
  uint64_t chunk_of(const ItemHash& hash) const;
  uint64_t chunks() const;
  // The bytes of a chunk, as [first, first + length) of the cells.
  std::pair<uint64_t, uint64_t> chunk_range(uint64_t chunk) const;

  // Takes places for up to `wanted` more items; returns how many it got.
  [[nodiscard]] uint64_t reserve(uint64_t wanted) { return items_->take(wanted); }

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

inline bool BloomLayer::contains(const ItemHash& hash) const {
  const uint64_t bits = geometry_.bits;
  const uint32_t hashes = geometry_.hashes;
  switch (geometry_.layout) {
    case BloomLayout::kBlocked:
      return probes::Block512::contains(words(), hash, bits, hashes);
    case BloomLayout::kPaged:
      return probes::Block4096::contains(words(), hash, bits, hashes);
    case BloomLayout::kClassic:
      return probes::Scattered<probes::Classic>::contains(words(), hash, bits, hashes);
    case BloomLayout::kExplicit:
      return probes::Scattered<probes::Explicit>::contains(words(), hash, bits, hashes);
  }
  __builtin_unreachable();
}

inline void BloomLayer::set(const ItemHash& hash) {
  const uint64_t bits = geometry_.bits;
  const uint32_t hashes = geometry_.hashes;
  switch (geometry_.layout) {
    case BloomLayout::kBlocked:
      return probes::Block512::set(words(), hash, bits, hashes);
    case BloomLayout::kPaged:
      return probes::Block4096::set(words(), hash, bits, hashes);
    case BloomLayout::kClassic:
      return probes::Scattered<probes::Classic>::set(words(), hash, bits, hashes);
    case BloomLayout::kExplicit:
      return probes::Scattered<probes::Explicit>::set(words(), hash, bits, hashes);
  }
}

// The lines that a lookup needs first: the block (blocked), the lines of
// the first hash word's positions (paged: an absent item is nearly always refused by them), the
// first two positions (one array: an absent item sees two on average). Inlined by force: a call
// would cost as much as what it does.
[[gnu::always_inline]] inline void BloomLayer::prefetch(const ItemHash& hash) const {
  using probes::Block4096;
  using probes::Block512;
  constexpr uint32_t kScatteredLines = 2;
  const uint64_t bits = geometry_.bits;
  switch (geometry_.layout) {
    case BloomLayout::kBlocked:
      probes::prefetch_word(words() + Block512::block_of(hash, bits) * Block512::kBlockWords);
      return;
    case BloomLayout::kPaged: {
      uint64_t* const block = words() + Block4096::block_of(hash, bits) * Block4096::kBlockWords;
      Block4096::for_each(hash, std::min(geometry_.hashes, Block4096::kPositionsAWord),
                          [&](uint64_t position) { probes::prefetch_word(block + position / 64); });
      return;
    }
    case BloomLayout::kClassic:
      for (uint32_t i = 0; i < std::min(geometry_.hashes, kScatteredLines); ++i) {
        probes::prefetch_word(words() + probes::Classic::position(hash, i, bits) / 64);
      }
      return;
    case BloomLayout::kExplicit:
      for (uint32_t i = 0; i < std::min(geometry_.hashes, kScatteredLines); ++i) {
        probes::prefetch_word(words() + probes::Explicit::position(hash, i, bits) / 64);
      }
      return;
  }
}

inline uint64_t BloomLayer::chunk_of(const ItemHash& hash) const {
  switch (geometry_.layout) {
    case BloomLayout::kBlocked:
      return probes::Block512::block_of(hash, geometry_.bits) /
             (kBloomChunkBytes * 8 / kBlockedBits);
    case BloomLayout::kPaged:
      return probes::Block4096::block_of(hash, geometry_.bits) /
             (kBloomChunkBytes * 8 / kPagedBits);
    case BloomLayout::kClassic:
    case BloomLayout::kExplicit:
      return 0;  // its bits are all over the array: one chunk
  }
  __builtin_unreachable();
}

}  // namespace iris::filters
