#include "filters/spectral_extension.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "filters/check.h"
#include "filters/stripe_table.h"

namespace iris::filters {
namespace {

constexpr uint32_t kChunkBlocks = kChunkBytes / sizeof(SpectralBlock);

// Room that is always left above the live pieces, so that a slide frees much and slides stay rare:
// an eighth of the pieces, since they are moved, and a sixteenth of a unit a block, since all links
// are read.
uint32_t with_slack(uint32_t live_units, size_t block_count) {
  return live_units + live_units / 8 + static_cast<uint32_t>(block_count / 16);
}
// Offsets must fit their bits however full a chunk gets, slack and rounding included.
static_assert(uint64_t{kChunkBlocks} * ExtensionLink::kMaxUnits * 3 / 2 < (1U << 20));

uint64_t load_high(const std::byte* highs, uint32_t width, uint32_t index) {
  uint64_t value = 0;
  switch (width) {
    case 1:
      return static_cast<uint64_t>(highs[index]);
    case 2:
      std::memcpy(&value, highs + size_t{index} * 2, 2);
      return value;
    case 4:
      std::memcpy(&value, highs + size_t{index} * 4, 4);
      return value;
    default:
      std::memcpy(&value, highs + size_t{index} * 8, 8);
      return value;
  }
}

void store_high(std::byte* highs, uint32_t width, uint32_t index, uint64_t value) {
  switch (width) {
    case 1:
      highs[index] = static_cast<std::byte>(value);
      return;
    case 2:
      std::memcpy(highs + size_t{index} * 2, &value, 2);
      return;
    case 4:
      std::memcpy(highs + size_t{index} * 4, &value, 4);
      return;
    default:
      std::memcpy(highs + size_t{index} * 8, &value, 8);
      return;
  }
}

// Capacities follow the allocator's size classes, four a doubling, so that what is counted is what
// is held: 4, 5, 6, 7, 8, 10, 12, 14, 16, 20 ... units.
uint32_t capacity_class(uint32_t units) {
  if (units <= 4) return 4;
  const auto shift = static_cast<uint32_t>(std::bit_width(units - 1)) - 3;
  return (((units - 1) >> shift) + 1) << shift;
}

}  // namespace

// The high parts of a block, taken out of its piece.
struct ExtensionArena::Highs {
  std::array<uint64_t, kBlockCells> values;
  uint32_t count = 0;
  uint64_t all_bits = 0;  // decides the width

