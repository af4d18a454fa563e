// The promise of a Bloom filter, measured: at full capacity at most the requested share of absent
// items is reported as present, and no added item is ever denied.
//
// The bound is the request plus 5 sigma of the measurement. Two things scatter: the probes
// (binomial) and the filters (one has luckier block loads than the next), so every figure is taken
// from many filters with seeds of their own and sigma is estimated from their spread.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/filters/bloom_test_support.h"

namespace iris::filters {
namespace {

using testing::count_false_positives;
using testing::fill_to;
using testing::filter_of;
using testing::Item;

constexpr uint64_t kAbsentFamily = 1'000'000;
constexpr uint64_t kProbes = 1'000'000;

struct Measured {
  double mean = 0;
  double sigma = 0;  // of the mean
};

// Full by the filter's own count, except RedisBloom's own filters when they cannot grow: its
// formula speaks of the items offered, of which some look known and are not counted.
uint64_t fill(BloomFilter& filter, uint64_t family, uint64_t items) {
  if (!filter.params().classic() || filter.params().scaling()) {
    return fill_to(filter, family, items);
  }
  for (uint64_t i = 0; i < items; ++i) testing::add_growing(filter, Item(family, i).view());
  return items;
}

// `filters` filters of `capacity`, each grown to `growth` times that, `kProbes` probes in all.
Measured measure(const BloomRequest& request, uint64_t growth, uint64_t filters) {
  const uint64_t probes = kProbes / filters;
  double sum = 0, squares = 0;
  for (uint64_t seed = 1; seed <= filters; ++seed) {
    auto filter = filter_of(request, seed);
    EXPECT_NE(filter, nullptr);
    const uint64_t items = static_cast<uint64_t>(request.capacity) * growth;
    const uint64_t offered = fill(*filter, seed, items);
    for (uint64_t i = 0; i < offered; ++i) {
      EXPECT_TRUE(filter->contains(filter->hash(Item(seed, i).view()))) << "false negative " << i;
    }
    const double rate =
        static_cast<double>(count_false_positives(*filter, kAbsentFamily + seed, probes)) /
        static_cast<double>(probes);
    sum += rate;
    squares += rate * rate;
  }
  const auto n = static_cast<double>(filters);
  const double mean = sum / n;
  const double spread = filters > 1 ? (squares / n - mean * mean) / (n - 1) : 0;
  const double binomial = request.rate * (1 - request.rate) / static_cast<double>(kProbes);
  return {mean, std::sqrt(std::max(spread, binomial))};
}

class BloomRate : public ::testing::TestWithParam<std::tuple<LayoutChoice, double>> {
 protected:
  BloomRequest request(int64_t capacity, bool nonscaling) const {
    BloomRequest request;
    request.layout = std::get<0>(GetParam());
    request.rate = std::get<1>(GetParam());
    request.capacity = capacity;
    request.nonscaling = nonscaling;
    return request;
  }

  // RedisBloom rounds k up, so its geometry gives (1 - e^(-k/bpe))^k, up to 2.6 % above the request
  // (at 10 %). Classic filters are its filters, bit for bit, so that is what they can promise.
  double promise(bool nonscaling) const {
    const double rate = std::get<1>(GetParam());
    if (std::get<0>(GetParam()) != LayoutChoice::kClassic || !nonscaling) return rate;
    const double bits = classic_bits_per_entry(rate);
    const double hashes = classic_hashes(bits);
    return std::max(rate, std::pow(1 - std::exp(-hashes / bits), hashes));
  }

