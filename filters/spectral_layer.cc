#include "filters/spectral_layer.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <new>
#include <utility>

#include "filters/check.h"

namespace iris::filters {
namespace {

constexpr CellSet kAllCells{{UINT64_MAX, UINT64_MAX}};

// A block with the cells of a group set to new values, which run along with the cells: its digits,
// and what becomes of its high parts.
class GroupChange {
 public:
  GroupChange(const SpectralBlock& block, const CellSet& cells, const uint64_t* values)
      : digits_(BlockDigits::load(block)), before_(digits_.full()) {
    cells.for_each([&](uint32_t cell) {
      const uint64_t value = *values++;
      digits_.set(cell, static_cast<uint32_t>(std::min<uint64_t>(value, kDigitMax)));
      if (value < kDigitMax) return;
      cells_[count_] = static_cast<uint8_t>(cell);
      highs_[count_++] = value - kDigitMax;
    });
  }
  const BlockDigits& digits() const { return digits_; }
  HighChange highs() const {
    return {before_, FullCells(digits_.full()), {cells_.data(), count_}, {highs_.data(), count_}};
  }

 private:
  BlockDigits digits_;
  FullCells before_;
  uint32_t count_ = 0;
  std::array<uint8_t, kBlockCells> cells_;
  std::array<uint64_t, kBlockCells> highs_;
};

// Reads counters of a block.
class BlockReader {
 public:
  BlockReader(const SpectralBlock& block, const ExtensionArena& arena)
      : block_(block), arena_(arena), digits_(BlockDigits::load(block)), full_(digits_.full()) {}

  uint64_t operator()(uint32_t cell) const {
    if (!full_.has(cell)) return digits_.get(cell);
    return kDigitMax + arena_.high(block_, full_.rank(cell));
  }

