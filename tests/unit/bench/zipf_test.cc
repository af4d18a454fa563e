#include "bench/loadgen/zipf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace iris::loadgen {
namespace {

constexpr double kSigmas = 5;

// Draws from a small law and compares each rank with its probability, within five sigma.
void expect_law(uint64_t items, double exponent) {
  constexpr uint64_t kDraws = 1'000'000;
  const Zipf zipf(items, exponent);
  Random random(42);
  std::vector<uint64_t> counts(items + 1);
  for (uint64_t i = 0; i < kDraws; ++i) {
    const uint64_t rank = zipf.draw(random);
    ASSERT_GE(rank, 1u);
    ASSERT_LE(rank, items);
    ++counts[rank];
  }
  double total = 0;
  for (uint64_t rank = 1; rank <= items; ++rank) {
    total += std::pow(static_cast<double>(rank), -exponent);
  }
  for (uint64_t rank = 1; rank <= items; ++rank) {
    const double share = std::pow(static_cast<double>(rank), -exponent) / total;
    const double sigma = std::sqrt(kDraws * share * (1 - share));
    EXPECT_NEAR(static_cast<double>(counts[rank]), kDraws * share, kSigmas * sigma + 1)
        << "rank " << rank << " of " << items << ", exponent " << exponent;
  }
}

TEST(Zipf, DrawsEachRankAsOftenAsTheLawSays) {
  for (const double exponent : {0.3, 0.99, 1.0, 1.01, 1.3, 2.5}) expect_law(100, exponent);
}

TEST(Zipf, OneItemIsAlwaysTheFirst) {
  expect_law(1, 1.0);
}

TEST(Zipf, TwoItemsKeepTheLaw) {
  expect_law(2, 0.5);
  expect_law(2, 3.0);
}

// The share of the first 1000 of 10^9 items is known from the harmonic numbers.
TEST(Zipf, ABillionItemsKeepTheLaw) {
  constexpr uint64_t kDraws = 1'000'000;
  constexpr double kEuler = 0.57721566490153286;
  const auto harmonic = [](double n) { return std::log(n) + kEuler + 1 / (2 * n); };
  const double share = harmonic(1000) / harmonic(1e9);
  const Zipf zipf(1'000'000'000, 1.0);
  Random random(7);
  uint64_t low = 0;
  for (uint64_t i = 0; i < kDraws; ++i) low += zipf.draw(random) <= 1000 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(low), kDraws * share,
              kSigmas * std::sqrt(kDraws * share * (1 - share)));
}

TEST(Random, BelowReachesAllAndNoMore) {
  Random random(3);
  std::vector<uint64_t> counts(10);
  constexpr uint64_t kDraws = 100'000;
  for (uint64_t i = 0; i < kDraws; ++i) ++counts.at(random.below(10));
  const double sigma = std::sqrt(kDraws * 0.1 * 0.9);
  for (const uint64_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count), kDraws / 10.0, kSigmas * sigma);
  }
}

}  // namespace
}  // namespace iris::loadgen
