// The parameters of a spectral filter, valid by construction.
//
// Every way in (RESERVE, INCR and INSERT that create, INITBYDIM, LOADCHUNK, RESTORE, the log) makes
// its parameters here, so there is one set of checks, and nothing behind it has to doubt a number
// again. What is wrong is said as an enum; the texts that clients read are made in server/.
//
// A filter is a chain of layers. The first has the requested capacity, each next one `expansion`
// times that of the one before. A filter of fixed size has the whole rate for its one layer; the
// layers of one that grows share it, however long the chain gets:
//
//     layer i    max(0.5 * 0.36^i, 0.025 / 64) * e             i < kMaxSpectralLayers = 64
//
//     0.5 / (1 - 0.36) = 0.78, and 64 times the floor is 0.025: in all 0.81 of e. Without a floor
//     the rates of a long chain (expansion 1) would shrink beyond all use.
//
// The sum stays below e because the promise is for the items inside as well. Those that came later
// and looked known in an old layer were counted there, on top of the items that it was made for:
// the counts of the old are then wrong more often than the layer's rate says. With a sum of 0.97
// the share of wrong counts was measured at up to 1.25 of e, at 250 times the first capacity.
//
// Explicit dimensions (CF.INITBYDIM) are the textbook's filter: m counters, k hashes anywhere among
// them. Such a filter promises nothing, never fills and never grows. Where two of an item's k
// counters coincide they count once.
//
// Invariants
//   1. capacity in [max(1, 2 * bucket size), 2^40], rate in [1e-6, 0.25], expansion in [0, 32768],
//      bucket size in [1, 255], max iterations and max expansions in [1, 65535].
//   2. Bucket size and max iterations are notions of a cuckoo filter: kept for CF.INFO, no effect.
//   3. The first layer's geometry is computed and fits; whether its memory can be had is asked
//      beforehand with memory_bytes() and answered by the allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "filters/spectral_sizing.h"

namespace iris::filters {

inline constexpr uint32_t kMaxSpectralLayers = 64;
// Bounds the work of one operation, whatever a client or a file says.
inline constexpr uint32_t kMaxSpectralHashes = 256;
inline constexpr uint64_t kMaxSpectralCounters = uint64_t{1} << 46;

// The numbers are written to files: never change one.
enum class SpectralLayout : uint8_t {
  kBlocked = 1,  // an item's cells in one block
  kClassic = 2,  // an item's cells anywhere
};

// One layer's shape. From parameters, or from a file and then checked with valid().
struct SpectralGeometry {
  SpectralLayout layout = SpectralLayout::kBlocked;
  uint32_t hashes = 0;
  uint64_t cells = 0;     // blocked: 128 a block
  uint64_t capacity = 0;  // items; kUnlimited for explicit dimensions
  double rate = 0;        // promised at capacity; 0 for explicit dimensions

  static constexpr uint64_t kUnlimited = UINT64_MAX;

  bool valid() const;
  uint64_t blocks() const;
  uint64_t chunks() const;
  // Whether its numbers are worth a line for each thread.
  bool spreads() const;
  // What a layer of this shape takes while no counter has outgrown its digit.
  uint64_t memory_bytes() const;
  bool operator==(const SpectralGeometry&) const = default;
};

// In the order in which they are checked, which is the order of COMPAT.md.
enum class SpectralParamsError {
  kMaxIterationsOutOfRange,
  kBucketSizeOutOfRange,
  kExpansionOutOfRange,
  kCapacityOutOfRange,
  kRateOutOfRange,  // not in (0, 1), or nan
  kRateTooSmall,    // below kMinSpectralRate
  kMaxExpansionsOutOfRange,
  kCountersOutOfRange,  // explicit only
  kHashesOutOfRange,    // explicit only
  kTooLarge,            // the first layer has more blocks than any machine
};

// What a client asked for, parsed but not judged.
struct SpectralRequest {
  int64_t capacity = 1024;
  double rate = 0.01;     // above kMaxSpectralRate: capped
  int64_t expansion = 2;  // 0: fixed size
  SpectralPolicy policy = SpectralPolicy::kMinimumSelection;
  int64_t bucket_size = 2;
  int64_t max_iterations = 20;
  int64_t max_expansions = 32;
};

class SpectralParams {
 public:
  static constexpr int64_t kMaxExpansion = 32768;
  static constexpr int64_t kMaxBucketSize = 255;
  static constexpr int64_t kMaxIterations = 65535;
  static constexpr int64_t kMaxMaxExpansions = 65535;

  using Result = std::variant<SpectralParams, SpectralParamsError>;
  [[nodiscard]] static Result make(const SpectralRequest& request);
  [[nodiscard]] static Result make_explicit(
      int64_t counters, int64_t hashes, SpectralPolicy policy = SpectralPolicy::kMinimumSelection);

  const SpectralRequest& request() const { return request_; }  // as kept: rate capped
  SpectralPolicy policy() const { return request_.policy; }
  double rate() const { return request_.rate; }  // 0 for explicit dimensions
  uint32_t expansion() const { return static_cast<uint32_t>(request_.expansion); }
  bool scaling() const { return request_.expansion > 0; }
  bool explicit_dimensions() const { return first_.layout == SpectralLayout::kClassic; }
  // No more layers than this, the first one counted.
  uint32_t max_layers() const;

  const SpectralGeometry& first_layer() const { return first_; }
  // Layer number `index` behind `last`, for at least `min_capacity` items. Empty if the filter does
  // not scale, or if the layer would be larger than the limits.
  [[nodiscard]] std::optional<SpectralGeometry> next_layer(uint32_t index,
                                                           const SpectralGeometry& last,
                                                           uint64_t min_capacity) const;

  // All that a new filter with these parameters takes, its objects included.
  uint64_t memory_bytes() const;

 private:
  SpectralParams() = default;

  SpectralRequest request_;
  SpectralGeometry first_;
};

}  // namespace iris::filters
