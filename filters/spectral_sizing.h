// How many blocks a spectral layer needs, and how many cells an item, so that its promise is kept:
// at full capacity an absent item has a count above 0 with at most the requested probability. A
// present item's count is too high with at most that probability too: it takes the same accident.
//
// An item takes k distinct cells of one block of B = 128. The chance that k given cells are all
// covered by n items which fell on N blocks follows by inclusion and exclusion, in closed form:
//
//     rate(n, N, k) = sum over j = 0..k of (-1)^j C(k, j) (1 - (1 - q_j) / N)^n
//
//     q_j = C(B-j, k) / C(B, k)     the chance that one item in the block misses j given cells
//
// It is exact: the binomial spread of the block loads is in it, one block or a million. The terms
// cancel, and long double (64 bits of mantissa or more) keeps the absolute error below 1e-14 for
// all k here, which is why rates far below kMinSpectralRate are not offered. They would not be
// worth having either: one in a million costs 37 bytes an item, 1 % costs 5.4.
//
// A layer is full when it counts `capacity` items, and an item that looks known when it comes is
// not counted, though its cells were covered by chance like any other's. So by then more than
// `capacity` items have come, n = capacity / (1 - mean rate while it filled): at 10 % about 3 %
// more. The promise holds for them all.
//
// The best k is not the one with the fewest blocks, and depends on the policy:
//
//   MS   the smallest k that needs at most 2 % more blocks than the best: fewer cells an item are
//        fewer counters that outgrow their digits, which saves more than the blocks cost (at 1 %
//        and Zipf 1.0: k = 5 takes 5.96 MB for a million items, k = 6 takes 6.27).
//   MI   who chooses it wants counts to be right, and its counters outgrow their digits less. The
//        best k, and blocks for 0.85 of the rate: 2.7 % more, and at 1 % and Zipf 1.0 a seventh
//        fewer counts are wrong.
//
// Invariants
//   1. Nothing overflows: capacity <= kMaxSpectralCapacity, rate >= kMinSpectralLayerRate.
//   2. spectral_rate(items_when_full(...), blocks, hashes) <= rate for what size_spectral_layer()
//      returns.
#pragma once

#include <cstdint>
#include <optional>

namespace iris::filters {

inline constexpr uint64_t kMaxSpectralCapacity = uint64_t{1} << 40;
inline constexpr uint64_t kMaxSpectralBlocks = uint64_t{1} << 40;  // 64 TiB: no machine has it
inline constexpr double kMinSpectralRate = 1e-6;
inline constexpr double kMaxSpectralRate = 0.25;
inline constexpr double kMinSpectralLayerRate = 1e-10;

// The numbers are written to files: never change one.
enum class SpectralPolicy : uint8_t {
  kMinimumSelection = 0,  // MS: all cells of an item count; decrements are possible
  kMinimalIncrease = 1,   // MI: only the smallest do; smaller errors, no decrements
};

struct SpectralSize {
  uint64_t blocks = 0;
  uint32_t hashes = 0;
};

// The probability above for `items` items.
double spectral_rate(double items, uint64_t blocks, uint32_t hashes);

// How many items have come on average when `capacity` of them were counted.
double items_when_full(uint64_t capacity, const SpectralSize& size);

// Empty if `capacity` or `rate` is out of range or the blocks are more than any machine has.
[[nodiscard]] std::optional<SpectralSize> size_spectral_layer(uint64_t capacity, double rate,
                                                              SpectralPolicy policy);

}  // namespace iris::filters