  void add(uint64_t high) {
    values[count++] = high;
    all_bits |= high;
  }
};

void ExtensionArena::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

uint64_t ExtensionArena::high(const SpectralBlock& block, uint32_t rank) const {
  const ExtensionLink link = ExtensionLink::unpack(block.link);
  return load_high(piece(link), link.width_bytes, rank);
}

void ExtensionArena::set_high(const SpectralBlock& block, uint32_t rank, uint64_t high) {
  const ExtensionLink link = ExtensionLink::unpack(block.link);
  store_high(piece(link), link.width_bytes, rank, high);
}

uint32_t ExtensionArena::growth(const SpectralBlock& block, const HighChange& change) {
  const ExtensionLink link = ExtensionLink::unpack(block.link);
  uint64_t all_bits = 0;
  for (const uint64_t high : change.highs) all_bits |= high;
  const uint32_t width = std::max(link.width_bytes, ExtensionLink::width_for(all_bits));
  const uint32_t units = ExtensionLink::units_for(change.after.size(), width);
  return units > link.units() ? units - link.units() : 0;
}

void ExtensionArena::book(uint64_t units, size_t block_count) {
  if (units == 0) return;
  // However much was asked for, a chunk cannot hold more than all counters in full width.
  const uint64_t limit = uint64_t{kChunkBlocks} * ExtensionLink::kMaxUnits;
  const auto live = static_cast<uint32_t>(std::min(uint64_t{live_} + promised_ + units, limit));
  const uint32_t wanted = with_slack(live, block_count);
  if (wanted > booked_) booked_ = capacity_class(wanted);
}

void ExtensionArena::promise(uint64_t units, size_t block_count) {
  book(units, block_count);
  const uint64_t limit = uint64_t{kChunkBlocks} * ExtensionLink::kMaxUnits;
  promised_ = static_cast<uint32_t>(std::min(promised_ + units, limit));
}

void ExtensionArena::assign(Blocks blocks, SpectralBlock& block, const HighChange& change) {
  uint64_t all_bits = 0;
  for (const uint64_t high : change.highs) all_bits |= high;
  if (change.before.set() == change.after.set() && fits(block, all_bits)) {
    for (size_t i = 0; i < change.cells.size(); ++i) {
      set_high(block, change.after.rank(change.cells[i]), change.highs[i]);
    }
    return;
  }
  Highs highs;
  size_t next = 0;
  change.after.set().for_each([&](uint32_t cell) {
    if (next < change.cells.size() && change.cells[next] == cell) {
      highs.add(change.highs[next++]);
    } else {
      highs.add(change.before.has(cell) ? high(block, change.before.rank(cell)) : 0);
    }
  });
  rewrite(blocks, block, highs);
}

void ExtensionArena::insert(Blocks blocks, SpectralBlock& block, const FullCells& after,
                            const CellSet& filled) {
  ExtensionLink link = ExtensionLink::unpack(block.link);
  const uint32_t units = ExtensionLink::units_for(link.count + filled.size(), link.width_bytes);
  // Three of four new ones of a byte each find room where their piece lies.
  if (units > link.units()) link.offset_units = move(blocks, block, units);
  std::byte* const highs = piece(link);
  const size_t width = link.width_bytes;
  filled.for_each([&](uint32_t cell) {
    std::byte* const place = highs + after.rank(cell) * width;
    std::memmove(place + width, place, static_cast<size_t>(highs + link.count * width - place));
    std::memset(place, 0, width);
    ++link.count;
  });
  block.link = link.pack();
}

// Takes the block's piece, if it has one, to a place of so many units, and returns the place.
uint32_t ExtensionArena::move(Blocks blocks, SpectralBlock& block, uint32_t units) {
  const ExtensionLink link = ExtensionLink::unpack(block.link);
  const size_t bytes = size_t{link.units()} * ExtensionLink::kUnitBytes;
  std::array<std::byte, kBlockCells * sizeof(uint64_t)> highs;
  if (bytes == 0) {
    ++pieces_;
  } else {
    std::memcpy(highs.data(), piece(link), bytes);
    release(link);
    block.link = 0;  // so that a slide does not move what was released
  }
  const uint32_t offset = allocate(blocks, units);
  if (bytes != 0) std::memcpy(piece({offset, link.width_bytes, link.count}), highs.data(), bytes);
  return offset;
}

void ExtensionArena::rewrite(Blocks blocks, SpectralBlock& block, const Highs& highs) {
  release(ExtensionLink::unpack(block.link));
  if (block.link != 0) --pieces_;
  block.link = 0;  // so that a slide does not move what was released
  if (highs.count == 0) return;
  ExtensionLink link{0, ExtensionLink::width_for(highs.all_bits), highs.count};
  link.offset_units = allocate(blocks, link.units());
  for (uint32_t i = 0; i < highs.count; ++i) {
    store_high(piece(link), link.width_bytes, i, highs.values[i]);
  }
  block.link = link.pack();
  ++pieces_;
}

void ExtensionArena::release(const ExtensionLink& link) {
  live_ -= link.units();
  if (link.offset_units + link.units() == used_) used_ -= link.units();
}

uint32_t ExtensionArena::allocate(Blocks blocks, uint32_t units) {
  if (capacity_ - used_ < units) slide(blocks);
  CHECK(capacity_ - used_ >= units);
  const uint32_t offset = used_;
  used_ += units;
  live_ += units;
  return offset;
}

// Moves all pieces down over the holes, in the order in which they lie: each goes to a place at or
// below its own, so none is overwritten before it was moved.
void ExtensionArena::slide(Blocks blocks) {
  constexpr uint32_t kBlockBits = 10;
  static_assert(kChunkBlocks == 1U << kBlockBits);
  std::array<uint32_t, kChunkBlocks> order;
  uint32_t count = 0;
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].link == 0) continue;
    order[count++] = ExtensionLink::unpack(blocks[i].link).offset_units << kBlockBits | i;
  }
  std::sort(order.begin(), order.begin() + count);
  used_ = 0;
  for (uint32_t i = 0; i < count; ++i) {
    SpectralBlock& block = blocks[order[i] & (kChunkBlocks - 1)];
    ExtensionLink link = ExtensionLink::unpack(block.link);
    const std::byte* const from = piece(link);
    link.offset_units = used_;
    std::memmove(piece(link), from, size_t{link.units()} * ExtensionLink::kUnitBytes);
    used_ += link.units();
    block.link = link.pack();
  }
  CHECK(used_ == live_);
}

bool ExtensionArena::resize(uint32_t capacity_units) {
  CHECK(capacity_units >= used_);
  if (capacity_units == 0) {
    memory_.reset();
  } else {
    const size_t bytes = size_t{capacity_units} * ExtensionLink::kUnitBytes;
    void* const moved = std::realloc(memory_.get(), bytes);
    if (moved == nullptr) {
      booked_ = capacity_;
      return false;
    }
    (void)memory_.release();
    memory_.reset(static_cast<std::byte*>(moved));
  }
  capacity_ = capacity_units;
  booked_ = capacity_units;
  return true;
}

bool ExtensionArena::copy_from(const ExtensionArena& other) {
  CHECK(used_ == 0);
  if (!resize(other.capacity_)) return false;
  used_ = other.used_;
  live_ = other.live_;
  pieces_ = other.pieces_;
  if (used_ != 0) {
    std::memcpy(memory_.get(), other.memory_.get(), size_t{used_} * ExtensionLink::kUnitBytes);
  }
  return true;
}

void ExtensionArena::trim(Blocks blocks) {
  unbook();
  const uint32_t enough = live_ == 0 ? 0 : capacity_class(with_slack(live_, blocks.size()));
  // Half as much again is kept, so that a count which goes up and down does not move the arena
  // each time.
  if (capacity_ <= enough + enough / 2) return;
  slide(blocks);
  (void)resize(enough);  // the old memory is as good, if larger
}

void ExtensionArena::compact(Blocks blocks) {
  for (SpectralBlock& block : blocks) {
    if (block.link == 0) continue;
    const ExtensionLink link = ExtensionLink::unpack(block.link);
    Highs highs;
    for (uint32_t i = 0; i < link.count; ++i) highs.add(high(block, i));
    if (ExtensionLink::width_for(highs.all_bits) < link.width_bytes) rewrite(blocks, block, highs);
  }
  slide(blocks);
  (void)resize(live_ == 0 ? 0 : capacity_class(live_));
}

}  // namespace iris::filters
