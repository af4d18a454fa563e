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

bool keeps(uint64_t capacity, uint64_t blocks, uint32_t hashes, double rate) {
  return spectral_rate(static_cast<double>(capacity), blocks, hashes) <= rate;
}

// The fewest blocks that keep `rate`, starting from a guess: bracket it, then halve the bracket.
uint64_t fewest_blocks(uint64_t capacity, uint32_t hashes, double rate, uint64_t guess) {
  uint64_t low = 0;  // keeps nothing
  uint64_t high = std::max<uint64_t>(guess, 1);
  while (high <= kMaxSpectralBlocks && !keeps(capacity, high, hashes, rate)) {
    low = high;
    high += std::max(high / 4, kMinStep);
  }
  // A ten thousandth more blocks than needed is not worth another step.
  while (high - low > 1 + high / 16384) {
    const uint64_t middle = low + (high - low) / 2;
    (keeps(capacity, middle, hashes, rate) ? high : low) = middle;
  }
  return high;
}

// What the textbook would take, as a first guess: 1.44 log2(1/rate) cells an item.
uint64_t textbook_blocks(uint64_t capacity, double rate) {
  const double cells = 1.44 * std::log2(1 / rate) * static_cast<double>(capacity);
  return static_cast<uint64_t>(cells / kBlockCells);
}

SpectralSize search(uint64_t capacity, double rate, double worth) {
  // The best k lies at or below the textbook's log2(1/rate): crowded blocks want fewer cells set.
  const auto most = static_cast<uint32_t>(std::ceil(std::log2(1 / rate)));
  SpectralSize best{0, std::clamp(most, 1U, kMaxBlockHashes)};
  best.blocks = fewest_blocks(capacity, best.hashes, rate, textbook_blocks(capacity, rate));
  uint64_t fewest = best.blocks;
  while (best.hashes > 1) {
    const uint32_t hashes = best.hashes - 1;
    const uint64_t guess = static_cast<uint64_t>(static_cast<double>(fewest) * 0.95);
    const uint64_t blocks = fewest_blocks(capacity, hashes, rate, guess);
    fewest = std::min(fewest, blocks);
    if (static_cast<double>(blocks) > worth * static_cast<double>(fewest)) break;
    best = {blocks, hashes};
  }
  return best;
}

}  // namespace

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
  // Filters are mostly made with the same few parameters, and a search costs 50 microseconds.
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
                                ? search(capacity, rate * kMinimalIncreaseShare, 1)
                                : search(capacity, rate, kWorthFewerCells);
  if (size.blocks > kMaxSpectralBlocks) return std::nullopt;
  memo[next++ % memo.size()] = {capacity, rate, policy, size};
  return size;
}

}  // namespace iris::filters
