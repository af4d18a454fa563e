#include "filters/bloom_filter.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/filters/bloom_test_support.h"

namespace iris::filters {
namespace {

using testing::add_growing;
using testing::count_false_positives;
using testing::explicit_params;
using testing::fill_to;
using testing::filter_of;
using testing::Item;
using testing::params_of;
using testing::stripes;

constexpr std::array kLayouts = {LayoutChoice::kAuto, LayoutChoice::kBlocked, LayoutChoice::kPaged,
                                 LayoutChoice::kClassic};

TEST(BloomFilter, RemembersBinaryItems) {
  const std::string megabyte(1 << 20, 'x');
  const std::vector<std::string> items = {
      "", std::string(1, '\0'), std::string("a\0b", 3), "a\r\nb", "a", megabyte, megabyte + "y"};
  for (const LayoutChoice layout : kLayouts) {
    auto filter = filter_of({.capacity = 1000, .layout = layout});
    for (const std::string& item : items) {
      EXPECT_FALSE(filter->contains(filter->hash(item)));
      EXPECT_EQ(filter->add(filter->hash(item), stripes()), AddOutcome::kAdded);
      EXPECT_EQ(filter->add(filter->hash(item), stripes()), AddOutcome::kPresent);
      EXPECT_TRUE(filter->contains(filter->hash(item)));
    }
    EXPECT_EQ(filter->item_count(), items.size());
  }
}

TEST(BloomFilter, FullNonscalingFilterRefusesNewItemsAndKnowsOldOnes) {
  for (const LayoutChoice layout : kLayouts) {
    auto filter = filter_of({.capacity = 50, .nonscaling = true, .layout = layout});
    const uint64_t offered = fill_to(*filter, 1, 50);
    const ContentDigest before = filter->digest();
    uint64_t fresh = 0;
    while (filter->contains(filter->hash(Item(2, fresh).view()))) ++fresh;
    EXPECT_EQ(filter->add(filter->hash(Item(2, fresh).view()), stripes()), AddOutcome::kFull);
    for (uint64_t i = 0; i < offered; ++i) {
      EXPECT_EQ(filter->add(filter->hash(Item(1, i).view()), stripes()), AddOutcome::kPresent);
    }
    EXPECT_EQ(filter->grow(), GrowError::kNotScaling);
    EXPECT_FALSE(filter->next_layer_bytes().has_value());
    EXPECT_EQ(filter->digest(), before);
  }
}

TEST(BloomFilter, ScalingFilterAsksForALayerAndGrows) {
  auto filter = filter_of({.capacity = 50});
  fill_to(*filter, 1, 50);
  uint64_t fresh = 0;
  while (filter->contains(filter->hash(Item(2, fresh).view()))) ++fresh;
  const ItemHash hash = filter->hash(Item(2, fresh).view());
  EXPECT_EQ(filter->add(hash, stripes()), AddOutcome::kNeedsLayer);
  EXPECT_FALSE(filter->contains(hash));
  const uint64_t before = filter->memory_bytes();
  const uint64_t cost = filter->next_layer_bytes().value();
  EXPECT_EQ(filter->grow(), GrowError::kNone);
  EXPECT_EQ(filter->memory_bytes(), before + cost);
  EXPECT_EQ(filter->add(hash, stripes()), AddOutcome::kAdded);
  EXPECT_EQ(filter->layer_count(), 2u);
  EXPECT_EQ(filter->capacity(), 150u);
  EXPECT_EQ(filter->item_count(), 51u);
  EXPECT_EQ(filter->layer(1).item_count(), 1u);
}

TEST(BloomFilter, LooksUpManyItemsAsItDoesEachOfThem) {
  for (const LayoutChoice layout : kLayouts) {
    for (const int64_t capacity : {2000, 50}) {  // of one layer, and of several
      SCOPED_TRACE(static_cast<int>(layout));
      auto filter = filter_of({.capacity = capacity, .layout = layout});
      for (uint64_t n = 0; n < 1000; ++n) add_growing(*filter, Item(n % 2, n).view());
      for (size_t count = 0; count <= 32; ++count) {
        std::vector<ItemHash> hashes;
        uint32_t expected = 0;
        for (size_t i = 0; i < count; ++i) {
          hashes.push_back(filter->hash(Item(i % 3 == 0 ? 1 : 0, 31 * i + count).view()));
          if (filter->contains(hashes[i])) expected |= uint32_t{1} << i;
        }
        ASSERT_EQ(filter->contained(hashes), expected) << count << " items";
      }
    }
  }
}

TEST(BloomFilter, AddsTheSameWithoutStripes) {
  StripeTable alone;
  alone.set_shared(false);
  auto with = filter_of({.capacity = 100, .nonscaling = true});
  auto without = filter_of({.capacity = 100, .nonscaling = true});
  for (uint64_t n = 0; n < 300; ++n) {
    const ItemHash hash = with->hash(Item(1, n / 2).view());
    ASSERT_EQ(with->add(hash, stripes()), without->add(hash, alone)) << n;
  }
  EXPECT_EQ(with->item_count(), 100u);
  EXPECT_EQ(with->digest(), without->digest());
}

TEST(BloomFilter, AChainOfEqualLayersEndsAtItsLimit) {
  auto filter = filter_of({.capacity = 1, .expansion = 1});
  while (filter->layer_count() < BloomFilter::kMaxLayers) {
    ASSERT_EQ(filter->grow(), GrowError::kNone);
  }
  EXPECT_EQ(filter->grow(), GrowError::kTooManyLayers);
  EXPECT_FALSE(filter->next_layer_bytes().has_value());
}

TEST(BloomFilter, RefusesToGrowBeyondTheMemoryAndStaysUsable) {
  auto filter = filter_of({.capacity = 1'000'000, .expansion = 32768});
  add_growing(*filter, "here");
  // 45 GB, which a big machine may have, then 2^50 items, which none has.
  GrowError error = filter->grow();
  if (error == GrowError::kNone) error = filter->grow();
  EXPECT_TRUE(error == GrowError::kNoMemory || error == GrowError::kTooLarge);
  EXPECT_TRUE(filter->contains(filter->hash("here")));
}

TEST(BloomFilter, LaysOutTheExampleOfRedisBloomsDebug) {
  auto filter = filter_of({.rate = 0.01, .capacity = 10, .layout = LayoutChoice::kClassic});
  for (int i = 0; i < 100; ++i) add_growing(*filter, std::to_string(i));
  EXPECT_EQ(filter->item_count(), 99u);
  struct Expected {
    uint64_t bytes, bits;
    uint32_t hashes;
    uint64_t capacity, size;
    double rate;
  };
  const std::array expected = {
      Expected{16, 128, 8, 10, 10, 0.005}, Expected{32, 256, 9, 20, 20, 0.0025},
      Expected{72, 576, 10, 40, 40, 0.00125}, Expected{160, 1280, 11, 80, 29, 0.000625}};
  ASSERT_EQ(filter->layer_count(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const BloomLayer& layer = filter->layer(i);
    EXPECT_EQ(layer.geometry().cell_bytes(), expected[i].bytes);
    EXPECT_EQ(layer.geometry().bits, expected[i].bits);
    EXPECT_EQ(layer.geometry().hashes, expected[i].hashes);
    EXPECT_EQ(layer.geometry().capacity, expected[i].capacity);
    EXPECT_EQ(layer.item_count(), expected[i].size);
    EXPECT_EQ(layer.geometry().rate, expected[i].rate);
  }
}

TEST(BloomFilter, ReportsRedisBloomsSizes) {
  const auto size = [](double rate, int64_t capacity, bool nonscaling) {
    return filter_of({.rate = rate,
                      .capacity = capacity,
                      .nonscaling = nonscaling,
                      .layout = LayoutChoice::kClassic})
        ->info_size_bytes();
  };
  EXPECT_EQ(size(0.001, 100, false), 296u);
  EXPECT_EQ(size(0.01, 100, false), 240u);
  EXPECT_EQ(size(0.01, 3, true), 104u);
  EXPECT_EQ(size(0.001, 2000, false), 4056u);
}

TEST(BloomFilter, OfAHundredItemsTakesAFewHundredBytes) {
  auto filter = filter_of({.rate = 0.01, .capacity = 100});
  EXPECT_LE(filter->memory_bytes(), 400u);
}

TEST(BloomFilter, CallsBeforeChangeOnceForNewItemsOnlyAndBeforeTheyAreSeen) {
  auto filter = filter_of({.capacity = 100, .nonscaling = true});
  int calls = 0;
  const ItemHash hash = filter->hash("a");
  const auto before = [&] {
    ++calls;
    EXPECT_FALSE(filter->contains(hash));
    EXPECT_EQ(filter->item_count(), 1u);
  };
  EXPECT_EQ(filter->add(hash, stripes(), before), AddOutcome::kAdded);
  EXPECT_EQ(filter->add(hash, stripes(), before), AddOutcome::kPresent);
  EXPECT_EQ(calls, 1);
}

TEST(BloomFilter, ExplicitDimensionsNeverFillAndNeverGrow) {
  auto filter = BloomFilter::create(explicit_params(18, 3), 1, 1);
  int added = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const AddOutcome outcome = filter->add(filter->hash(Item(1, i).view()), stripes());
    ASSERT_TRUE(outcome == AddOutcome::kAdded || outcome == AddOutcome::kPresent);
    added += outcome == AddOutcome::kAdded ? 1 : 0;
  }
  EXPECT_LE(added, 18);
  EXPECT_EQ(filter->stats().fill_ratio, 1.0);
  EXPECT_EQ(filter->stats().current_rate, 1.0);
  EXPECT_TRUE(filter->layer(0).padding_is_clear());
  EXPECT_EQ(filter->grow(), GrowError::kNotScaling);
}

TEST(BloomFilter, MergeIsTheUnion) {
  for (const LayoutChoice layout : kLayouts) {
    const BloomRequest request{.capacity = 10'000, .layout = layout};
    auto a = filter_of(request), b = filter_of(request), both = filter_of(request);
    for (uint64_t i = 0; i < 4'000; ++i) {
      add_growing(*a, Item(1, i).view());
      add_growing(*b, Item(2, i).view());
      add_growing(*both, Item(1, i).view());
    }
    for (uint64_t i = 0; i < 4'000; ++i) add_growing(*both, Item(2, i).view());
    const uint64_t sum = a->item_count() + b->item_count();
    const uint64_t changes = a->change_count();
    ASSERT_EQ(a->merge(*b), MergeError::kNone);
    EXPECT_EQ(a->item_count(), sum);
    EXPECT_GT(a->change_count(), changes);
    a->mutable_layer(0).set_item_count(both->item_count());
    EXPECT_EQ(a->digest(), both->digest());
  }
}

TEST(BloomFilter, MergeSaysWhatDiffers) {
  const auto error = [](const BloomFilter& a, const BloomFilter& b) { return a.merge_error(b); };
  auto base = filter_of({.capacity = 1000});
  EXPECT_EQ(error(*base, *filter_of({.capacity = 1000}, 2)), MergeError::kSeed);
  EXPECT_EQ(error(*base, *filter_of({.capacity = 1000, .layout = LayoutChoice::kPaged})),
            MergeError::kLayout);
  EXPECT_EQ(error(*base, *filter_of({.capacity = 2000})), MergeError::kBits);
  auto grown = filter_of({.capacity = 1000});
  ASSERT_EQ(grown->grow(), GrowError::kNone);
  EXPECT_EQ(error(*base, *grown), MergeError::kLayerCount);
  auto three = BloomFilter::create(explicit_params(1000, 3), 1, 1);
  auto four = BloomFilter::create(explicit_params(1000, 4), 1, 1);
  EXPECT_EQ(error(*three, *four), MergeError::kHashes);
  // One block serves 10 items as well as 11, but the promise is another.
  EXPECT_EQ(error(*filter_of({.capacity = 10}), *filter_of({.capacity = 11})),
            MergeError::kCapacity);
}

TEST(BloomFilter, AMergeBeyondTheCapacityLeavesTheLayerFull) {
  auto a = filter_of({.capacity = 10, .nonscaling = true});
  auto b = filter_of({.capacity = 10, .nonscaling = true});
  fill_to(*a, 1, 10);
  fill_to(*b, 2, 10);
  ASSERT_EQ(a->merge(*b), MergeError::kNone);
  EXPECT_EQ(a->item_count(), 20u);
  uint64_t fresh = 0;
  while (a->contains(a->hash(Item(3, fresh).view()))) ++fresh;
  EXPECT_EQ(a->add(a->hash(Item(3, fresh).view()), stripes()), AddOutcome::kFull);
  a->mutable_layer(0).set_item_count(kMaxLayerItems);
  ASSERT_EQ(a->merge(*b), MergeError::kNone);
  EXPECT_EQ(a->item_count(), kMaxLayerItems);
}

TEST(BloomFilter, DigestTellsEveryDifference) {
  auto filter = filter_of({.capacity = 1000});
  fill_to(*filter, 1, 500);
  const ContentDigest digest = filter->digest();
  auto copy = filter->clone(77);
  EXPECT_EQ(copy->id(), 77u);
  EXPECT_EQ(copy->digest(), digest);
  copy->mutable_layer(0).set_item_count(499);
  EXPECT_NE(copy->digest(), digest);
  copy->mutable_layer(0).set_item_count(500);
  copy->mutable_layer(0).cells()[10] ^= std::byte{4};
  EXPECT_NE(copy->digest(), digest);
  EXPECT_NE(filter_of({.capacity = 1000})->digest(), filter_of({.capacity = 1001})->digest());
  EXPECT_NE(filter_of({.capacity = 1000}, 1)->digest(), filter_of({.capacity = 1000}, 2)->digest());
}

TEST(BloomFilter, ReplayOfAddsGivesTheSameFilter) {
  auto filter = filter_of({.capacity = 100});
  auto replayed = filter_of({.capacity = 100});
  for (uint64_t i = 0; i < 1000; ++i) {
    const ItemHash hash = filter->hash(Item(1, i).view());
    if (!add_growing(*filter, Item(1, i).view())) continue;
    while (replayed->layer_count() < filter->layer_count()) {
      ASSERT_EQ(replayed->grow(), GrowError::kNone);
    }
    replayed->apply_add(filter->layer_count() - 1, hash, 1);
  }
  EXPECT_GT(filter->layer_count(), 3u);
  EXPECT_EQ(replayed->digest(), filter->digest());
}

TEST(BloomFilter, StatsEstimateTheRateFromTheFill) {
  for (const LayoutChoice layout : kLayouts) {
    auto filter = filter_of({.rate = 0.01, .capacity = 50'000, .layout = layout});
    EXPECT_EQ(filter->stats().fill_ratio, 0.0);
    EXPECT_EQ(filter->stats().current_rate, 0.0);
    fill_to(*filter, 1, 150'000);
    const BloomStats stats = filter->stats();
    const double measured = static_cast<double>(count_false_positives(*filter, 2, 1'000'000)) / 1e6;
    // 5 sigma of the probes, and 3 % for what the estimate leaves out.
    EXPECT_NEAR(stats.current_rate, measured, 5 * std::sqrt(measured / 1e6) + 0.03 * measured);
    EXPECT_GT(stats.fill_ratio, 0.3);
    EXPECT_LT(stats.fill_ratio, 0.6);
    EXPECT_EQ(stats.promised_rate, 0.01);
  }
}

TEST(BloomFilter, StatsOfABigFilterAreSampled) {
  auto filter = filter_of({.rate = 0.01, .capacity = 40'000'000, .nonscaling = true});
  for (uint64_t i = 0; i < 2'000'000; ++i) add_growing(*filter, Item(1, i).view());
  const double expected = 1 - std::exp(-2e6 * filter->layer(0).geometry().hashes /
                                       static_cast<double>(filter->layer(0).geometry().bits));
  EXPECT_NEAR(filter->stats().fill_ratio, expected, 0.01 * expected);
}

TEST(BloomFilter, ChunksCoverEveryLayerAndHoldTheirItems) {
  for (const LayoutChoice layout : kLayouts) {
    auto filter = filter_of({.capacity = 300'000, .layout = layout});
    const BloomLayer& layer = filter->layer(0);
    uint64_t covered = 0;
    for (uint64_t chunk = 0; chunk < layer.chunks(); ++chunk) {
      const auto [first, length] = layer.chunk_range(chunk);
      EXPECT_EQ(first, covered);
      covered += length;
    }
    EXPECT_EQ(covered, layer.geometry().cell_bytes());
    EXPECT_EQ(filter->stripes().size(), layer.chunks());
    for (uint64_t i = 0; i < 200; ++i) {
      const ItemHash hash = filter->hash(Item(1, i).view());
      EXPECT_TRUE(filter->stripes().has(filter->stripe_of(hash)));
      const auto [first, length] = layer.chunk_range(layer.chunk_of(hash));
      auto alone = filter_of({.capacity = 300'000, .layout = layout});
      if (i > 3) continue;  // the exact place of the bits, for a few
      alone->add(hash, stripes());
      const auto cells = alone->layer(0).cells();
      for (size_t byte = 0; byte < cells.size(); ++byte) {
        if (cells[byte] == std::byte{0}) continue;
        EXPECT_TRUE(byte >= first && byte < first + length);
      }
    }
  }
}

}  // namespace
}  // namespace iris::filters