 private:
  const SpectralBlock& block_;
  const ExtensionArena& arena_;
  const BlockDigits digits_;
  const FullCells full_;
};

// What one cell becomes. False if it would leave its range.
bool edited(uint64_t value, uint64_t count, const SpectralEdit& edit, uint64_t& result) {
  switch (edit.kind) {
    case SpectralEditKind::kAdd:
      result = value + edit.amount;
      return value <= kMaxSpectralCount - edit.amount;
    case SpectralEditKind::kSubtract:
      result = value - edit.amount;
      return value >= edit.amount;
    case SpectralEditKind::kRaise:
      result = std::max(value, edit.amount);
      return true;
    case SpectralEditKind::kIncrease:
      result = std::max(value, count + edit.amount);
      return count <= kMaxSpectralCount - edit.amount;
  }
  return false;
}

}  // namespace

SpectralLayer::SpectralLayer(const SpectralGeometry& geometry, CellMemory cells,
                             std::unique_ptr<ExtensionArena[]> arenas)
    : geometry_(geometry),
      block_count_(geometry.blocks()),
      cells_(std::move(cells)),
      arenas_(std::move(arenas)),
      items_(geometry.capacity) {
  if (!geometry.spreads()) return;
  items_.spread();
  nonzero_.spread();
}

std::unique_ptr<SpectralLayer> SpectralLayer::make(const SpectralGeometry& geometry) {
  CHECK(geometry.valid());
  auto cells = CellMemory::allocate(geometry.blocks() * sizeof(SpectralBlock));
  if (!cells) return nullptr;
  std::unique_ptr<ExtensionArena[]> arenas(new (std::nothrow) ExtensionArena[geometry.chunks()]);
  if (!arenas) return nullptr;
  return std::unique_ptr<SpectralLayer>(
      new (std::nothrow) SpectralLayer(geometry, std::move(*cells), std::move(arenas)));
}

void SpectralLayer::locate_classic(const ItemHash& hash, const SpectralGeometry& geometry,
                                   ItemCells& item) {
  std::array<uint64_t, kMaxSpectralHashes> positions;
  for (uint32_t i = 0; i < geometry.hashes; ++i) {
    positions[i] = classic_position(hash, i, geometry.cells);
  }
  const auto begin = positions.begin();
  const auto end = begin + geometry.hashes;
  std::sort(begin, end);
  item.count = 0;
  for (auto it = begin; it != end; ++it) {
    const uint64_t block = *it / kBlockCells;
    if (item.count == 0 || item.groups[item.count - 1].block != block) {
      item.groups[item.count++] = {block, CellSet::none()};
    }
    // A set: counters that coincide count once.
    item.groups[item.count - 1].cells.add(static_cast<uint32_t>(*it % kBlockCells));
  }
}

void SpectralLayer::locate(const ItemHash& hash, ItemCells& item) const {
  if (!blocked()) return locate_classic(hash, geometry_, item);
  item.count = 1;
  item.groups[0] = locate_block(hash);
}

uint64_t SpectralLayer::estimate(const ItemCells& item) const {
  uint64_t count = UINT64_MAX;
  for (uint32_t g = 0; g < item.count; ++g) {
    const auto& group = item.groups[g];
    const SpectralBlock& block = blocks()[group.block];
    const uint32_t digit = BlockDigits::load(block).minimum(group.cells).digit;
    if (digit == 0) return 0;
    if (digit < kDigitMax) {
      count = std::min<uint64_t>(count, digit);
      continue;
    }
    const BlockReader counter(block, arenas_[group.block / kChunkBlocks]);
    group.cells.for_each([&](uint32_t cell) { count = std::min(count, counter(cell)); });
  }
  return count;
}

void SpectralLayer::plan(const ItemCells& item, const SpectralEdit& edit, CellPlan& plan) const {
  if (edit.amount == 1 && blocked() && plan_in_block(item.groups[0], edit.kind, plan)) return;
  plan_any(item, edit, plan);
}

void SpectralLayer::plan_any(const ItemCells& item, const SpectralEdit& edit,
                             CellPlan& plan) const {
  if (blocked() && plan_highs(item.groups[0], edit, plan)) return;
  plan_values(item, edit, plan);
}

// An edit by one. False if it takes another kind of plan.
bool SpectralLayer::plan_in_block(const ItemCells::Group& group, SpectralEditKind kind,
                                  CellPlan& plan) const {
  const auto take = [&plan](CellPlan::Kind as, const auto& small) {
    plan.kind = as;
    plan.possible = true;
    plan.before = small.before;
    plan.after = small.after;
    plan.nonzero_change = small.nonzero_change;
  };
  DigitsPlan digits;
  if (plan_digits(group, kind, digits)) {
    take(CellPlan::Kind::kDigits, digits);
    plan.digits = digits.digits;
    return true;
  }
  if (kind != SpectralEditKind::kAdd || !plan_inline(group, plan.inlined)) return false;
  take(CellPlan::Kind::kInline, plan.inlined);
  return true;
}

bool SpectralLayer::plan_digits(const ItemCells::Group& group, SpectralEditKind kind,
                                DigitsPlan& plan) const {
  // In place: built elsewhere and copied, they would be stored by words and loaded again by pairs
  // of them, which no core can forward.
  BlockDigits& digits = plan.digits;
  digits = BlockDigits::load(blocks()[group.block]);
  if (kind == SpectralEditKind::kAdd && !digits.nearly_full(group.cells).empty()) return false;
  const BlockDigits::Minimum minimum = digits.minimum(group.cells);
  plan.before = minimum.digit;
  switch (kind) {
    case SpectralEditKind::kAdd:
      plan.nonzero_change = minimum.digit == 0 ? minimum.cells.size() : 0;
      plan.after = minimum.digit + 1;
      digits.increment(group.cells);
      return true;
    case SpectralEditKind::kIncrease:
      if (minimum.digit >= kDigitMax - 1) return false;
      plan.nonzero_change = minimum.digit == 0 ? minimum.cells.size() : 0;
      plan.after = minimum.digit + 1;
      digits.increment(minimum.cells);
      return true;
    case SpectralEditKind::kSubtract:
      if (minimum.digit == 0 || !(digits.full() & group.cells).empty()) return false;
      plan.nonzero_change = minimum.digit == 1 ? -int64_t{minimum.cells.size()} : 0;
      plan.after = minimum.digit - 1;
      digits.decrement(group.cells);
      return true;
    case SpectralEditKind::kRaise:
      break;
  }
  return false;
}

// False if it takes another kind of plan.
bool SpectralLayer::plan_highs(const ItemCells::Group& group, const SpectralEdit& edit,
                               CellPlan& plan) const {
  const SpectralBlock& block = blocks()[group.block];
  const ExtensionArena& arena = arenas_[group.block / kChunkBlocks];
  BlockDigits digits = BlockDigits::load(block);
  const FullCells all_full(digits.full());
  const CellSet full = group.cells & all_full.set();
  const CellSet rest = group.cells - full;
  // Where digits change too, they must change by one. An edit of policy MI whose least cell is a
  // digit is not for here.
  const bool subtract = edit.kind == SpectralEditKind::kSubtract;
  if (!rest.empty()) {
    if (edit.amount != 1 || (!subtract && edit.kind != SpectralEditKind::kAdd)) return false;
    if (subtract && !digits.zero(rest).empty()) return false;
  }
  plan.filled = subtract ? CellSet::none() : digits.nearly_full(rest);
  plan.high_count = 0;
  uint64_t least = kMaxSpectralCount;
  full.for_each([&](uint32_t cell) {
    const uint32_t rank = all_full.rank(cell);
    const uint64_t high = arena.high(block, rank);
    plan.ranks[plan.high_count] = static_cast<uint8_t>(rank);
    plan.values[plan.high_count++] = high;
    least = std::min(least, high);
  });
  const BlockDigits::Minimum minimum = digits.minimum(group.cells);
  plan.before = rest.empty() ? least + kDigitMax : minimum.digit;
  uint64_t all_bits = 0;
  for (uint32_t i = 0; i < plan.high_count; ++i) {
    uint64_t value = plan.values[i] + kDigitMax;
    if (!edited(value, plan.before, edit, value) || value < kDigitMax) return false;
    plan.values[i] = value - kDigitMax;
    all_bits |= plan.values[i];
  }
  if (!ExtensionArena::fits(block, all_bits)) return false;
  plan.nonzero_change = subtract && minimum.digit == 1 ? -int64_t{minimum.cells.size()} : 0;
  if (!subtract && minimum.digit == 0) plan.nonzero_change = minimum.cells.size();
  subtract ? digits.decrement(rest) : digits.increment(rest);
  plan.after = edit.kind == SpectralEditKind::kRaise ? std::max(plan.before, edit.amount)
               : subtract                            ? plan.before - edit.amount
                                                     : plan.before + edit.amount;
  plan.kind = CellPlan::Kind::kHighs;
  plan.possible = true;
  plan.digits = digits;
  return true;
}

void SpectralLayer::plan_values(const ItemCells& item, const SpectralEdit& edit,
                                CellPlan& plan) const {
  uint32_t count = 0;
  plan.before = UINT64_MAX;
  for (uint32_t g = 0; g < item.count; ++g) {
    const auto& group = item.groups[g];
    const BlockReader counter(blocks()[group.block], arenas_[group.block / kChunkBlocks]);
    group.cells.for_each([&](uint32_t cell) {
      plan.values[count] = counter(cell);
      plan.before = std::min(plan.before, plan.values[count++]);
    });
  }
  plan.after = UINT64_MAX;
  plan.nonzero_change = 0;
  plan.possible = true;
  plan.kind = CellPlan::Kind::kValues;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t old = plan.values[i];
    if (!edited(old, plan.before, edit, plan.values[i])) plan.possible = false;
    plan.after = std::min(plan.after, plan.values[i]);
    plan.nonzero_change += int64_t{plan.values[i] != 0} - int64_t{old != 0};
  }
}

