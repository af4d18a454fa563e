// A layer's counters, digits and extensions together, against plain arrays of 64-bit numbers.
#include "filters/spectral_layer.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "tests/unit/filters/spectral_test_support.h"

namespace iris::filters {
namespace {

using BlockValues = SpectralLayer::BlockValues;

std::unique_ptr<SpectralLayer> layer_of(uint64_t blocks) {
  return SpectralLayer::make({.layout = SpectralLayout::kBlocked,
                              .hashes = 6,
                              .cells = blocks * kBlockCells,
                              .capacity = 1000,
                              .rate = 0.01});
}

// Of any width, small ones most often.
uint64_t some_count(std::mt19937_64& random) {
  const uint64_t bits = random() % 8 < 6 ? random() % 5 : random() % 64;
  return bits == 0 ? 0 : random() >> (64 - bits);
}

uint64_t nonzero(const BlockValues& values) {
  return kBlockCells - static_cast<uint64_t>(std::count(values.begin(), values.end(), 0));
}

class Model {
 public:
  explicit Model(uint64_t blocks) : layer_(layer_of(blocks)), values_(blocks) {}

  SpectralLayer& layer() { return *layer_; }
  BlockValues& values(uint64_t block) { return values_[block]; }
  uint64_t blocks() const { return values_.size(); }

  void verify() const {
    uint64_t cells = 0;
    BlockValues read;
    for (uint64_t block = 0; block < values_.size(); ++block) {
      layer_->read_block(block, read);
      ASSERT_EQ(read, values_[block]) << "block " << block;
      cells += nonzero(read);
    }
    ASSERT_EQ(layer_->nonzero_cells(), cells);
    uint64_t bytes = 0, extended = 0;
    for (uint64_t chunk = 0; chunk < layer_->chunk_count(); ++chunk) {
      bytes += layer_->arena(chunk).booked_bytes();
      for (const SpectralBlock& block : std::as_const(*layer_).chunk(chunk)) {
        extended += block.link != 0 ? 1 : 0;
      }
    }
    ASSERT_EQ(layer_->extension_bytes(), bytes);
    ASSERT_EQ(layer_->extended_blocks(), extended);
  }

