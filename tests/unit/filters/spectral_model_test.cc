// Random increments, decrements, deletions and counts against an exact map, through growth,
// overflow into extensions, compaction, dump and restore. Nothing is removed that was not added, so
// no count may ever be too low; too high at most the requested share.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "filters/spectral_dump.h"
#include "tests/unit/filters/spectral_test_support.h"

namespace iris::filters {
namespace {

using testing::filter_of;
using testing::increment_growing;
using testing::stripes;

constexpr uint64_t kNoLimit = UINT64_MAX;

class ExactMap {
 public:
  ExactMap(const SpectralRequest& request, uint64_t items, uint64_t seed)
      : request_(request), filter_(filter_of(request)), random_(seed), truth_(items) {
    for (uint64_t i = 0; i < items; ++i) hashes_.push_back(testing::item(*filter_, i));
  }

  SpectralFilter& filter() { return *filter_; }

  void run(uint64_t operations) {
    for (uint64_t n = 0; n < operations && !::testing::Test::HasFatalFailure(); ++n) {
      step();
      if (n % (operations / 8) == operations / 16) reshape(n / (operations / 8));
    }
  }

  // Every item: none too low, at most the promised share too high, 5 sigma.
  void verify() {
    uint64_t present = 0, present_high = 0, absent_high = 0, sum = 0;
    for (uint64_t i = 0; i < truth_.size(); ++i) {
      const uint64_t count = filter_->count(hashes_[i], stripes());
      ASSERT_GE(count, truth_[i]) << "item " << i;
      sum += truth_[i];
      present += truth_[i] > 0 ? 1 : 0;
      (truth_[i] > 0 ? present_high : absent_high) += count > truth_[i] ? 1 : 0;
    }
    ASSERT_EQ(filter_->sum(), sum);
    const auto bound = [this](uint64_t count) {
      const double n = static_cast<double>(count);
      return n * request_.rate + 5 * std::sqrt(n * request_.rate) + 1;
    };
    EXPECT_LE(static_cast<double>(present_high), bound(present)) << "of " << present;
    EXPECT_LE(static_cast<double>(absent_high), bound(truth_.size() - present));
    // The number of items is an estimate, but no bad one.
    EXPECT_NEAR(static_cast<double>(filter_->items()), static_cast<double>(present),
                0.1 * static_cast<double>(present) + 20);
  }

  void remove_everything() {
    for (uint64_t i = 0; i < truth_.size(); ++i) {
      if (truth_[i] == 0) continue;
      ASSERT_EQ(filter_->decrement(hashes_[i], truth_[i], stripes()).status, SpectralStatus::kOk);
      truth_[i] = 0;
    }
    for (const ItemHash& hash : hashes_) ASSERT_EQ(filter_->count(hash, stripes()), 0u);
    EXPECT_EQ(filter_->sum(), 0u);
    EXPECT_EQ(filter_->items(), 0u);
    EXPECT_EQ(filter_->digest(), filter_of(request_)->digest());
  }

 private:
  // Items are drawn with a skew, so that a few of them get large counts.
  uint64_t draw_item() {
    const double u = static_cast<double>(random_() >> 11) * 0x1p-53;
    return static_cast<uint64_t>(u * u * u * static_cast<double>(truth_.size()));
  }

  uint64_t draw_amount() {
    if (random_() % 100 != 0) return 1;
    return 1 + (random_() >> (30 + random_() % 34));
  }

  void step() {
    const uint64_t i = draw_item();
    const uint64_t kind = random_() % 16;
    if (kind < 8) {
      const uint64_t amount = draw_amount();
      const auto result = increment_growing(*filter_, hashes_[i], amount);
      ASSERT_EQ(result.status, SpectralStatus::kOk);
      truth_[i] += amount;
      ASSERT_GE(result.count, truth_[i]);
    } else if (kind < 14) {
      if (truth_[i] == 0) return;
      // By one, as CF.DEL does; or more; or all.
      const uint64_t amount = kind < 11 ? 1 : kind < 13 ? 1 + random_() % truth_[i] : truth_[i];
      ASSERT_EQ(filter_->decrement(hashes_[i], amount, stripes()).status, SpectralStatus::kOk);
      truth_[i] -= amount;
    } else {
      ASSERT_GE(filter_->count(hashes_[i], stripes()), truth_[i]);
    }
  }

