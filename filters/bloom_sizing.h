// How many bits a Bloom layer needs, and how many hashes, so that its promise is kept: at full
// capacity the measured false-positive rate is at most the requested one.
//
// The textbook formula is right for one big array only. When an item's cells all lie in one block
// of B cells, blocks are not equally full: the items of a block are Poisson distributed, and the
// full blocks answer wrongly far more often than the empty ones make up for. So the rate is
// computed as what it is, a mixture over block loads:
//
//     rate(B, k, load) = sum over j of Poisson(j; load) * E[(X_j / B)^k]
//
// X_j is the number of set cells after j items, k throws each. Its spread matters too (B = 512 and
// k = 7: 1.3 % more false positives than its mean would say), hence the expectation, not the mean.
// For each k the largest load is found whose rate is small enough; the best k is the one with the
// fewest bits. Costs about 0.1 ms for a new rate; the last few are remembered a thread.
//
// Full means full by the filter's own count. Items that look known on the way are not counted, so
// slightly more than `capacity` distinct items were offered by then; the sizing allows for them.
//
// Few blocks: n items in N blocks are binomial, not Poisson. A binomial is narrower and the rate is
// convex in the load up to far beyond full capacity, so Poisson errs on the safe side; and N is
// rounded up.
//
// Classic layers follow RedisBloom's geometry bit for bit (its formula rounds k up, which at a
// requested 10 % really gives 10.26 %; that is the price of moving filters there and back).
//
// Invariants
//   1. Nothing overflows: capacities are at most kMaxCapacity, rates at least kMinLayerRate, and
//      what does not fit kMaxLayerBits is refused as a value.
//   2. bits is a positive multiple of the block (blocked, paged) or of 64 (classic).
#pragma once

#include <cstdint>
#include <optional>

namespace iris::filters {

// The numbers are written to files: never change one.
enum class BloomLayout : uint8_t {
  kBlocked = 1,   // blocks of 512 bits, one cache line
  kPaged = 2,     // blocks of 4096 bits, eight lines of one page
  kClassic = 3,   // one array, RedisBloom's hash and geometry
  kExplicit = 4,  // one array of a given length with a given number of hashes, Iris's hash
};

inline constexpr uint64_t kBlockedBits = 512;
inline constexpr uint64_t kPagedBits = 4096;

inline constexpr uint64_t kMaxCapacity = uint64_t{1} << 40;
inline constexpr uint64_t kMaxLayerBits = uint64_t{1} << 48;  // 32 TiB: no machine has it
inline constexpr double kMinLayerRate = 1e-15;
// Bounds the work of one lookup, whatever a client or a file says.
inline constexpr uint32_t kMaxHashes = 256;

struct LayerGeometry {
  uint64_t bits = 0;
  uint64_t capacity = 0;  // items; kUnlimited for explicit layers
  double rate = 0;        // promised at capacity; 0 for explicit layers, which promise nothing
  uint32_t hashes = 0;
  BloomLayout layout = BloomLayout::kBlocked;

  static constexpr uint64_t kUnlimited = UINT64_MAX;

  uint64_t cell_bytes() const { return bits / 8 + (bits % 8 != 0 ? 1 : 0); }
  bool operator==(const LayerGeometry&) const = default;
};

// Cells of one block; 0 for layouts of one array.
constexpr uint64_t block_bits(BloomLayout layout) {
  return layout == BloomLayout::kBlocked ? kBlockedBits
         : layout == BloomLayout::kPaged ? kPagedBits
                                         : 0;
}

// The true rate of a blocked layout with `load` items a block on average.
double blocked_rate(uint64_t cells_per_block, uint32_t hashes, double load);

// Empty if `capacity` or `rate` is out of range or the bits do not fit (invariant 1). Not for
// explicit layers, which are given and not sized.
[[nodiscard]] std::optional<LayerGeometry> size_layer(BloomLayout layout, uint64_t capacity,
                                                      double rate);

// RedisBloom's bits per entry, with its own rounding of the constants.
double classic_bits_per_entry(double rate);
uint32_t classic_hashes(double bits_per_entry);

}  // namespace iris::filters