// Runs `change` on a chunk's arena and keeps the layer's sums of their sizes and blocks. Returns by
// how many bytes it grew.
template <typename Change>
uint64_t SpectralLayer::change_arena(uint64_t chunk_index, Change&& change) {
  ExtensionArena& arena = arenas_[chunk_index];
  const uint64_t bytes_before = arena.booked_bytes();
  const uint64_t extended_before = arena.extended_blocks();
  change(arena, chunk(chunk_index));
  const uint64_t more = arena.booked_bytes() - bytes_before;
  const uint64_t more_extended = arena.extended_blocks() - extended_before;
  if (more != 0) extension_bytes_.fetch_add(more, std::memory_order_relaxed);
  if (more_extended != 0) extended_blocks_.fetch_add(more_extended, std::memory_order_relaxed);
  return more;
}

// By how many units the pieces of the item's blocks grow.
uint64_t SpectralLayer::extension_growth(const ItemCells& item, const CellPlan& plan) const {
  if (plan.kind == CellPlan::Kind::kHighs) {
    if (plan.filled.empty()) return 0;
    return ExtensionArena::growth(blocks()[item.groups[0].block], plan.filled.size());
  }
  uint64_t growth = 0;
  const uint64_t* values = plan.values.data();
  for (uint32_t g = 0; g < item.count; ++g) {
    const auto& group = item.groups[g];
    const SpectralBlock& block = blocks()[group.block];
    const GroupChange change(block, group.cells, values);
    growth += ExtensionArena::growth(block, change.highs());
    values += group.cells.size();
  }
  return growth;
}