 private:
  std::unique_ptr<SpectralLayer> layer_;
  std::vector<BlockValues> values_;
};

TEST(SpectralLayer, BlocksKeepAnyCountersThroughRewritesAndCompaction) {
  const uint64_t seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Model model(1500);  // two chunks, the second not whole
  for (uint64_t round = 0; round < 30000; ++round) {
    const uint64_t block = random() % model.blocks();
    BlockValues& values = model.values(block);
    const uint64_t changes = random() % 30;
    for (uint64_t i = 0; i < changes; ++i) values[random() % kBlockCells] = some_count(random);
    if (random() % 50 == 0) values.fill(0);
    ASSERT_TRUE(model.layer().write_block(block, values));
    if (round % 5000 == 4999) {
      model.verify();
      model.layer().compact_chunk(round % 2);
      model.verify();
    }
  }
}

// All kinds of plan, at the borders between them: counts about 6, 7, 8, and about the limits of
// each width. Also where the machine would have a quicker one.
TEST(SpectralLayer, EditsChangeTheCellsOfTheItemAndNoOthers) {
  const uint64_t seed = 12;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Model model(40);
  ItemCells item;
  CellPlan plan;
  const std::vector<uint64_t> amounts = {1, 1, 1, 1, 1, 2, 6, 7, 255, 256, 65536, 1ULL << 33};
  for (int round = 0; round < 300000; ++round) {
    const ItemHash hash{random() % 60 * 0x0444444444444444ULL, random() % 3};
    model.layer().locate(hash, item);
    ASSERT_EQ(item.count, 1u);
    BlockValues& values = model.values(item.groups[0].block);
    uint64_t count = UINT64_MAX;
    item.groups[0].cells.for_each([&](uint32_t c) { count = std::min(count, values[c]); });
    ASSERT_EQ(model.layer().estimate(item), count);
    const auto kind = static_cast<SpectralEditKind>(random() % 4);
    uint64_t amount = amounts[random() % amounts.size()];
    if (kind == SpectralEditKind::kSubtract && random() % 4 == 0)
      amount = std::max<uint64_t>(count, 1);
    if (random() % 2 == 0) {
      model.layer().plan(item, {kind, amount}, plan);
    } else {
      model.layer().plan_any(item, {kind, amount}, plan);
    }
    ASSERT_EQ(plan.before, count);
    ASSERT_EQ(plan.possible, kind != SpectralEditKind::kSubtract || count >= amount);
    if (!plan.possible) continue;
    uint64_t after = UINT64_MAX;
    item.groups[0].cells.for_each([&](uint32_t c) {
      switch (kind) {
        case SpectralEditKind::kAdd:
          values[c] += amount;
          break;
        case SpectralEditKind::kSubtract:
          values[c] -= amount;
          break;
        case SpectralEditKind::kRaise:
          values[c] = std::max(values[c], amount);
          break;
        case SpectralEditKind::kIncrease:
          values[c] = std::max(values[c], count + amount);
          break;
      }
      after = std::min(after, values[c]);
    });
    ASSERT_EQ(plan.after, after) << "kind " << static_cast<int>(kind) << " by " << amount;
    ASSERT_TRUE(model.layer().reserve(item, plan));
    model.layer().change_nonzero(plan.nonzero_change);
    model.layer().apply(item, plan);
    if (round % 3 == 0) model.layer().trim(item);
    if (round % 20000 == 0) model.verify();
  }
  model.verify();
}

TEST(SpectralLayer, MemoryOfExtensionsComesBackAsCountsFall) {
  Model model(1024);
  std::mt19937_64 random(13);
  ItemCells item;
  CellPlan plan;
  std::vector<ItemHash> items;
  for (int i = 0; i < 2000; ++i) items.push_back({random(), random()});
  const auto apply = [&](const ItemHash& hash, SpectralEdit edit) {
    model.layer().locate(hash, item);
    model.layer().plan(item, edit, plan);
    ASSERT_TRUE(plan.possible && model.layer().reserve(item, plan));
    model.layer().change_nonzero(plan.nonzero_change);
    model.layer().apply(item, plan);
    model.layer().trim(item);
  };
  for (const ItemHash& hash : items) apply(hash, {SpectralEditKind::kAdd, 1000000});
  const uint64_t most = model.layer().extension_bytes();
  EXPECT_GT(most, 2000u * 6 * 4);
  for (size_t i = 0; i < items.size() / 2; ++i) {
    apply(items[i], {SpectralEditKind::kSubtract, 1000000});
  }
  EXPECT_LT(model.layer().extension_bytes(), most * 3 / 4);
  const uint64_t half = model.layer().extension_bytes();
  model.layer().compact_chunk(0);
  EXPECT_LE(model.layer().extension_bytes(), half);
  for (size_t i = items.size() / 2; i < items.size(); ++i) {
    apply(items[i], {SpectralEditKind::kSubtract, 1000000});
  }
  EXPECT_EQ(model.layer().extension_bytes(), 0u);
  EXPECT_EQ(model.layer().nonzero_cells(), 0u);
}

TEST(SpectralLayer, CountersThatCoincideInAClassicItemCountOnce) {
  auto layer = SpectralLayer::make({.layout = SpectralLayout::kClassic,
                                    .hashes = 64,
                                    .cells = 10,
                                    .capacity = SpectralGeometry::kUnlimited,
                                    .rate = 0});
  ItemCells item;
  CellPlan plan;
  layer->locate({123, 456}, item);
  layer->plan(item, {SpectralEditKind::kAdd, 1}, plan);
  EXPECT_EQ(plan.after, 1u);
  EXPECT_LE(plan.nonzero_change, 10);
  ASSERT_TRUE(layer->reserve(item, plan));
  layer->apply(item, plan);
  EXPECT_EQ(layer->estimate(item), 1u);
}

// With removals the number of items is first brought to what the cells allow: here far above the
// capacity, since nearly all of them count something.
TEST(SpectralLayer, APlaceThatIsRefusedLeavesTheNumberOfItemsAsItWas) {
  const auto layer = layer_of(40);  // for 1000 items
  BlockValues values;
  values.fill(1);
  for (uint64_t block = 0; block < 39; ++block) ASSERT_TRUE(layer->write_block(block, values));
  layer->change_items(990);
  EXPECT_EQ(layer->try_add_items(1, 0, true), std::nullopt);
  EXPECT_EQ(layer->items(), 990u);
  EXPECT_EQ(layer->try_add_items(1, 0, false), 1) << "without removals there is a place";
}

}  // namespace
}  // namespace iris::filters
