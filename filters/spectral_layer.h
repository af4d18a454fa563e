// One layer of a spectral filter: its blocks, their extensions, and its number of items.
//
// A change is made in two steps, because the log's record must be written between them, when it is
// known that nothing can fail any more:
//
//     locate(hash)            where the item's cells lie
//     [stripe of chunk_of(item) taken]
//     plan(item, edit)        reads the cells: the count before, and what they would become
//     reserve(item, plan, g)  room for high parts; the only step that may be refused
//     ... the caller logs ...
//     apply(item, plan)       writes the cells
//
// A blocked item is one group of cells in one block. There are four kinds of plan:
//
//   kDigits   an edit by one, and no counter of the item is or gets full: the new digits, in
//             registers. The block is the only cache line that is touched. Most items of most
//             streams.
//   kInline   one more, and some counters are or get full, but all of the block stays in the block
//             (spectral_inline.h). Only on machines that have the instructions for it.
//   kHighs    full cells stay full and their high parts keep their width: the new digits, some
//             high parts to overwrite, and new ones for cells that get full. The increments of hot
//             items; still one line, unless the block has more high parts than it can hold.
//   kValues   the general way, value by value; high parts may move, into the arena or out of it.
//
// A classic item is up to k groups, and the whole layer counts as one chunk for locking.
//
// The number of distinct items counts what was new when it came and what was gone when it left.
// Both are seen through the filter, so with removals the number drifts (an item may come unseen and
// leave seen), like a drunkard. The cells that are not zero give a second, noisier estimate that
// cannot drift; the count is kept within five standard deviations of it, once anything was removed.
//
// Invariants
//   1. estimate, absent, the plans, reserve, apply and trim are called under the stripe of the
//      item's chunk, or by who has the filter alone. locate, prefetch, estimate_small and the
//      numbers need no lock.
//   2. nonzero_cells() is exact: the number of cells above zero. The number of items is 0 if it is.
//   3. No counter passes kMaxSpectralCount: the filter keeps the sum of all counts within it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "filters/bounded_counter.h"
#include "filters/cell_memory.h"
#include "filters/item_hash.h"
#include "filters/spectral_block.h"
#include "filters/spectral_extension.h"
#include "filters/spectral_inline.h"
#include "filters/spectral_params.h"
#include "filters/spin_lock.h"
#include "filters/stripe_table.h"

namespace iris::filters {

inline constexpr uint64_t kMaxSpectralCount = (uint64_t{1} << 63) - 1;

// The numbers are written to the log: never change one.
enum class SpectralEditKind : uint8_t {
  kAdd = 0,       // to all cells
  kSubtract = 1,  // from all cells
  kRaise = 2,     // all cells to at least `amount`
  kIncrease = 3,  // all cells to at least the count plus `amount`; logged as kRaise
};

// A borrowed callable that is asked whether extensions may take `more` bytes, which are counted
// among the layer's already; none: they may. It runs under the stripes, before anything is
// allocated or changed, and must not wait for anything.
class MayGrow {
 public:
  MayGrow() = default;
  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, MayGrow>)
      // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): constrained above
      MayGrow(Callable&& callable)
      : callable_(const_cast<void*>(static_cast<const void*>(&callable))),
        call_([](void* target, uint64_t more) -> bool {
          return (*static_cast<std::remove_reference_t<Callable>*>(target))(more);
        }) {}

  bool operator()(uint64_t more) const { return call_ == nullptr || call_(callable_, more); }

 private:
  void* callable_ = nullptr;
  bool (*call_)(void*, uint64_t) = nullptr;
};

struct SpectralEdit {
  SpectralEditKind kind;
  uint64_t amount;
};

// Where an item lies in a layer: groups of cells, by block, ascending. Large, and not initialised
// beyond `count`: only classic items use more than the first group.
struct ItemCells {
  struct Group {
    uint64_t block;
    CellSet cells;
  };
  uint32_t count;
  std::array<Group, kMaxSpectralHashes> groups;
};

// An edit by one after which no counter of the item is full, and none was: small enough to stay in
// registers.
struct DigitsPlan {
  uint64_t before;         // the count
  uint64_t after;          // the count, once applied
  int64_t nonzero_change;  // cells that become non-zero, less those that become zero
  BlockDigits digits;      // of the block
};

// Any edit of any item.
struct CellPlan {
  enum class Kind : uint8_t { kDigits, kInline, kHighs, kValues };

  Kind kind;
  bool possible;  // false: a counter would leave [0, kMaxSpectralCount]; not to be applied
  uint64_t before;
  uint64_t after;
  int64_t nonzero_change;
  BlockDigits digits;       // kDigits and kHighs: of the block
  InlineIncrement inlined;  // kInline
  CellSet filled;           // kHighs: cells that get full, with a high part of 0
  uint32_t high_count;      // kHighs: high parts to overwrite, by rank among the full cells
  std::array<uint8_t, kMaxBlockHashes> ranks;
  std::array<uint64_t, kMaxSpectralHashes> values;  // kHighs: those high parts; kValues: all cells
};