bool SpectralLayer::reserve_highs(const ItemCells& item, const CellPlan& plan,
                                  const MayGrow& may_grow) {
  const uint64_t growth = extension_growth(item, plan);
  if (growth == 0) return true;
  // Groups of one chunk share its arena: each is made ready for all of them.
  uint64_t more = 0;
  for (uint32_t g = 0; g < item.count; ++g) {
    more += change_arena(
        item.groups[g].block / kChunkBlocks,
        [&](ExtensionArena& arena, auto blocks) { arena.book(growth, blocks.size()); });
  }
  if (more == 0 || (may_grow(more) && take_promised(item))) return true;
  unpromise(item);
  return false;
}

void SpectralLayer::unpromise(const ItemCells& item) {
  for (uint32_t g = 0; g < item.count; ++g) {
    change_arena(item.groups[g].block / kChunkBlocks,
                 [](ExtensionArena& arena, auto) { arena.unbook(); });
  }
}

bool SpectralLayer::take_promised(const ItemCells& item) {
  bool taken = true;
  for (uint32_t g = 0; taken && g < item.count; ++g) {
    change_arena(item.groups[g].block / kChunkBlocks,
                 [&](ExtensionArena& arena, auto) { taken = arena.take(); });
  }
  return taken;
}

uint64_t SpectralLayer::promise(const ItemCells& item, uint64_t largest) {
  const uint32_t width = ExtensionLink::width_for(largest);
  uint64_t more = 0;
  for (uint32_t g = 0; g < item.count; ++g) {
    const auto& group = item.groups[g];
    const ExtensionLink link = ExtensionLink::unpack(blocks()[group.block].link);
    // By how much this edit alone can let the piece grow: all old entries get the new width, and
    // all cells of the item an entry. Edits before it have promises of their own.
    const uint32_t wide = std::max(width, link.width_bytes);
    const uint64_t units =
        ExtensionLink::arena_units(link.count + group.cells.size(), wide) + 1 - link.units();
    more += change_arena(group.block / kChunkBlocks, [&](ExtensionArena& arena, auto blocks) {
      arena.promise(units, blocks.size());
    });
  }
  return more;
}

uint64_t SpectralLayer::promise_block(uint64_t block_index, const CellSet& cells,
                                      const BlockValues& values) {
  const SpectralBlock& block = blocks()[block_index];
  const ExtensionLink link = ExtensionLink::unpack(block.link);
  uint32_t count = link.count;
  uint64_t all_bits = 0;
  const CellSet was_full = BlockDigits::load(block).full();
  cells.for_each([&](uint32_t cell) {
    if (values[cell] < kDigitMax) return;
    all_bits |= values[cell] - kDigitMax;
    count += was_full.has(cell) ? 0 : 1;
  });
  const uint32_t width = std::max(link.width_bytes, ExtensionLink::width_for(all_bits));
  const uint64_t units = ExtensionLink::units_for(count, width) - link.units();
  return change_arena(block_index / kChunkBlocks, [&](ExtensionArena& arena, auto blocks) {
    arena.promise(units, blocks.size());
  });
}

