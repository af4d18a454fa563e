// The promise of a spectral filter, measured: at full capacity at most the requested share of
// absent items has a count above 0, of one layer and of many; and at most that share of the items
// inside has a count that is too high, and none one that is too low.
//
// The bound is the request plus 5 sigma of the measurement. Probes and filters both scatter, so
// each figure is taken from several filters with seeds of their own and sigma from their spread.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/unit/filters/spectral_test_support.h"

namespace iris::filters {
namespace {

using testing::increment_growing;
using testing::item;
using testing::stripes;

constexpr uint64_t kFilters = 8;
constexpr uint64_t kProbes = 125000;  // a filter
constexpr uint64_t kAbsent = 1ULL << 40;

class Measurement {
 public:
  void add(uint64_t hits, uint64_t of) {
    const double rate = static_cast<double>(hits) / static_cast<double>(of);
    sum_ += rate;
    squares_ += rate * rate;
    ++count_;
    probes_ += of;
  }
  double mean() const { return sum_ / count_; }
  double sigma(double promised) const {
    const double spread = (squares_ / count_ - mean() * mean()) / (count_ - 1);
    const double binomial = promised * (1 - promised) / static_cast<double>(probes_);
    return std::sqrt(std::max(spread, binomial));
  }

 private:
  double sum_ = 0, squares_ = 0, count_ = 0;
  uint64_t probes_ = 0;
};

class SpectralRate : public ::testing::TestWithParam<std::tuple<double, SpectralPolicy>> {};

void measure(const SpectralRequest& request, uint64_t items) {
  Measurement absent, inside;
  for (uint64_t seed = 1; seed <= kFilters; ++seed) {
    auto filter = testing::filter_of(request, seed);
    // Full by the filter's own count: some look known when they come and are not counted.
    uint64_t offered = 0;
    while (filter->items() < items) {
      ASSERT_EQ(increment_growing(*filter, item(*filter, offered++)).status, SpectralStatus::kOk);
    }
    uint64_t hits = 0, too_high = 0;
    for (uint64_t i = 0; i < offered; ++i) {
      const uint64_t count = filter->count(item(*filter, i), stripes());
      ASSERT_GE(count, 1u) << "item " << i << ", seed " << seed;
      too_high += count > 1 ? 1 : 0;
    }
    for (uint64_t i = 0; i < kProbes; ++i) {
      hits += filter->count(item(*filter, kAbsent + i), stripes()) > 0 ? 1 : 0;
    }
    absent.add(hits, kProbes);
    inside.add(too_high, offered);
  }
  const double rate = request.rate;
  EXPECT_LE(absent.mean(), rate + 5 * absent.sigma(rate)) << "absent items";
  EXPECT_LE(inside.mean(), rate + 5 * inside.sigma(rate)) << "items inside";
}

TEST_P(SpectralRate, IsKeptAtFullCapacity) {
  const auto [rate, policy] = GetParam();
  measure({.capacity = 20000, .rate = rate, .expansion = 0, .policy = policy}, 20000);
}

TEST_P(SpectralRate, IsKeptAfterGrowth) {
  const auto [rate, policy] = GetParam();
  // 15 times the capacity: four full layers.
  measure({.capacity = 2000, .rate = rate, .policy = policy}, 30000);
  // 63 times: six.
  measure({.capacity = 400, .rate = rate, .policy = policy}, 25200);
}

TEST_P(SpectralRate, IsKeptByATinyFilter) {
  const auto [rate, policy] = GetParam();
  measure({.capacity = 10, .rate = rate, .expansion = 0, .policy = policy}, 10);
}

INSTANTIATE_TEST_SUITE_P(Rates, SpectralRate,
                         ::testing::Combine(::testing::Values(0.1, 0.01, 0.001),
                                            ::testing::Values(SpectralPolicy::kMinimumSelection,
                                                              SpectralPolicy::kMinimalIncrease)));

}  // namespace
}  // namespace iris::filters
