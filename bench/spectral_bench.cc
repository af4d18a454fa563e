// What an increment and a count cost: in the cache and far beyond it, one by one and in batches of
// 16 whose blocks are prefetched first, as the server does it. Beside them a Bloom filter's add, of
// the same capacity and rate: the measure that an increment is held against.
//
// Small: 10,000 items, 42 KB of blocks. Large: 100,000,000 items, 420 MB of blocks, each item in
// another one: a block costs a miss in every cache and in the TLB of small pages. Hashing the item
// is left out: it is the same for all.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <vector>

#include "filters/bloom_filter.h"
#include "filters/spectral_filter.h"

namespace iris::filters {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int64_t kSmall = 10000;
constexpr int64_t kLarge = 100000000;
constexpr size_t kBatch = 16;
// Items that the runs go through, again and again; enough to leave no block in a cache.
constexpr size_t kHashes = size_t{1} << 22;

StripeTable& stripes() {
  static StripeTable table;
  return table;
}

const std::vector<ItemHash>& hashes(int64_t items) {
  static std::vector<ItemHash> small, large;
  std::vector<ItemHash>& hashes = items == kSmall ? small : large;
  if (hashes.empty()) {
    std::mt19937_64 random(kSeed);
    const size_t count = items == kSmall ? static_cast<size_t>(kSmall) : kHashes;
    for (size_t i = 0; i < count; ++i) hashes.push_back({random(), random()});
  }
  return hashes;
}

// One filter of each kind and size for all runs, with its items inside.
SpectralFilter& spectral(int64_t items, SpectralPolicy policy) {
  static std::unique_ptr<SpectralFilter> filters[2][2];
  auto& filter = filters[items == kLarge ? 1 : 0][static_cast<size_t>(policy)];
  if (!filter) {
    const SpectralRequest request{
        .capacity = items, .rate = 0.01, .expansion = 0, .policy = policy};
    filter =
        SpectralFilter::create(std::get<SpectralParams>(SpectralParams::make(request)), 1, kSeed);
    for (const ItemHash& hash : hashes(items)) (void)filter->increment(hash, 1, stripes());
  }
  return *filter;
}

BloomFilter& bloom(int64_t items) {
  static std::unique_ptr<BloomFilter> small, large;
  auto& filter = items == kSmall ? small : large;
  if (!filter) {
    const BloomRequest request{.rate = 0.01, .capacity = items, .nonscaling = true};
    filter = BloomFilter::create(std::get<BloomParams>(BloomParams::make(request)), 2, kSeed);
  }
  return *filter;
}

// Runs `operation` on all hashes in turn, in batches; `prefetch` first for each of a batch.
template <typename Prefetch, typename Operation>
void run(benchmark::State& state, int64_t items, Prefetch&& prefetch, Operation&& operation) {
  const std::vector<ItemHash>& all = hashes(items);
  size_t next = 0;
  for (auto _ : state) {
    if (next + kBatch > all.size()) next = 0;
    for (size_t i = 0; i < kBatch; ++i) prefetch(all[next + i]);
    for (size_t i = 0; i < kBatch; ++i) benchmark::DoNotOptimize(operation(all[next + i]));
    next += kBatch;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatch));
}

// Counts that only grow. In the small filter all of them soon pass their digits: the price of a hot
// item. In the large one they stay small.
template <SpectralPolicy kPolicy>
void increment(benchmark::State& state) {
  SpectralFilter& filter = spectral(state.range(0), kPolicy);
  const bool prefetched = state.range(1) != 0;
  run(
      state, state.range(0),
      [&](const ItemHash& hash) {
        if (prefetched) filter.prefetch(hash);
      },
      [&](const ItemHash& hash) { return filter.increment(hash, 1, stripes()).count; });
}

// Uniform choice among as many items as the filter was made for, until each was counted so often on
// average: between digits and extensions, where most blocks have some of both.
void increment_at_mean(benchmark::State& state) {
  constexpr int64_t kItems = 10000000;
  static const auto filter = SpectralFilter::create(
      std::get<SpectralParams>(SpectralParams::make({.capacity = kItems, .expansion = 0})), 1,
      kSeed);
  static std::mt19937_64 random(kSeed);
  static int64_t increments = 0;
  std::vector<ItemHash> chosen(kHashes);
  const auto choose = [&] {
    for (ItemHash& hash : chosen) {
      const uint64_t item = random() % kItems;
      hash = hash_item({reinterpret_cast<const char*>(&item), sizeof item}, kSeed);
    }
  };
  size_t next = 0;
  const auto run_batch = [&] {
    if (next + kBatch > chosen.size()) next = 0;
    for (size_t i = 0; i < kBatch; ++i) filter->prefetch(chosen[next + i]);
    for (size_t i = 0; i < kBatch; ++i) {
      benchmark::DoNotOptimize(filter->increment(chosen[next + i], 1, stripes()));
    }
    next += kBatch;
    increments += kBatch;
  };
  while (increments < state.range(0) * kItems) {
    if (next % chosen.size() == 0) choose();
    run_batch();
  }
  choose();
  while (state.KeepRunning()) run_batch();
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatch));
}

void count(benchmark::State& state) {
  SpectralFilter& filter = spectral(state.range(0), SpectralPolicy::kMinimumSelection);
  const bool prefetched = state.range(1) != 0;
  run(
      state, state.range(0),
      [&](const ItemHash& hash) {
        if (prefetched) filter.prefetch(hash);
      },
      [&](const ItemHash& hash) { return filter.count(hash, stripes()); });
}

// Adds and takes away again, so that counts stay small however long it runs.
void increment_and_decrement(benchmark::State& state) {
  SpectralFilter& filter = spectral(state.range(0), SpectralPolicy::kMinimumSelection);
  const bool prefetched = state.range(1) != 0;
  run(
      state, state.range(0),
      [&](const ItemHash& hash) {
        if (prefetched) filter.prefetch(hash);
      },
      [&](const ItemHash& hash) {
        (void)filter.increment(hash, 1, stripes());
        return filter.decrement(hash, 1, stripes()).count;
      });
}

void bloom_add(benchmark::State& state) {
  BloomFilter& filter = bloom(state.range(0));
  const bool prefetched = state.range(1) != 0;
  run(
      state, state.range(0),
      [&](const ItemHash& hash) {
        if (prefetched) filter.prefetch(hash);
      },
      [&](const ItemHash& hash) { return filter.add(hash, stripes()); });
}

#define SIZES                       \
  ArgNames({"items", "prefetched"}) \
      ->Args({kSmall, 0})           \
      ->Args({kSmall, 1})           \
      ->Args({kLarge, 0})           \
      ->Args({kLarge, 1})

BENCHMARK(bloom_add)->SIZES;
BENCHMARK(count)->SIZES;
BENCHMARK(increment_and_decrement)->SIZES;
BENCHMARK(increment<SpectralPolicy::kMinimumSelection>)->SIZES;
BENCHMARK(increment<SpectralPolicy::kMinimalIncrease>)->SIZES;
// So few that the mean stays what it is.
BENCHMARK(increment_at_mean)->Arg(0)->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Iterations(1 << 17);

}  // namespace
}  // namespace iris::filters

BENCHMARK_MAIN();
