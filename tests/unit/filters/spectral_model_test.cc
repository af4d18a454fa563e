// Random increments, decrements, deletions and counts, ten million in all and more, against an
// exact map, through growth, overflow into extensions, compaction, dump and restore. Nothing is
// removed that was not added, so no count may ever be too low; too high at most the requested
// share. When everything was removed, every cell is zero and the filter equals a fresh one.
//
// Policy MI takes nothing away: there a decrement must be refused and change nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "filters/spectral_chunk.h"
#include "filters/spectral_dump.h"
#include "tests/unit/filters/spectral_test_support.h"

namespace iris::filters {
namespace {

using testing::filter_of;
using testing::increment_growing;
using testing::stripes;

constexpr uint64_t kNoLimit = UINT64_MAX;

// How often each thing was done, and what it met.
struct Tally {
  uint64_t increments = 0;
  uint64_t decrements = 0;
  uint64_t deletions = 0;  // decrements by one, as CF.DEL does
  uint64_t refusals = 0;   // decrements with policy MI
  uint64_t counts = 0;
  uint64_t verified = 0;  // counts of all items at rest
  uint64_t low = 0;
  uint64_t compactions = 0;
  uint64_t restores = 0;
  uint64_t most_extension_bytes = 0;

  uint64_t operations() const { return increments + decrements + deletions + refusals + counts; }
};

class ExactMap {
 public:
  ExactMap(const SpectralRequest& request, uint64_t items, uint64_t seed)
      : request_(request), filter_(filter_of(request, seed)), random_(seed), truth_(items) {
    for (uint64_t i = 0; i < items; ++i) hashes_.push_back(testing::item(*filter_, i));
  }

  SpectralFilter& filter() { return *filter_; }
  const Tally& tally() const { return tally_; }

  void run(uint64_t operations) {
    for (uint64_t n = 0; n < operations && !::testing::Test::HasFailure(); ++n) {
      step();
      if (n % (operations / 8) == operations / 16) reshape(n / (operations / 8));
    }
  }

  // Every item: none too low, at most the promised share too high, 5 sigma.
  void verify() {
    uint64_t present = 0, present_high = 0, absent_high = 0, sum = 0;
    for (uint64_t i = 0; i < truth_.size(); ++i) {
      const uint64_t count = filter_->count(hashes_[i], stripes());
      tally_.low += count < truth_[i] ? 1 : 0;
      sum += truth_[i];
      present += truth_[i] > 0 ? 1 : 0;
      (truth_[i] > 0 ? present_high : absent_high) += count > truth_[i] ? 1 : 0;
    }
    tally_.verified += truth_.size();
    EXPECT_EQ(tally_.low, 0u);
    EXPECT_EQ(filter_->sum(), sum);
    const auto bound = [this](uint64_t count) {
      const double n = static_cast<double>(count);
      return n * request_.rate + 5 * std::sqrt(n * request_.rate) + 1;
    };
    const uint64_t absent = truth_.size() - present;
    EXPECT_LE(static_cast<double>(present_high), bound(present)) << "of " << present;
    EXPECT_LE(static_cast<double>(absent_high), bound(absent)) << "of " << absent;
    worst_share_ = std::max(worst_share_, static_cast<double>(present_high + absent_high) /
                                              static_cast<double>(truth_.size()));
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
    expect_fresh();
    filter_->compact(stripes());
    for (size_t i = 0; i < filter_->layer_count(); ++i) {
      EXPECT_EQ(filter_->layer(i).extension_bytes(), 0u) << "layer " << i;
    }
    expect_fresh();
    restore();
    expect_fresh();
  }

  void print() const {
    std::cout << "seed " << filter_->seed() << ": increments " << tally_.increments
              << ", decrements " << tally_.decrements << ", deletions " << tally_.deletions
              << ", refused decrements " << tally_.refusals << ", counts " << tally_.counts
              << ", in all " << tally_.operations() << "; at rest " << tally_.verified
              << " counts; too low " << tally_.low << ", too high at most " << 100 * worst_share_
              << " % (promised " << 100 * request_.rate << " %); layers " << filter_->layer_count()
              << ", extensions up to " << tally_.most_extension_bytes << " bytes, compactions "
              << tally_.compactions << ", dumps restored " << tally_.restores << "\n";
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
      increment(i);
    } else if (kind < 14 && request_.policy == SpectralPolicy::kMinimalIncrease) {
      const SpectralResult result = filter_->decrement(hashes_[i], 1, stripes());
      EXPECT_EQ(result.status, SpectralStatus::kNoDecrements);
      ++tally_.refusals;
    } else if (kind < 14 && truth_[i] > 0) {
      // By one, as CF.DEL does; or more; or all.
      take(i, kind < 11 ? 1 : kind < 13 ? 1 + random_() % truth_[i] : truth_[i]);
      ++(kind < 11 ? tally_.deletions : tally_.decrements);
    } else {
      tally_.low += filter_->count(hashes_[i], stripes()) < truth_[i] ? 1 : 0;
      ++tally_.counts;
    }
  }