  void expect_kept(const BloomRequest& asked, uint64_t growth, uint64_t filters) const {
    const Measured measured = measure(asked, growth, filters);
    EXPECT_LE(measured.mean, promise(asked.nonscaling) + 5 * measured.sigma)
        << "capacity " << asked.capacity << " growth " << growth;
  }
};

// Classic filters of a few hundred bits are left out: (h1 + i * h2) mod bits then often visits few
// distinct cells, and the rate is several times the request (at 1e-5 about 14 times). That is
// RedisBloom's, and the price of its format.
TEST_P(BloomRate, HoldsForAHundredItems) {
  if (std::get<0>(GetParam()) == LayoutChoice::kClassic) GTEST_SKIP();
  expect_kept(request(100, true), 1, 200);
}
TEST_P(BloomRate, HoldsForAThousandItems) {
  expect_kept(request(1000, true), 1, 50);
}
TEST_P(BloomRate, HoldsForAHundredThousandItems) {
  expect_kept(request(100'000, true), 1, 5);
}
TEST_P(BloomRate, HoldsForAMillionItems) {
  expect_kept(request(1'000'000, true), 1, 1);
}
TEST_P(BloomRate, HoldsForAFirstLayerThatMayGrow) {
  expect_kept(request(1000, false), 1, 50);
}
TEST_P(BloomRate, HoldsAfterGrowthToFourTimesTheCapacity) {
  expect_kept(request(10'000, false), 4, 10);
}
TEST_P(BloomRate, HoldsAfterGrowthToAHundredTimesTheCapacity) {
  expect_kept(request(2'000, false), 100, 4);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<LayoutChoice, double>>& info) {
  static const char* const kLayouts[] = {"Auto", "Blocked", "Paged", "Classic"};
  const int exponent = static_cast<int>(std::lround(-std::log10(std::get<1>(info.param))));
  return std::string(kLayouts[static_cast<size_t>(std::get<0>(info.param))]) + "OneIn1e" +
         std::to_string(exponent);
}

INSTANTIATE_TEST_SUITE_P(
    AllLayouts, BloomRate,
    ::testing::Combine(::testing::Values(LayoutChoice::kAuto, LayoutChoice::kBlocked,
                                         LayoutChoice::kPaged, LayoutChoice::kClassic),
                       ::testing::Values(0.1, 0.01, 0.001, 0.0001, 1e-5)),
    name_of);

// The sizing must be exact, not merely safe: with 5 million probes the measured rate of blocked
// filters has to lie within 5 sigma and 1 % of the computed one on both sides.
TEST(BloomRateModel, PredictsTheMeasuredRateOfBlockedFilters) {
  for (const LayoutChoice layout : {LayoutChoice::kBlocked, LayoutChoice::kPaged}) {
    BloomRequest request{.rate = 0.01, .capacity = 200'000, .nonscaling = true, .layout = layout};
    uint64_t found = 0;
    double expected = 0;
    constexpr uint64_t kFilters = 10;
    for (uint64_t seed = 1; seed <= kFilters; ++seed) {
      auto filter = filter_of(request, seed);
      fill_to(*filter, seed, 200'000);
      found += count_false_positives(*filter, kAbsentFamily, 500'000);
      const LayerGeometry& geometry = filter->layer(0).geometry();
      const uint64_t cells = block_bits(geometry.layout);
      expected = blocked_rate(cells, geometry.hashes,
                              200'000.0 / (static_cast<double>(geometry.bits / cells)));
    }
    const double probes = 500'000.0 * kFilters;
    const double sigma = std::sqrt(expected / probes);
    EXPECT_NEAR(static_cast<double>(found) / probes, expected, 5 * sigma + 0.01 * expected);
  }
}

// m cells, n items, k hashes: (1 - e^(-kn/m))^k, for explicit dimensions.
TEST(BloomRateModel, ExplicitDimensionsFollowTheTextbook) {
  constexpr uint64_t kBits = 1'000'000;
  constexpr uint64_t kItems = 50'000;
  for (int64_t hashes = 1; hashes <= 5; ++hashes) {
    auto filter = BloomFilter::create(testing::explicit_params(kBits, hashes), 1, 7);
    for (uint64_t i = 0; i < kItems; ++i) {
      testing::add_growing(*filter, Item(3, i).view());
    }
    const auto k = static_cast<double>(hashes);
    const double expected = std::pow(1 - std::exp(-k * 0.05), k);
    const double measured =
        static_cast<double>(count_false_positives(*filter, 4, kProbes)) / kProbes;
    EXPECT_NEAR(measured, expected, 5 * std::sqrt(expected / kProbes)) << "k = " << hashes;
  }
}

// The textbooks' example: 10 bits an item and 7 hashes give 0.82 %.
TEST(BloomRateModel, TenBitsAnItemAndSevenHashesGiveTheTextbooksRate) {
  constexpr uint64_t kItems = 2'000'000;
  auto filter = BloomFilter::create(testing::explicit_params(10 * kItems, 7), 1, 7);
  for (uint64_t i = 0; i < kItems; ++i) testing::add_growing(*filter, Item(3, i).view());
  const double measured = static_cast<double>(count_false_positives(*filter, 4, kProbes)) / kProbes;
  EXPECT_NEAR(measured, 0.0082, 0.05 * 0.0082);
}

}  // namespace
}  // namespace iris::filters
