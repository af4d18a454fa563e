// Out and in again, by pieces and as one text; RedisBloom's format byte by byte.
#include "filters/bloom_dump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "filters/bloom_loader.h"
#include "filters/little_endian.h"
#include "tests/unit/filters/bloom_test_support.h"

namespace iris::filters {
namespace {

using testing::add_growing;
using testing::explicit_params;
using testing::fill_to;
using testing::filter_of;
using testing::Item;

constexpr uint64_t kNoLimit = UINT64_MAX;

using Pieces = std::vector<std::pair<int64_t, std::string>>;

Pieces dump(const BloomFilter& filter) {
  Pieces pieces;
  for (int64_t iterator = 0;;) {
    DumpStep step = dump_step(filter, iterator);
    if (step.next_iterator == 0) {
      EXPECT_TRUE(step.data.empty());
      return pieces;
    }
    EXPECT_LE(step.data.size(), kMaxDumpPieceBytes);
    iterator = static_cast<int64_t>(step.next_iterator);
    pieces.emplace_back(iterator, std::move(step.data));
  }
}

std::unique_ptr<BloomLoader> started(const std::string& header) {
  auto loader = BloomLoader::start(header, 42, kNoLimit);
  EXPECT_TRUE(std::holds_alternative<std::unique_ptr<BloomLoader>>(loader));
  return std::move(std::get<0>(loader));
}

std::unique_ptr<BloomFilter> load(const Pieces& pieces) {
  auto loader = started(pieces.front().second);
  for (size_t i = 1; i < pieces.size(); ++i) {
    EXPECT_FALSE(loader->complete());
    EXPECT_EQ(loader->load(pieces[i].first, pieces[i].second), LoadError::kNone);
  }
  EXPECT_TRUE(loader->complete());
  return loader->take();
}

// One of each kind, grown where it can grow.
std::vector<std::unique_ptr<BloomFilter>> all_kinds() {
  std::vector<std::unique_ptr<BloomFilter>> filters;
  for (const LayoutChoice layout : {LayoutChoice::kAuto, LayoutChoice::kBlocked,
                                    LayoutChoice::kPaged, LayoutChoice::kClassic}) {
    for (const bool nonscaling : {false, true}) {
      filters.push_back(filter_of(
          {.rate = 0.003, .capacity = 500, .nonscaling = nonscaling, .layout = layout}, 9));
      fill_to(*filters.back(), 1, nonscaling ? 400 : 9000);
    }
  }
  for (const int64_t bits : {1, 18, 64, 1003}) {
    filters.push_back(BloomFilter::create(explicit_params(bits, 3), 1, 9));
    for (uint64_t i = 0; i < 100; ++i) add_growing(*filters.back(), Item(1, i).view());
  }
  return filters;
}

TEST(BloomDump, ComesBackEqualByPieces) {
  for (const auto& filter : all_kinds()) {
    auto loaded = load(dump(*filter));
    EXPECT_EQ(loaded->digest(), filter->digest());
    EXPECT_EQ(loaded->id(), 42u);
    EXPECT_EQ(loaded->next_layer_bytes(), filter->next_layer_bytes());
  }
}

TEST(BloomDump, ComesBackEqualAsOneText) {
  for (const auto& filter : all_kinds()) {
    auto loaded = deserialize(serialize(*filter), 42, kNoLimit);
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<BloomFilter>>(loaded));
    EXPECT_EQ(std::get<0>(loaded)->digest(), filter->digest());
  }
}

TEST(BloomDump, AFilterMergedBeyondItsCapacityComesBack) {
  for (const LayoutChoice layout : {LayoutChoice::kBlocked, LayoutChoice::kClassic}) {
    auto filter = filter_of({.capacity = 100, .nonscaling = true, .layout = layout});
    auto other = filter_of({.capacity = 100, .nonscaling = true, .layout = layout});
    fill_to(*filter, 1, 100);
    fill_to(*other, 2, 100);
    ASSERT_EQ(filter->merge(*other), MergeError::kNone);
    EXPECT_EQ(load(dump(*filter))->digest(), filter->digest());
    auto loaded = deserialize(serialize(*filter), 42, kNoLimit);
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<BloomFilter>>(loaded));
    EXPECT_EQ(std::get<0>(loaded)->digest(), filter->digest());
  }
}

TEST(BloomDump, PiecesMayComeInAnyOrderAndTwice) {
  std::mt19937_64 random(20240607);
  for (const auto& filter : all_kinds()) {
    Pieces pieces = dump(*filter);
    auto loader = started(pieces.front().second);
    std::shuffle(pieces.begin() + 1, pieces.end(), random);
    for (size_t i = 1; i < pieces.size(); ++i) {
      EXPECT_EQ(loader->load(pieces[i].first, pieces[i].second), LoadError::kNone);
      EXPECT_EQ(loader->load(pieces[i].first, pieces[i].second), LoadError::kNone);
      EXPECT_EQ(loader->complete(), i + 1 == pieces.size());
    }
    EXPECT_EQ(loader->take()->digest(), filter->digest());
  }
}

