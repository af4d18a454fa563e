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
// an eighth of the pieces, since they are moved, and a unit for 32 blocks, since all links are
// read.
uint32_t with_slack(uint32_t live_units, size_t block_count) {
  return live_units + live_units / 8 + static_cast<uint32_t>(block_count / 32);
}
// Offsets must fit their bits however full a chunk gets, slack and rounding included.
static_assert(uint64_t{kChunkBlocks} * ExtensionLink::kMaxUnits * 3 / 2 < (1U << 20));

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

// Each copy has a fixed size, and so is one instruction.
uint64_t ExtensionArena::wide_high(const std::byte* highs, const ExtensionLink& link,
                                   uint32_t rank) {
  const std::byte* const place = highs + size_t{rank} * link.width_bytes;
  uint64_t high = 0;
  if (link.width_bytes == 2) {
    std::memcpy(&high, place, 2);
  } else if (link.width_bytes == 4) {
    std::memcpy(&high, place, 4);
  } else {
    std::memcpy(&high, place, 8);
  }
  return high;
}

void ExtensionArena::set_wide_high(std::byte* highs, const ExtensionLink& link, uint32_t rank,
                                   uint64_t high) {
  std::byte* const place = highs + size_t{rank} * link.width_bytes;
  if (link.width_bytes == 2) {
    std::memcpy(place, &high, 2);
  } else if (link.width_bytes == 4) {
    std::memcpy(place, &high, 4);
  } else {
    std::memcpy(place, &high, 8);
  }
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
  if (link.count == 0) ++extended_blocks_;
  ExtensionLink larger = link;
  larger.count += filled.size();
  if (larger.units() > link.units()) larger.offset_units = move(blocks, block, larger);
  std::byte* const highs = piece(block, larger);
  const size_t width = link.width_bytes;
  filled.for_each([&](uint32_t cell) {
    std::byte* const place = highs + after.rank(cell) * width;
    std::memmove(place + width, place, static_cast<size_t>(highs + link.bytes() - place));
    std::memset(place, 0, width);
    ++link.count;
  });
  block.link = larger.pack();
}

// Takes the block's high parts to a place in the arena for `larger`, and returns the place.
uint32_t ExtensionArena::move(Blocks blocks, SpectralBlock& block, const ExtensionLink& larger) {
  const ExtensionLink link = ExtensionLink::unpack(block.link);
  std::array<std::byte, kBlockCells * sizeof(uint64_t)> highs;
  std::memcpy(highs.data(), piece(block, link), link.bytes());
  release(link);
  block.link = 0;  // so that a slide does not move what was released
  ExtensionLink moved = larger;
  moved.offset_units = allocate(blocks, larger.units());
  std::memcpy(piece(block, moved), highs.data(), link.bytes());
  return moved.offset_units;
}

void ExtensionArena::rewrite(Blocks blocks, SpectralBlock& block, const Highs& highs) {
  release(ExtensionLink::unpack(block.link));
  if (block.link != 0) --extended_blocks_;
  block.link = 0;  // so that a slide does not move what was released
  if (highs.count == 0) return;
  ExtensionLink link{0, ExtensionLink::width_for(highs.all_bits), highs.count};
  if (link.units() != 0) link.offset_units = allocate(blocks, link.units());
  block.link = link.pack();
  for (uint32_t i = 0; i < highs.count; ++i) set_high(block, i, highs.values[i]);
  ++extended_blocks_;
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
    const ExtensionLink link = ExtensionLink::unpack(blocks[i].link);
    if (link.units() != 0) order[count++] = link.offset_units << kBlockBits | i;
  }
  std::sort(order.begin(), order.begin() + count);
  used_ = 0;
  for (uint32_t i = 0; i < count; ++i) {
    SpectralBlock& block = blocks[order[i] & (kChunkBlocks - 1)];
    ExtensionLink link = ExtensionLink::unpack(block.link);
    const std::byte* const from = piece(block, link);
    link.offset_units = used_;
    std::memmove(piece(block, link), from, link.bytes());
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
  extended_blocks_ = other.extended_blocks_;
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
