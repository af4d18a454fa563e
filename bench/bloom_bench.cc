// Bloom filters, one row a layout and operation:
//
//     lookup of absent and of present items, and add; one by one, and in batches of 16 whose cells
//     are fetched before the first is used; in cache (1e5 items), far beyond it (1e8 items, 124
//     MB) and beyond the reach of the TLB as well (1e9 items, 1.2 GB)
//
// Each row carries bits an item and the measured rate of false positives, so that nobody compares a
// fast filter with an exact one. Times include the hash of a 16-byte item. The processor overlaps
// what it can in "single" too: a server that reads and answers command by command would fare worse.
//
// The filter of 1e9 items is not filled by a billion adds: its cells get random bits up to the fill
// that a full one has (one half, so its rate is 2^-k), and then 4e6 real items. Lookups take the
// same time.
//
//     bloom_bench --benchmark_filter='lookup.*/1e9'
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "filters/bloom_filter.h"

namespace iris::filters {
namespace {

constexpr size_t kBatch = 16;
constexpr uint64_t kStride = 61'803;  // shares no factor with any number of items here
constexpr uint64_t kPresent = 1;
constexpr uint64_t kAbsent = 2;

// The adapters: all that tells one layout from another.
struct Blocked {
  static constexpr const char* kName = "blocked";
  static constexpr LayoutChoice kLayout = LayoutChoice::kBlocked;
};
struct Paged {
  static constexpr const char* kName = "paged";
  static constexpr LayoutChoice kLayout = LayoutChoice::kPaged;
};
struct Classic {
  static constexpr const char* kName = "classic";
  static constexpr LayoutChoice kLayout = LayoutChoice::kClassic;
};

struct Item {
  Item(uint64_t family, uint64_t n) {
    std::memcpy(bytes, &family, 8);
    std::memcpy(bytes + 8, &n, 8);
  }
  std::string_view view() const { return {bytes, sizeof bytes}; }
  char bytes[16];
};

StripeTable& stripes() {
  static StripeTable table;
  return table;
}

template <typename Layout>
std::unique_ptr<BloomFilter> make_filter(uint64_t items) {
  BloomRequest request;
  request.rate = 0.01;
  request.capacity = static_cast<int64_t>(items);
  request.nonscaling = true;
  request.layout = Layout::kLayout;
  return BloomFilter::create(std::get<BloomParams>(BloomParams::make(request)), 1, 12345);
}

// Adds items [first, end), prefetching, since this fills 120 MB before a benchmark can begin.
void fill(BloomFilter& filter, uint64_t first, uint64_t end) {
  std::array<ItemHash, kBatch> hashes;
  for (uint64_t n = first; n < end; n += kBatch) {
    const size_t count = std::min<uint64_t>(kBatch, end - n);
    for (size_t i = 0; i < count; ++i) {
      hashes[i] = filter.hash(Item(kPresent, n + i).view());
      filter.prefetch(hashes[i]);
    }
    for (size_t i = 0; i < count; ++i) filter.add(hashes[i], stripes());
  }
}

// Bits set at random, each with the probability that it has in a full filter of best k: one half.
void fill_at_random(BloomFilter& filter) {
  uint64_t state = 42;
  const auto cells = filter.mutable_layer(0).cells();
  for (size_t at = 0; at + 8 <= cells.size(); at += 8) {
    state = probes::next_word(state + 1);
    std::memcpy(cells.data() + at, &state, 8);
  }
}

constexpr uint64_t kMostRealItems = 100'000'000;
constexpr uint64_t kItemsOnRandomBits = 4'000'000;

uint64_t real_items(uint64_t items) {
  return items <= kMostRealItems ? items : kItemsOnRandomBits;
}

// A full filter with its measured rate; each is made once for all rows that read it.
struct Full {
  std::unique_ptr<BloomFilter> filter;
  double rate;
};

template <typename Layout>
const Full& full_filter(uint64_t items) {
  static std::map<uint64_t, Full> made;
  auto [entry, fresh] = made.try_emplace(items);
  if (fresh) {
    entry->second.filter = make_filter<Layout>(items);
    if (real_items(items) < items) fill_at_random(*entry->second.filter);
    fill(*entry->second.filter, 0, real_items(items));
    constexpr uint64_t kProbes = 1'000'000;
    uint64_t found = 0;
    for (uint64_t n = 0; n < kProbes; ++n) {
      const BloomFilter& filter = *entry->second.filter;
      found += filter.contains(filter.hash(Item(kAbsent, n + (uint64_t{1} << 50)).view())) ? 1 : 0;
    }
    entry->second.rate = static_cast<double>(found) / kProbes;
  }
  return entry->second;
}

void report(benchmark::State& state, const BloomFilter& filter, double rate) {
  const int64_t items = state.iterations() * int64_t{kBatch};
  state.SetItemsProcessed(items);
  state.counters["bits/item"] = filter.stats().bits_per_item;
  state.counters["MB"] = static_cast<double>(filter.cell_bytes()) / 1e6;
  if (rate >= 0) state.counters["fpr"] = rate;
  // Seconds an item, printed with an SI prefix: "12.3n" is 12.3 ns.
  state.counters["per_item"] = benchmark::Counter(
      static_cast<double>(items), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <typename Layout>
void lookup(benchmark::State& state, uint64_t items, uint64_t family, bool batched) {
  const Full& full = full_filter<Layout>(items);
  const BloomFilter& filter = *full.filter;
  std::array<ItemHash, kBatch> hashes;
  const uint64_t known = real_items(items);
  uint64_t n = 0, found = 0;
  for (auto _ : state) {
    // A stride through the numbers, so that present items are met in no order of insertion.
    const auto next = [&] {
      n += kStride;
      if (n >= known) n -= known;
      return Item(family, n);
    };
    if (batched) {
      for (ItemHash& hash : hashes) hash = filter.hash(next().view());
      for (const filters::ItemHash& hash : hashes) filter.prefetch(hash);
      for (const ItemHash& hash : hashes) found += filter.contains(hash) ? 1 : 0;
    } else {
      for (size_t i = 0; i < kBatch; ++i) {
        found += filter.contains(filter.hash(next().view())) ? 1 : 0;
      }
    }
  }
  benchmark::DoNotOptimize(found);
  report(state, filter, full.rate);
}

template <typename Layout>
void add(benchmark::State& state, uint64_t items, bool batched) {
  auto filter = make_filter<Layout>(items);
  std::memset(filter->mutable_layer(0).cells().data(), 0, filter->cell_bytes());  // touch the pages
  std::array<ItemHash, kBatch> hashes;
  uint64_t n = 0;
  for (auto _ : state) {
    if (n + kBatch > items / 2) {  // stay at the fill of a filter in use
      state.PauseTiming();
      std::memset(filter->mutable_layer(0).cells().data(), 0, filter->cell_bytes());
      filter->mutable_layer(0).set_item_count(0);
      n = 0;
      state.ResumeTiming();
    }
    if (batched) {
      for (ItemHash& hash : hashes) hash = filter->hash(Item(kPresent, n++).view());
      for (const filters::ItemHash& hash : hashes) filter->prefetch(hash);
      for (const ItemHash& hash : hashes) filter->add(hash, stripes());
    } else {
      for (size_t i = 0; i < kBatch; ++i) {
        filter->add(filter->hash(Item(kPresent, n++).view()), stripes());
      }
    }
  }
  report(state, *filter, -1);
}

template <typename Layout>
void register_layout(uint64_t items, const std::string& size) {
  const std::string where = "/" + std::string(Layout::kName) + "/" + size;
  for (const bool batched : {false, true}) {
    const std::string how = batched ? "/batch16" : "/single";
    benchmark::RegisterBenchmark(("lookup_absent" + where + how).c_str(), lookup<Layout>, items,
                                 kAbsent, batched);
    benchmark::RegisterBenchmark(("lookup_present" + where + how).c_str(), lookup<Layout>, items,
                                 kPresent, batched);
    if (items > kMostRealItems) continue;
    benchmark::RegisterBenchmark(("add" + where + how).c_str(), add<Layout>, items, batched);
  }
}

void register_size(uint64_t items, const std::string& size) {
  register_layout<Blocked>(items, size);
  register_layout<Paged>(items, size);
  register_layout<Classic>(items, size);
}

}  // namespace
}  // namespace iris::filters

int main(int argc, char** argv) {
  iris::filters::register_size(100'000, "1e5");
  iris::filters::register_size(100'000'000, "1e8");
  iris::filters::register_size(1'000'000'000, "1e9");  // three layouts: 4 GB in all
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
