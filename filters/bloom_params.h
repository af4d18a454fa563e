// The parameters of a Bloom filter, valid by construction.
//
// Every way in (RESERVE, INSERT, INITBYDIM, LOADCHUNK, RESTORE, the log) makes its parameters here,
// so there is one set of checks, and nothing behind it has to doubt a number again. What is wrong
// is said as an enum; the texts that clients read are made in server/.
//
// A filter is a chain of layers. The first has the requested capacity, each next one `expansion`
// times as many. The rates of all layers must sum up to the request, however long the chain gets:
//
//     blocked, paged   0.64 e, then each 0.36 of the one before:  0.64 e / (1 - 0.36) = e
//     classic          0.50 e, then each 0.50 of the one before (RedisBloom's)
//     not scaling      the whole e, for its one layer
//
// Invariants
//   1. rate in [1e-12, 0.25], capacity in [1, 2^40], expansion in [0, 32768] and not 0 if scaling.
//   2. The first layer's geometry is computed and fits; whether its memory can be had is asked
//      beforehand with memory_bytes() and answered by the allocation.
//   3. Explicit parameters (INITBYDIM) never fill and never grow.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "filters/bloom_sizing.h"

namespace iris::filters {

// The numbers are written to files: never change one. kAuto chooses for each layer by its rate.
enum class LayoutChoice : uint8_t { kAuto = 0, kBlocked = 1, kPaged = 2, kClassic = 3 };

// In the order in which they are checked, which is the order of COMPAT.md.
enum class BloomParamsError {
  kRateOutOfRange,  // not in (0, 1), or nan
  kRateTooSmall,    // below kMinRate
  kCapacityOutOfRange,
  kExpansionOutOfRange,
  kNonscalingCannotExpand,
  kBitsOutOfRange,    // explicit only
  kHashesOutOfRange,  // explicit only
  kTooLarge,          // the first layer has more bits than any machine
};

// What a client asked for, parsed but not judged.
struct BloomRequest {
  double rate = 0.01;
  int64_t capacity = 100;
  std::optional<int64_t> expansion = std::nullopt;  // as given; 0 means nonscaling
  int64_t default_expansion = 2;                    // when none is given
  bool nonscaling = false;
  LayoutChoice layout = LayoutChoice::kAuto;
};

class BloomParams {
 public:
  static constexpr double kMinRate = 1e-12;
  static constexpr double kMaxRate = 0.25;  // more is accepted and capped, as RedisBloom does
  static constexpr int64_t kMaxExpansion = 32768;
  static constexpr uint64_t kMaxExplicitBits = uint64_t{1} << 46;

  [[nodiscard]] static std::variant<BloomParams, BloomParamsError> make(
      const BloomRequest& request);
  [[nodiscard]] static std::variant<BloomParams, BloomParamsError> make_explicit(int64_t bits,
                                                                                 int64_t hashes);

  double rate() const { return rate_; }  // 0 for explicit parameters: they promise nothing
  uint32_t expansion() const { return expansion_; }
  bool scaling() const { return scaling_; }
  bool explicit_dimensions() const { return first_.layout == BloomLayout::kExplicit; }
  bool classic() const { return first_.layout == BloomLayout::kClassic; }
  LayoutChoice layout() const { return layout_; }
  const LayerGeometry& first_layer() const { return first_; }

  // The layer after `last`, or nothing if the chain ends there: the filter does not scale, or the
  // next layer would be larger than the limits.
  [[nodiscard]] std::optional<LayerGeometry> next_layer(const LayerGeometry& last) const;

  // All that a new filter with these parameters takes, its objects included.
  uint64_t memory_bytes() const;

 private:
  BloomParams() = default;
  static std::optional<LayerGeometry> geometry_of(LayoutChoice layout, uint64_t capacity,
                                                  double rate);

  LayerGeometry first_;
  double rate_ = 0;
  uint32_t expansion_ = 0;
  bool scaling_ = false;
  LayoutChoice layout_ = LayoutChoice::kAuto;
};

}  // namespace iris::filters