void SpectralLayer::apply(const ItemCells& item, const CellPlan& plan) {
  if (plan.kind == CellPlan::Kind::kInline) return apply(item.groups[0], plan.inlined);
  if (plan.kind != CellPlan::Kind::kValues) return apply_to_block(item.groups[0].block, plan);
  const uint64_t* values = plan.values.data();
  for (uint32_t g = 0; g < item.count; ++g) {
    const auto& group = item.groups[g];
    SpectralBlock& block = blocks()[group.block];
    const GroupChange change(block, group.cells, values);
    values += group.cells.size();
    change_arena(group.block / kChunkBlocks, [&](ExtensionArena& arena, auto blocks) {
      arena.assign(blocks, block, change.highs());
    });
    change.digits().store(block);
  }
}

void SpectralLayer::apply(const ItemCells::Group& group, const InlineIncrement& plan) {
  SpectralBlock& block = blocks()[group.block];
  if (block.link == 0) {
    change_arena(chunk_of(group), [](ExtensionArena& arena, auto) { arena.add_extended(); });
  }
  plan.digits.store(block);
  block.highs = plan.highs;
  block.link = plan.link;
}

void SpectralLayer::apply_to_block(uint64_t index, const CellPlan& plan) {
  SpectralBlock& block = blocks()[index];
  plan.digits.store(block);
  if (plan.kind == CellPlan::Kind::kDigits) return;
  for (uint32_t i = 0; i < plan.high_count; ++i) {
    arenas_[index / kChunkBlocks].set_high(block, plan.ranks[i], plan.values[i]);
  }
  if (plan.filled.empty()) return;
  const FullCells full(plan.digits.full());
  change_arena(index / kChunkBlocks, [&](ExtensionArena& arena, auto blocks) {
    arena.insert(blocks, block, full, plan.filled);
  });
}

void SpectralLayer::trim(const ItemCells& item) {
  for (uint32_t g = 0; g < item.count; ++g) {
    change_arena(item.groups[g].block / kChunkBlocks,
                 [](ExtensionArena& arena, auto blocks) { arena.trim(blocks); });
  }
}

// Between which numbers of items the non-zero cells leave no doubt: five standard deviations about
// the maximum-likelihood estimate of linear counting, n = -(m/k) ln(1 - nonzero/m), whose variance
// is m (e^t - t - 1) / k^2 with t = n k / m.
std::pair<uint64_t, uint64_t> SpectralLayer::item_bounds() const {
  const uint64_t nonzero = nonzero_cells();
  if (nonzero == 0) return {0, 0};
  const auto m = static_cast<double>(geometry_.cells);
  const double k = geometry_.hashes;
  const double empty = std::max(m - static_cast<double>(nonzero), 0.5) / m;
  const double t = -std::log(empty);
  const double items = m * t / k;
  const double doubt = 5 * std::sqrt(m * std::max(1 / empty - t - 1, 0.0)) / k + 1;
  return {static_cast<uint64_t>(std::max(items - doubt, 0.0)),
          static_cast<uint64_t>(std::ceil(items + doubt))};
}

// Changes the number, and then brings it into its bounds. Returns by how much it changed. Under the
// drift's lock, which all who come here hold over both numbers. Others may add meanwhile: those who
// saw no removal yet, one item a thread and to the number first; and those who expect items. So the
// number is held against the upper bound as it was before the cells were looked at, with what was
// expected in between, and against the lower one as it is afterwards.
int64_t SpectralLayer::bring_items_into_bounds(int64_t by) {
  const auto before = static_cast<int64_t>(items());
  const int64_t expected = expected_items_.load();
  const auto [low, high] = item_bounds();
  const auto after = static_cast<int64_t>(items());
  const int64_t highest = static_cast<int64_t>(high) + expected;
  int64_t change = by;
  if (before + by > highest) {
    change = highest - before;
  } else if (after + by < static_cast<int64_t>(low)) {
    change = static_cast<int64_t>(low) - after;
  }
  change_items(change);
  return change;
}