  void increment(uint64_t i) {
    const uint64_t amount = draw_amount();
    const SpectralResult result = increment_growing(*filter_, hashes_[i], amount);
    EXPECT_EQ(result.status, SpectralStatus::kOk);
    truth_[i] += amount;
    tally_.low += result.count < truth_[i] ? 1 : 0;
    ++tally_.increments;
  }

  void take(uint64_t i, uint64_t amount) {
    const SpectralResult result = filter_->decrement(hashes_[i], amount, stripes());
    EXPECT_EQ(result.status, SpectralStatus::kOk);
    truth_[i] -= amount;
    tally_.low += result.count < truth_[i] ? 1 : 0;
  }

  void reshape(uint64_t turn) {
    const ContentDigest digest = filter_->digest();
    const uint64_t deleted = filter_->deleted();
    for (size_t i = 0; i < filter_->layer_count(); ++i) {
      tally_.most_extension_bytes =
          std::max(tally_.most_extension_bytes, filter_->layer(i).extension_bytes());
    }
    if (turn % 4 == 0) {
      const uint64_t before = filter_->memory_bytes();
      filter_->compact(stripes());
      EXPECT_LE(filter_->memory_bytes(), before);
      ++tally_.compactions;
    } else if (turn % 4 == 1) {
      restore();
    } else if (turn % 4 == 2) {
      load_pieces();
    } else {
      filter_ = filter_->clone(6);
    }
    EXPECT_EQ(filter_->digest(), digest) << "turn " << turn;
    EXPECT_EQ(filter_->deleted(), deleted);
    verify();
  }

  void restore() {
    auto restored = deserialize_spectral(serialize(*filter_), 5, kNoLimit);
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<SpectralFilter>>(restored));
    filter_ = std::move(std::get<std::unique_ptr<SpectralFilter>>(restored));
    ++tally_.restores;
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
    ++tally_.restores;
  }

  // In its digest, and truly: a digest passes over the layers that say of themselves that all their
  // cells are zero, so all cells are looked at as well.
  void expect_fresh() const {
    EXPECT_EQ(filter_->digest(), filter_of(request_, filter_->seed())->digest());
    std::string bytes;
    for (size_t i = 0; i < filter_->layer_count(); ++i) {
      const SpectralLayer& layer = filter_->layer(i);
      EXPECT_EQ(layer.items(), 0u) << "layer " << i;
      for (uint64_t chunk = 0; chunk < layer.chunk_count(); ++chunk) {
        bytes.clear();
        encode_spectral_chunk(layer, chunk, bytes);
        ASSERT_EQ(bytes.size(), layer.chunk(chunk).size() * kDigitBytes) << "layer " << i;
        ASSERT_EQ(bytes.find_first_not_of('\0'), std::string::npos) << "layer " << i;
      }
    }
  }

  const SpectralRequest request_;
  std::unique_ptr<SpectralFilter> filter_;
  std::mt19937_64 random_;
  std::vector<uint64_t> truth_;
  std::vector<ItemHash> hashes_;
  Tally tally_;
  double worst_share_ = 0;
};

void run_against_exact_map(const SpectralRequest& request, uint64_t items, uint64_t operations) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  ExactMap map(request, items, seed);
  map.run(operations);
  map.verify();
  map.print();
  EXPECT_EQ(map.tally().operations(), operations);
  EXPECT_GT(map.tally().most_extension_bytes, 0u);
  EXPECT_EQ(map.filter().layer_count() > 1, request.expansion > 0) << "it grew, if it may";
  if (request.policy == SpectralPolicy::kMinimumSelection) map.remove_everything();
}

// These four are ten million operations.

TEST(SpectralModel, AGrowingFilterAgreesWithAnExactMap) {
  run_against_exact_map({.capacity = 2000, .rate = 0.01}, 60000, 4'000'000);
}

TEST(SpectralModel, AFilterOfFixedSizeAgreesWithAnExactMap) {
  run_against_exact_map({.capacity = 60000, .rate = 0.01, .expansion = 0}, 60000, 2'500'000);
}

TEST(SpectralModel, ACrowdedSmallFilterAgreesWithAnExactMap) {
  run_against_exact_map({.capacity = 1500, .rate = 0.1, .expansion = 0}, 1500, 2'000'000);
}

TEST(SpectralModel, AtALowRateAFilterAgreesWithAnExactMap) {
  run_against_exact_map({.capacity = 5000, .rate = 0.0001, .expansion = 4}, 40000, 1'500'000);
}

TEST(SpectralModel, AGrowingFilterWithMinimalIncreaseAgreesWithAnExactMap) {
  run_against_exact_map(
      {.capacity = 2000, .rate = 0.01, .policy = SpectralPolicy::kMinimalIncrease}, 60000,
      1'000'000);
}

TEST(SpectralModel, AFilterOfFixedSizeWithMinimalIncreaseAgreesWithAnExactMap) {
  run_against_exact_map(
      {.capacity = 60000, .rate = 0.01, .expansion = 0, .policy = SpectralPolicy::kMinimalIncrease},
      60000, 1'000'000);
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
