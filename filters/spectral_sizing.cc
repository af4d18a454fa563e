#include "filters/spectral_sizing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "filters/spectral_block.h"

namespace iris::filters {
namespace {

// How much more than the fewest blocks a smaller k may take.
constexpr double kWorthFewerCells = 1.02;
// What policy MI is sized for, as a share of the promised rate.
constexpr double kMinimalIncreaseShare = 0.85;
// The search for the number of blocks starts with steps of this factor, then halves.
constexpr uint64_t kMinStep = 2;

bool keeps(double items, uint64_t blocks, uint32_t hashes, double rate) {
  return spectral_rate(items, blocks, hashes) <= rate;
}

// The fewest blocks that keep `rate`, starting from a guess: bracket it, then halve the bracket.
uint64_t fewest_blocks(double items, uint32_t hashes, double rate, uint64_t guess) {
  uint64_t low = 0;  // keeps nothing
  uint64_t high = std::max<uint64_t>(guess, 1);
  while (high <= kMaxSpectralBlocks && !keeps(items, high, hashes, rate)) {
    low = high;
    high += std::max(high / 4, kMinStep);
  }
  // A ten thousandth more blocks than needed is not worth another step.
  while (high - low > 1 + high / 16384) {
    const uint64_t middle = low + (high - low) / 2;
    (keeps(items, middle, hashes, rate) ? high : low) = middle;
  }
  return high;
}

// What the textbook would take, as a first guess: 1.44 log2(1/rate) cells an item.
uint64_t textbook_blocks(double items, double rate) {
  return static_cast<uint64_t>(1.44 * std::log2(1 / rate) * items / kBlockCells);
}

SpectralSize search(double items, double rate, double worth) {
  // The best k lies at or below the textbook's log2(1/rate): crowded blocks want fewer cells set.
  const auto most = static_cast<uint32_t>(std::ceil(std::log2(1 / rate)));
  SpectralSize best{0, std::clamp(most, 1U, kMaxBlockHashes)};
  best.blocks = fewest_blocks(items, best.hashes, rate, textbook_blocks(items, rate));
  uint64_t fewest = best.blocks;
  while (best.hashes > 1) {
    const uint32_t hashes = best.hashes - 1;
    const uint64_t guess = static_cast<uint64_t>(static_cast<double>(fewest) * 0.95);
    const uint64_t blocks = fewest_blocks(items, hashes, rate, guess);
    fewest = std::min(fewest, blocks);
    if (static_cast<double>(blocks) > worth * static_cast<double>(fewest)) break;
    best = {blocks, hashes};
  }
  return best;
}

// The size for `capacity` counted items: sized for as many, then for those that will have come.
SpectralSize search_counted(uint64_t capacity, double rate, double worth) {
  SpectralSize size = search(static_cast<double>(capacity), rate, worth);
  for (int round = 0; round < 2; ++round) {
    size = search(items_when_full(capacity, size), rate, worth);
  }
  // Another size, another number: what is left to do is little, and upwards.
  while (!keeps(items_when_full(capacity, size), size.blocks, size.hashes, rate)) {
    size.blocks += 1 + size.blocks / 1024;
  }
  return size;
}

}  // namespace

double items_when_full(uint64_t capacity, const SpectralSize& size) {
  // Gauss-Legendre with four points on (0, 1): exact for the powers that matter here.
  constexpr std::array<double, 4> kAt = {0.0694318442, 0.3300094782, 0.6699905218, 0.9305681558};
  constexpr std::array<double, 4> kWeight = {0.1739274226, 0.3260725774, 0.3260725774,
                                             0.1739274226};
  const auto counted = static_cast<double>(capacity);
  double items = counted;
  for (int round = 0; round < 3; ++round) {
    double mean = 0;
    for (size_t i = 0; i < kAt.size(); ++i) {
      mean += kWeight[i] * spectral_rate(items * kAt[i], size.blocks, size.hashes);
    }
    items = counted / (1 - std::min(mean, 0.5));
  }
  return items;
}

double spectral_rate(double items, uint64_t blocks, uint32_t hashes) {
  const auto per_block = 1 / static_cast<long double>(blocks);
  long double sum = 0;
  long double choose = 1;  // C(k, j)
  long double miss = 1;    // q_j
  for (uint32_t j = 0; j <= hashes; ++j) {
    const long double hit = (1 - miss) * per_block;
    const long double term =
        hit < 1 ? choose * std::exp(static_cast<long double>(items) * std::log1p(-hit)) : 0;
    sum += j % 2 == 0 ? term : -term;
    choose = choose * static_cast<long double>(hashes - j) / static_cast<long double>(j + 1);
    miss = miss * static_cast<long double>(kBlockCells - hashes - j) /
           static_cast<long double>(kBlockCells - j);
  }
  return static_cast<double>(std::clamp(sum, 0.0L, 1.0L));
}

std::optional<SpectralSize> size_spectral_layer(uint64_t capacity, double rate,
                                                SpectralPolicy policy) {
  if (capacity < 1 || capacity > kMaxSpectralCapacity) return std::nullopt;
  if (!(rate >= kMinSpectralLayerRate && rate < 1)) return std::nullopt;
  // Filters are mostly made with the same few parameters, and a search costs 100 microseconds.
  struct Entry {
    uint64_t capacity = 0;
    double rate = 0;
    SpectralPolicy policy{};
    SpectralSize size;
  };
  thread_local std::array<Entry, 16> memo;
  thread_local size_t next = 0;
  for (const Entry& entry : memo) {
    if (entry.capacity == capacity && entry.rate == rate && entry.policy == policy)
      return entry.size;
  }
  const SpectralSize size = policy == SpectralPolicy::kMinimalIncrease
                                ? search_counted(capacity, rate * kMinimalIncreaseShare, 1)
                                : search_counted(capacity, rate, kWorthFewerCells);
  if (size.blocks > kMaxSpectralBlocks) return std::nullopt;
  memo[next++ % memo.size()] = {capacity, rate, policy, size};
  return size;
}

}  // namespace iris::filters