  void reshape(uint64_t turn) {
    const ContentDigest digest = filter_->digest();
    const uint64_t deleted = filter_->deleted();
    if (turn % 4 == 0) {
      const uint64_t before = filter_->memory_bytes();
      filter_->compact(stripes());
      EXPECT_LE(filter_->memory_bytes(), before);
    } else if (turn % 4 == 1) {
      auto restored = deserialize_spectral(serialize(*filter_), 5, kNoLimit);
      ASSERT_TRUE(std::holds_alternative<std::unique_ptr<SpectralFilter>>(restored));
      filter_ = std::move(std::get<std::unique_ptr<SpectralFilter>>(restored));
    } else if (turn % 4 == 2) {
      load_pieces();
    } else {
      filter_ = filter_->clone(6);
    }
    EXPECT_EQ(filter_->digest(), digest) << "turn " << turn;
    EXPECT_EQ(filter_->deleted(), deleted);
    verify();
  }

  void load_pieces() {
    DumpStep step = dump_step(*filter_, 0, stripes());
    auto started = SpectralLoader::start(step.data, 7, kNoLimit);
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<SpectralLoader>>(started));
    auto& loader = std::get<std::unique_ptr<SpectralLoader>>(started);
    for (;;) {
      step = dump_step(*filter_, static_cast<int64_t>(step.next_iterator), stripes());
      if (step.next_iterator == 0) break;
      ASSERT_EQ(loader->load(static_cast<int64_t>(step.next_iterator), step.data),
                LoadError::kNone);
    }
    ASSERT_TRUE(loader->complete());
    filter_ = loader->take();
  }

  const SpectralRequest request_;
  std::unique_ptr<SpectralFilter> filter_;
  std::mt19937_64 random_;
  std::vector<uint64_t> truth_;
  std::vector<ItemHash> hashes_;
};

void run_against_exact_map(const SpectralRequest& request, uint64_t items, uint64_t operations,
                           uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  ExactMap map(request, items, seed);
  map.run(operations);
  map.verify();
  map.remove_everything();
}

TEST(SpectralModel, AGrowingFilterAgreesWithAnExactMap) {
  run_against_exact_map({.capacity = 2000, .rate = 0.01}, 60000, 4000000, 101);
}

TEST(SpectralModel, AFilterOfFixedSizeAgreesWithAnExactMap) {
  run_against_exact_map({.capacity = 60000, .rate = 0.01, .expansion = 0}, 60000, 2000000, 102);
}

TEST(SpectralModel, ACrowdedSmallFilterAgreesWithAnExactMap) {
  run_against_exact_map({.capacity = 100, .rate = 0.1}, 1500, 2000000, 103);
}

TEST(SpectralModel, AtALowRateAFilterAgreesWithAnExactMap) {
  run_against_exact_map({.capacity = 5000, .rate = 0.0001, .expansion = 4}, 40000, 1000000, 104);
}

// Add and remove, add and remove: the number of items must not drift away, or a filter of fixed
// size would be full while it is half empty, or take more than it can hold.
TEST(SpectralModel, TheNumberOfItemsDoesNotDrift) {
  const uint64_t seed = 105;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  auto filter = filter_of({.capacity = 1000, .rate = 0.1, .expansion = 0});
  std::vector<uint64_t> inside;
  uint64_t next = 0;
  double worst = 0;
  for (int round = 0; round < 1000000; ++round) {
    if (inside.size() < 700) {
      const ItemHash hash = testing::item(*filter, ++next);
      ASSERT_EQ(filter->increment(hash, 1, stripes()).status, SpectralStatus::kOk);
      inside.push_back(next);
      continue;
    }
    const size_t victim = random() % inside.size();
    const ItemHash hash = testing::item(*filter, inside[victim]);
    ASSERT_EQ(filter->decrement(hash, 1, stripes()).status, SpectralStatus::kOk);
    inside[victim] = inside.back();
    inside.pop_back();
    worst = std::max(worst, std::fabs(static_cast<double>(filter->items()) - 700));
  }
  EXPECT_LT(worst, 120);
}

}  // namespace
}  // namespace iris::filters