bool SpectralLayer::take_items(uint64_t items, std::optional<int64_t> nonzero_change) {
  if (!nonzero_change) expected_items_.fetch_add(static_cast<int64_t>(items));
  if (!items_.take(items)) {
    if (!nonzero_change) items_have_come(items);
    return false;
  }
  if (nonzero_change) change_nonzero(*nonzero_change);
  return true;
}

std::optional<int64_t> SpectralLayer::try_add_items(uint64_t items,
                                                    std::optional<int64_t> nonzero_change,
                                                    bool drifting) {
  const auto more = static_cast<int64_t>(items);
  if (!drifting) return take_items(items, nonzero_change) ? std::optional(more) : std::nullopt;
  const std::lock_guard guard(drift_lock_);
  const int64_t drift = bring_items_into_bounds(0);
  if (take_items(items, nonzero_change)) return drift + more;
  change_items(-drift);
  return std::nullopt;
}

int64_t SpectralLayer::remove_item(int64_t nonzero_change) {
  const std::lock_guard guard(drift_lock_);
  change_nonzero(nonzero_change);
  return bring_items_into_bounds(-1);
}

std::span<SpectralBlock> SpectralLayer::chunk(uint64_t index) {
  const uint64_t first = index * kChunkBlocks;
  return {blocks() + first, std::min(kChunkBlocks, geometry_.blocks() - first)};
}

std::span<const SpectralBlock> SpectralLayer::chunk(uint64_t index) const {
  const uint64_t first = index * kChunkBlocks;
  return {blocks() + first, std::min(kChunkBlocks, geometry_.blocks() - first)};
}

void SpectralLayer::compact_chunk(uint64_t index) {
  change_arena(index, [](ExtensionArena& arena, auto blocks) { arena.compact(blocks); });
}

bool SpectralLayer::copy_from(const SpectralLayer& other) {
  CHECK(geometry_ == other.geometry_ && nonzero_cells() == 0);
  for (uint64_t index = 0; index < chunk_count(); ++index) {
    bool copied = false;
    change_arena(index, [&](ExtensionArena& arena, auto) {
      copied = arena.copy_from(other.arenas_[index]);
    });
    if (!copied) return false;
    const auto from = other.chunk(index);
    std::copy(from.begin(), from.end(), chunk(index).begin());
  }
  change_items(static_cast<int64_t>(other.items()));
  change_nonzero(static_cast<int64_t>(other.nonzero_cells()));
  return true;
}

void SpectralLayer::read_block(uint64_t block_index, BlockValues& values) const {
  read_cells(block_index, kAllCells, values);
}

void SpectralLayer::read_cells(uint64_t block_index, const CellSet& cells,
                               BlockValues& values) const {
  const BlockReader counter(blocks()[block_index], arenas_[block_index / kChunkBlocks]);
  cells.for_each([&](uint32_t cell) { values[cell] = counter(cell); });
}

bool SpectralLayer::write_block(uint64_t block_index, const BlockValues& values) {
  const GroupChange change(blocks()[block_index], kAllCells, values.data());
  return write_block(block_index, change.digits(), change.highs().highs);
}

bool SpectralLayer::write_block(uint64_t block_index, const BlockDigits& digits,
                                std::span<const uint64_t> highs) {
  SpectralBlock& block = blocks()[block_index];
  const BlockDigits before = BlockDigits::load(block);
  if (block.link != 0 || !highs.empty()) {
    const FullCells full(digits.full());
    std::array<uint8_t, kBlockCells> cells;
    size_t count = 0;
    full.set().for_each([&](uint32_t cell) { cells[count++] = static_cast<uint8_t>(cell); });
    CHECK(count == highs.size());
    const HighChange change{FullCells(before.full()), full, {cells.data(), count}, highs};
    bool reserved = false;
    change_arena(block_index / kChunkBlocks, [&](ExtensionArena& arena, auto blocks) {
      arena.book(ExtensionArena::growth(block, change), blocks.size());
      reserved = arena.take();
      if (reserved) arena.assign(blocks, block, change);
    });
    if (!reserved) return false;
  }
  digits.store(block);
  const int64_t more = int64_t{digits.nonzero_cells()} - int64_t{before.nonzero_cells()};
  change_nonzero(more);
  return true;
}

}  // namespace iris::filters