class SpectralLayer {
 public:
  // Null if the memory cannot be had.
  [[nodiscard]] static std::unique_ptr<SpectralLayer> make(const SpectralGeometry& geometry);

  const SpectralGeometry& geometry() const { return geometry_; }

  bool blocked() const { return geometry_.layout == SpectralLayout::kBlocked; }
  void locate(const ItemHash& hash, ItemCells& item) const;
  // Of a blocked layer.
  ItemCells::Group locate_block(const ItemHash& hash) const {
    return {block_of(hash), choose_cells(hash.high, geometry_.hashes)};
  }
  // Always inlined: a function that only prefetches has no effect in GCC's eyes, and with link-time
  // optimisation it drops the call.
  [[gnu::always_inline]] void prefetch(const ItemHash& hash) const;
  // The chunk that stands for the item's cells in the stripe table.
  uint64_t chunk_of(const ItemCells& item) const {
    return blocked() ? chunk_of(item.groups[0]) : 0;
  }
  static uint64_t chunk_of(const ItemCells::Group& group) { return group.block / kChunkBlocks; }
  uint64_t chunk_of(const ItemHash& hash) const {
    return blocked() ? block_of(hash) / kChunkBlocks : 0;
  }
  uint64_t chunk_count() const { return geometry_.chunks(); }
  // Chunks for locking: those of the stripe table.
  uint64_t locked_chunk_count() const { return blocked() ? chunk_count() : 1; }

  uint64_t estimate(const ItemCells& item) const;
  // Without the stripe: the count of a blocked item if its digits alone tell it. Right if nobody
  // had the stripe meanwhile.
  std::optional<uint64_t> estimate_small(const ItemCells::Group& group) const {
    const BlockDigits digits = BlockDigits::load_shared(blocks()[group.block]);
    const uint32_t digit = digits.minimum(group.cells).digit;
    return digit < kDigitMax ? std::optional<uint64_t>(digit) : std::nullopt;
  }
  // Whether the count of a blocked item is 0.
  bool absent(const ItemCells::Group& group) const {
    return !BlockDigits::load(blocks()[group.block]).zero(group.cells).empty();
  }
  void plan(const ItemCells& item, const SpectralEdit& edit, CellPlan& plan) const;
  // The same by kHighs and kValues alone, which do for every edit on every machine.
  void plan_any(const ItemCells& item, const SpectralEdit& edit, CellPlan& plan) const;
  // Of a blocked item; false if it takes another plan.
  bool plan_digits(const ItemCells::Group& group, SpectralEditKind kind, DigitsPlan& plan) const;
  // The same for one more of the item.
  bool plan_inline(const ItemCells::Group& group, InlineIncrement& plan) const {
    return kIncrementsInline && increment_inline(blocks()[group.block], group.cells, plan);
  }
  // Asks only if memory has to be taken; then false if it may not or cannot.
  [[nodiscard]] bool reserve(const ItemCells& item, const CellPlan& plan,
                             const MayGrow& may_grow = {}) {
    if (plan.kind == CellPlan::Kind::kDigits || plan.kind == CellPlan::Kind::kInline) return true;
    return reserve_highs(item, plan, may_grow);
  }
  // Those that change their block alone need no room.
  static bool reserve(const ItemCells::Group&, const DigitsPlan&, const MayGrow&) { return true; }
  static bool reserve(const ItemCells::Group&, const InlineIncrement&, const MayGrow&) {
    return true;
  }
  // Promises room for edits that are done later, whatever else is done under the same stripes
  // before them: for an edit of the item after which no counter is above `largest`, or for cells of
  // a block to get these counters, none of them smaller than it is. Return the bytes that this
  // takes beyond those that are there or booked. take_promised() gets them; trim() ends all
  // promises, and so does unpromise(), which leaves the memory as it is.
  uint64_t promise(const ItemCells& item, uint64_t largest);
  using BlockValues = std::array<uint64_t, kBlockCells>;
  uint64_t promise_block(uint64_t block, const CellSet& cells, const BlockValues& values);
  [[nodiscard]] bool take_promised(const ItemCells& item);
  void unpromise(const ItemCells& item);
  void apply(const ItemCells& item, const CellPlan& plan);
  void apply(const ItemCells::Group& group, const DigitsPlan& plan) {
    plan.digits.store(blocks()[group.block]);
  }
  void apply(const ItemCells::Group& group, const InlineIncrement& plan);
  // Gives memory back that the item's chunks no longer need: after counts fell, or a promise.
  void trim(const ItemCells& item);

  // The number of distinct items, and with it that of non-zero cells, so that nobody who compares
  // the two meets one without the other. Both return by how much the items changed: `drifting` says
  // that some have been removed, so that the number is brought back into its bounds. Who does not
  // know yet what becomes of the cells says so, and that the items have come when it has told.
  [[nodiscard]] std::optional<int64_t> try_add_items(uint64_t items,
                                                     std::optional<int64_t> nonzero_change,
                                                     bool drifting);
  // If there was no place for so many, others may have some (bounded_counter.h).
  bool gather_helps(uint64_t items) const { return items_.gather_helps(items); }
  void gather_places() { items_.gather(); }
  void items_have_come(uint64_t items) { expected_items_.fetch_sub(static_cast<int64_t>(items)); }
  int64_t remove_item(int64_t nonzero_change);
  void change_items(int64_t by) { items_.change(by); }  // undo and replay
  uint64_t items() const { return items_.count(); }
  void change_nonzero(int64_t by) {
    if (by < 0) nonzero_.change(by);
    if (by > 0) (void)nonzero_.take(static_cast<uint64_t>(by));  // it has no limit
  }
  uint64_t nonzero_cells() const { return nonzero_.count(); }