TEST(BloomDump, PiecesAreAtMost16MiBAndNeverCrossALayer) {
  for (const LayoutChoice layout : {LayoutChoice::kBlocked, LayoutChoice::kClassic}) {
    auto filter = filter_of({.rate = 0.01, .capacity = 20'000'000, .layout = layout});
    ASSERT_EQ(filter->grow(), GrowError::kNone);
    for (uint64_t i = 0; i < 100'000; ++i) add_growing(*filter, Item(1, i).view());
    const Pieces pieces = dump(*filter);
    const uint64_t own = layout == LayoutChoice::kBlocked ? kDumpChecksumBytes : 0;
    uint64_t offset = 0;
    const uint64_t boundary = filter->layer(0).cells().size();
    for (size_t i = 1; i < pieces.size(); ++i) {
      const uint64_t length = pieces[i].second.size() - own;
      EXPECT_EQ(static_cast<uint64_t>(pieces[i].first), 1 + offset + length);
      EXPECT_TRUE(offset + length <= boundary || offset >= boundary);
      offset += length;
    }
    EXPECT_EQ(offset, filter->cell_bytes());
    EXPECT_GE(pieces.size(), 6u);
    EXPECT_EQ(load(pieces)->digest(), filter->digest());
  }
}

TEST(BloomDump, AnyIteratorIsSafe) {
  for (const auto& filter : all_kinds()) {
    const auto bytes = static_cast<int64_t>(filter->cell_bytes());
    for (const int64_t iterator : {INT64_MIN, int64_t{-1}, bytes + 1, bytes + 2, INT64_MAX}) {
      EXPECT_EQ(dump_step(*filter, iterator).next_iterator, 0u) << iterator;
    }
    EXPECT_EQ(dump_step(*filter, bytes).next_iterator, static_cast<uint64_t>(bytes) + 1);
  }
}

TEST(BloomDump, ClassicHeaderIsRedisBlooms) {
  auto filter = filter_of({.rate = 0.01, .capacity = 10, .layout = LayoutChoice::kClassic});
  for (int i = 0; i < 100; ++i) add_growing(*filter, std::to_string(i));
  const std::string header = dump_step(*filter, 0).data;
  ASSERT_EQ(header.size(), 20u + 53 * 4);
  FieldReader in(header);
  EXPECT_EQ(in.get<uint64_t>(), 99u);
  EXPECT_EQ(in.get<uint32_t>(), 4u);
  EXPECT_EQ(in.get<uint32_t>(), 5u);
  EXPECT_EQ(in.get<uint32_t>(), 2u);
  EXPECT_EQ(in.get<uint64_t>(), 16u);
  EXPECT_EQ(in.get<uint64_t>(), 128u);
  EXPECT_EQ(in.get<uint64_t>(), 10u);
  EXPECT_EQ(in.get<double>(), 0.005);
  EXPECT_NEAR(in.get<double>(), 11.0277, 0.0001);
  EXPECT_EQ(in.get<uint32_t>(), 8u);
  EXPECT_EQ(in.get<uint64_t>(), 10u);
  EXPECT_EQ(in.get<uint8_t>(), 0u);
  EXPECT_EQ(in.rest().size(), 53u * 3);
  auto fixed = filter_of({.nonscaling = true, .layout = LayoutChoice::kClassic});
  EXPECT_EQ(FieldReader(std::string_view(dump_step(*fixed, 0).data).substr(12)).get<uint32_t>(),
            13u);
}

// Bit x of the array is byte x / 8, mask 1 << (x % 8), at (h1 + i * h2) mod bits.
TEST(BloomDump, ClassicBitsLieWhereRedisBloomPutsThem) {
  auto filter = filter_of({.rate = 0.01, .capacity = 1000, .layout = LayoutChoice::kClassic});
  add_growing(*filter, "hello");
  const LayerGeometry& geometry = filter->layer(0).geometry();
  std::string expected(geometry.cell_bytes(), '\0');
  const uint64_t h1 = murmur_hash_64a("hello", 0xc6a4a7935bd1e995ULL);
  const uint64_t h2 = murmur_hash_64a("hello", h1);
  for (uint64_t i = 0; i < geometry.hashes; ++i) {
    const uint64_t x = (h1 + i * h2) % geometry.bits;
    expected[x >> 3] = static_cast<char>(expected[x >> 3] | 1 << (x & 7));
  }
  EXPECT_EQ(dump_step(*filter, 1).data, expected);
}

}  // namespace
}  // namespace iris::filters
