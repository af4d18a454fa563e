#include "filters/spectral_inline.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "filters/check.h"
#include "filters/spectral_extension.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace iris::filters {
namespace {

// The high parts of a block as bytes by rank: eight in one word, four in the other.
struct HighBytes {
  uint64_t low;
  uint64_t high;
};

constexpr uint64_t kEachByte = 0x0101010101010101;
constexpr uint64_t kWholeByte = 0xff;

HighBytes load_highs(const SpectralBlock& block) {
  HighBytes bytes{0, 0};
  static_assert(kInlineBytes == 12);
  std::memcpy(&bytes.low, block.highs.data(), 8);
  std::memcpy(&bytes.high, block.highs.data() + 8, 4);
  return bytes;
}

// Whether a byte of `word` that `ones` selects by a 1 is 255.
bool any_at_limit(uint64_t word, uint64_t ones) {
  const uint64_t rest = ~word | ~(ones * kWholeByte);  // 0 in such a byte
  return ((rest - kEachByte) & ~rest & (kEachByte << 7)) != 0;
}

uint64_t least_of(const HighBytes& bytes, uint64_t ranks) {
  uint64_t least = kWholeByte;
  for (; ranks != 0; ranks &= ranks - 1) {
    const auto rank = static_cast<uint32_t>(std::countr_zero(ranks));
    const uint64_t word = rank < 8 ? bytes.low : bytes.high;
    least = std::min(least, word >> (rank % 8 * 8) & kWholeByte);
  }
  return least;
}

// The bits of `set` that `cells` selects, gathered.
[[gnu::target("bmi2,popcnt")]] uint64_t gathered(const CellSet& set, const CellSet& cells) {
  const uint64_t low = _pext_u64(set.words[0], cells.words[0]);
  const uint64_t high = _pext_u64(set.words[1], cells.words[1]);
  return low | high << __builtin_popcountll(cells.words[0]);
}

[[gnu::target("bmi2,popcnt")]] uint32_t size_of(const CellSet& cells) {
  return static_cast<uint32_t>(__builtin_popcountll(cells.words[0]) +
                               __builtin_popcountll(cells.words[1]));
}

// The bytes moved up to their new places: those whose bit is set in `ranks`.
[[gnu::target("bmi2,popcnt")]] HighBytes moved(const HighBytes& bytes, uint64_t ranks) {
  const uint64_t low_places = _pdep_u64(ranks, kEachByte) * kWholeByte;
  const uint64_t high_places = _pdep_u64(ranks >> 8, kEachByte) * kWholeByte;
  // What finds no place among the first eight goes on to the others, before theirs.
  const auto kept = static_cast<uint32_t>(__builtin_popcountll(ranks & kWholeByte)) * 8;
  const uint64_t from_low = kept == 64 ? 0 : bytes.low >> kept;
  const uint64_t rest = kept == 0 ? bytes.low : from_low | bytes.high << (64 - kept);
  return {_pdep_u64(bytes.low, low_places), _pdep_u64(rest, high_places)};
}

}  // namespace

bool can_increment_inline() {
  __builtin_cpu_init();  // it may be asked before main()
  return __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("popcnt") != 0 &&
         __builtin_cpu_is("amdfam15h") == 0 && __builtin_cpu_is("amdfam17h") == 0;
}

[[gnu::target("bmi2,popcnt"), gnu::flatten]] bool increment_inline(const SpectralBlock& block,
                                                                   const CellSet& cells,
                                                                   InlineIncrement& result) {
  BlockDigits& digits = result.digits;
  digits = BlockDigits::load(block);
  const CellSet full = digits.full();
  const CellSet rest = cells - full;
  const CellSet filled = digits.nearly_full(rest);
  ExtensionLink link = ExtensionLink::unpack(block.link);
  if (link.width_bytes != 1 || link.count + size_of(filled) > kInlineBytes) return false;

  const uint64_t raised = gathered(cells, full);
  HighBytes highs = load_highs(block);
  const uint64_t low_ones = _pdep_u64(raised, kEachByte);
  const uint64_t high_ones = _pdep_u64(raised >> 8, kEachByte);
  if (any_at_limit(highs.low, low_ones) || any_at_limit(highs.high, high_ones)) return false;

  const BlockDigits::Minimum minimum = digits.minimum(cells);
  result.before = rest.empty() ? kDigitMax + least_of(highs, raised) : minimum.digit;
  result.after = result.before + 1;
  result.nonzero_change = minimum.digit == 0 ? size_of(minimum.cells) : 0;
  digits.increment(rest);

  highs.low += low_ones;
  highs.high += high_ones;
  highs = moved(highs, gathered(full, full | filled));
  std::memcpy(result.highs.data(), &highs.low, 8);
  std::memcpy(result.highs.data() + 8, &highs.high, 4);
  link.count += size_of(filled);
  result.link = link.pack();
  return true;
}

}  // namespace iris::filters

#else

namespace iris::filters {

bool can_increment_inline() {
  return false;
}

bool increment_inline(const SpectralBlock&, const CellSet&, InlineIncrement&) {
  CHECK(false);
  return false;
}

}  // namespace iris::filters

#endif
