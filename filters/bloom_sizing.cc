#include "filters/bloom_sizing.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace iris::filters {
namespace {

// Terms of the mixture below this share of the whole are left out.
constexpr double kNegligible = 1e-9;
// The search ends when the load is known to this share: a ten thousandth of a bit an item.
constexpr double kLoadPrecision = 1e-6;

double integer_power(double base, uint32_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

// E[(X/B)^k] for one block load. unset = P(a cell is still unset), both_unset = P(two given cells
// are). X is close to normal, and for a normal X the expectation is the power of the mean times
// exp(k(k-1)/2 * variance / mean^2), up to terms that do not matter here.
double rate_of_load(double cells, uint32_t hashes, double unset, double both_unset) {
  const double mean = 1 - unset;
  if (mean <= 0) return 0;
  const double variance = (1 - 1 / cells) * both_unset + unset / cells - unset * unset;
  const double pairs = 0.5 * hashes * (hashes - 1.0);
  const double spread = std::exp(pairs * std::max(variance, 0.0) / (mean * mean));
  return std::min(1.0, integer_power(mean, hashes) * spread);
}

struct BitsPerItem {
  double bits;
  uint32_t hashes;
};

// The largest load that keeps `rate` with `hashes`, by the secant method on logarithms (the rate is
// nearly a power of the load), kept inside a bracket so that it cannot run away.
double largest_load(uint64_t cells, uint32_t hashes, double rate, double guess) {
  double low = std::log(1e-9);                         // an empty filter keeps any promise
  double high = std::log(static_cast<double>(cells));  // a bit an item keeps none worth asking
  double x = std::clamp(std::log(guess), low, high);
  double slope = hashes;
  double last_x = 0, last_y = 0;
  const double target = std::log(rate);
  for (int step = 0; step < 60 && high - low > kLoadPrecision; ++step) {
    const double y = std::log(std::max(blocked_rate(cells, hashes, std::exp(x)), 1e-300)) - target;
    (y <= 0 ? low : high) = x;
    if (step > 0 && x != last_x && y != last_y) slope = (y - last_y) / (x - last_x);
    last_x = x;
    last_y = y;
    if (y <= 0 && y > -kLoadPrecision) break;
    // Aim a little below the target: the answer must keep the promise, not miss it by a hair.
    double next = x - (y + kLoadPrecision / 2) / slope;
    if (!(next > low && next < high)) next = (low + high) / 2;
    x = next;
  }
  return std::exp(low);
}

// A filter counts the items that were new to it. Those that looked known on the way set no bits and
// are not counted, so when `capacity` items are counted a few more were offered, and the bits are
// those of all that were offered. Their share is the mean rate on the way to the full load (by
// Gauss-Legendre quadrature; the rate is smooth). It matters at 10 %: 2.5 % more bits. A tenth of a
// percent is let go: at 1 % that moves the rate by 0.4 % of itself, which nobody can measure.
double share_counted(uint64_t cells, uint32_t hashes, double load) {
  constexpr double kLetGo = 0.001;
  constexpr std::array<double, 5> kNodes = {0.0469100770, 0.2307653449, 0.5, 0.7692346551,
                                            0.9530899230};
  constexpr std::array<double, 5> kWeights = {0.1184634425, 0.2393143352, 0.2844444444,
                                              0.2393143352, 0.1184634425};
  double looked_known = 0;
  for (size_t i = 0; i < kNodes.size(); ++i) {
    looked_known += kWeights[i] * blocked_rate(cells, hashes, load * kNodes[i]);
  }
  return 1 - std::max(0.0, looked_known - kLetGo);
}

BitsPerItem search_bits_per_item(uint64_t cells, double rate) {
  const double textbook = classic_bits_per_entry(rate);
  auto hashes = static_cast<uint32_t>(std::max(1.0, std::round(std::log2(1 / rate))));
  double best = largest_load(cells, hashes, rate, static_cast<double>(cells) / textbook / 1.05);
  // The best k of a blocked layout is at or below the textbook's: full blocks want fewer bits set.
  while (hashes > 1) {
    const double fewer = largest_load(cells, hashes - 1, rate, best);
    if (fewer < best) break;
    best = fewer;
    --hashes;
  }
  return {static_cast<double>(cells) / (best * share_counted(cells, hashes, best)), hashes};
}

// A million filters are often reserved with the same few rates.
BitsPerItem bits_per_item(uint64_t cells, double rate) {
  struct Entry {
    uint64_t cells = 0;
    double rate = 0;
    BitsPerItem found{};
  };
  thread_local std::array<Entry, 16> memo;
  thread_local size_t next = 0;
  for (const Entry& entry : memo) {
    if (entry.cells == cells && entry.rate == rate) return entry.found;
  }
  const BitsPerItem found = search_bits_per_item(cells, rate);
  memo[next++ % memo.size()] = {cells, rate, found};
  return found;
}

uint64_t blocked_layer_bits(uint64_t cells, uint64_t capacity, double bits) {
  const double blocks =
      std::ceil(static_cast<double>(capacity) * bits / static_cast<double>(cells));
  // Rates are at least 1e-15, so bits an item stay below a few hundred: 2^40 of them fit a double
  // and a uint64_t with room to spare.
  return static_cast<uint64_t>(std::max(blocks, 1.0)) * cells;
}

uint64_t classic_layer_bits(uint64_t capacity, double bits_per_entry) {
  auto bits = static_cast<uint64_t>(static_cast<double>(capacity) * bits_per_entry);
  bits = std::max<uint64_t>(bits, 1);
  return (bits + 63) / 64 * 64;
}

}  // namespace

double classic_bits_per_entry(double rate) {
  constexpr double kLn2Squared = 0.480453013918201;  // RedisBloom's digits
  return std::fabs(std::log(rate) / kLn2Squared);
}

uint32_t classic_hashes(double bits_per_entry) {
  constexpr double kLn2 = 0.693147180559945;  // RedisBloom's digits
  return static_cast<uint32_t>(std::clamp(std::ceil(kLn2 * bits_per_entry), 1.0, 1e6));
}

double blocked_rate(uint64_t cells_per_block, uint32_t hashes, double load) {
  const auto cells = static_cast<double>(cells_per_block);
  const double unset_step = std::pow(1 - 1 / cells, hashes);
  const double both_step = std::pow(1 - 2 / cells, hashes);
  const double mode = std::floor(load);
  const double unset_mode = std::pow(unset_step, mode);
  const double both_mode = std::pow(both_step, mode);

  // Weights relative to the mode's, normalised at the end: no factorials needed.
  double weights = 0, sum = 0;
  double unset = unset_mode, both = both_mode, weight = 1;
  const auto first = static_cast<uint64_t>(mode);
  for (uint64_t j = first;; ++j) {
    weights += weight;
    sum += weight * rate_of_load(cells, hashes, unset, both);
    // A full block's rate is up to 1, so what is left of the tail counts with that.
    if (weight < kNegligible * sum || weight < 1e-30) break;
    weight *= load / static_cast<double>(j + 1);
    unset *= unset_step;
    both *= both_step;
  }
  unset = unset_mode, both = both_mode, weight = 1;
  for (uint64_t j = first; j >= 1; --j) {
    weight *= static_cast<double>(j) / load;
    unset /= unset_step;
    both /= both_step;
    weights += weight;
    if (j == 1) break;  // an empty block refuses all; its mean of 0 would not survive the division
    sum += weight * rate_of_load(cells, hashes, unset, both);
    if (weight < kNegligible) break;
  }
  return sum / weights;
}

std::optional<LayerGeometry> size_layer(BloomLayout layout, uint64_t capacity, double rate) {
  if (capacity < 1 || capacity > kMaxCapacity) return std::nullopt;
  if (!(rate >= kMinLayerRate && rate < 1)) return std::nullopt;
  LayerGeometry geometry{.capacity = capacity, .rate = rate, .layout = layout};
  if (const uint64_t cells = block_bits(layout); cells != 0) {
    const BitsPerItem found = bits_per_item(cells, rate);
    geometry.hashes = found.hashes;
    geometry.bits = blocked_layer_bits(cells, capacity, found.bits);
  } else if (layout == BloomLayout::kClassic) {
    const double bits_per_entry = classic_bits_per_entry(rate);
    geometry.hashes = classic_hashes(bits_per_entry);
    geometry.bits = classic_layer_bits(capacity, bits_per_entry);
  } else {
    return std::nullopt;
  }
  if (geometry.bits > kMaxLayerBits || geometry.hashes > kMaxHashes) return std::nullopt;
  return geometry;
}

}  // namespace iris::filters