  // By chunk, for compaction, dumps, merges and digests.
  static constexpr uint64_t kChunkBlocks = kChunkBytes / sizeof(SpectralBlock);
  std::span<SpectralBlock> chunk(uint64_t index);
  std::span<const SpectralBlock> chunk(uint64_t index) const;
  const ExtensionArena& arena(uint64_t chunk_index) const { return arenas_[chunk_index]; }
  void compact_chunk(uint64_t index);
  // Becomes a copy of `other`, which has the same geometry; this layer is new. False if the memory
  // cannot be had.
  [[nodiscard]] bool copy_from(const SpectralLayer& other);
  // The counter of every cell of a block, and back; false if the memory cannot be had, and then
  // nothing has changed. Keeps nonzero_cells() right.
  void read_block(uint64_t block, BlockValues& values) const;
  void read_cells(uint64_t block, const CellSet& cells, BlockValues& values) const;
  [[nodiscard]] bool write_block(uint64_t block, const BlockValues& values);
  // The same with the counters in their two parts; a high part for each full cell, in order.
  [[nodiscard]] bool write_block(uint64_t block, const BlockDigits& digits,
                                 std::span<const uint64_t> highs);

  uint64_t extension_bytes() const { return extension_bytes_.load(std::memory_order_relaxed); }
  uint64_t extended_blocks() const { return extended_blocks_.load(std::memory_order_relaxed); }
  uint64_t memory_bytes() const { return geometry_.memory_bytes() + extension_bytes(); }

 private:
  __extension__ typedef unsigned __int128 uint128;

  SpectralLayer(const SpectralGeometry& geometry, CellMemory cells,
                std::unique_ptr<ExtensionArena[]> arenas);

  static uint64_t multiply_high(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<uint128>(a) * b >> 64);
  }
  // Of a blocked item.
  uint64_t block_of(const ItemHash& hash) const { return multiply_high(hash.low, block_count_); }
  // Position i of a classic item. Double hashing alone would lump for small numbers of counters;
  // the multiplication and fold (wyhash's constants) make them as good as independent.
  static uint64_t classic_position(const ItemHash& hash, uint32_t i, uint64_t cells) {
    const uint128 product =
        static_cast<uint128>((hash.low + i * hash.high) ^ 0xa0761d6478bd642fULL) *
        0xe7037ed1a0b428dbULL;
    const uint64_t folded = static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
    return multiply_high(folded, cells);
  }
  static void locate_classic(const ItemHash& hash, const SpectralGeometry& geometry,
                             ItemCells& item);

  SpectralBlock* blocks() const {
    return reinterpret_cast<SpectralBlock*>(const_cast<std::byte*>(cells_.data()));
  }
  bool plan_in_block(const ItemCells::Group& group, SpectralEditKind kind, CellPlan& plan) const;
  bool plan_highs(const ItemCells::Group& group, const SpectralEdit& edit, CellPlan& plan) const;
  void plan_values(const ItemCells& item, const SpectralEdit& edit, CellPlan& plan) const;
  bool reserve_highs(const ItemCells& item, const CellPlan& plan, const MayGrow& may_grow);
  void apply_to_block(uint64_t index, const CellPlan& plan);
  uint64_t extension_growth(const ItemCells& item, const CellPlan& plan) const;
  template <typename Change>
  uint64_t change_arena(uint64_t chunk_index, Change&& change);
  std::pair<uint64_t, uint64_t> item_bounds() const;
  int64_t bring_items_into_bounds(int64_t by);
  bool take_items(uint64_t items, std::optional<int64_t> nonzero_change);

  const SpectralGeometry geometry_;
  const uint64_t block_count_;
  CellMemory cells_;
  std::unique_ptr<ExtensionArena[]> arenas_;
  // Apart from what every lookup reads: else each change would take that line away from all cores.
  alignas(64) BoundedCounter items_;
  BoundedCounter nonzero_{BoundedCounter::kNoLimit};
  std::atomic<int64_t> expected_items_{0};  // in the number, but their cells are not counted yet
  SpinLock drift_lock_;
  std::atomic<uint64_t> extension_bytes_{0};
  std::atomic<uint64_t> extended_blocks_{0};
};

inline void SpectralLayer::prefetch(const ItemHash& hash) const {
  if (blocked()) {
    __builtin_prefetch(blocks() + block_of(hash), 1);
    return;
  }
  for (uint32_t i = 0; i < 4 && i < geometry_.hashes; ++i) {
    __builtin_prefetch(blocks() + classic_position(hash, i, geometry_.cells) / kBlockCells, 1);
  }
}

}  // namespace iris::filters
