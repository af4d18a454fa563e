// Forgeries. Every byte that comes from outside may be a lie: nothing here may crash, allocate
// beyond the limit, write outside of its target, or publish half a filter.
#include "filters/bloom_loader.h"

#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "filters/bloom_dump.h"
#include "tests/unit/filters/bloom_test_support.h"

namespace iris::filters {
namespace {

using testing::add_growing;
using testing::explicit_params;
using testing::fill_to;
using testing::filter_of;
using testing::Item;
using testing::stripes;

constexpr uint64_t kLimit = uint64_t{64} << 20;

// Offsets in RedisBloom's header, of the fixed part and of the first layer.
enum RedisField : size_t {
  kItems = 0,
  kLayers = 8,
  kOptions = 12,
  kGrowth = 16,
  kBytes = 20,
  kBits = 28,
  kLayerItems = 36,
  kError = 44,
  kBpe = 52,
  kHashes = 60,
  kEntries = 64,
  kLog2Bits = 72,
};

template <typename T>
std::string with(std::string header, size_t at, T value) {
  header.replace(at, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
  return header;
}

// A forger can compute checksums too.
std::string resealed(std::string text) {
  if (text.size() < 8) return text;
  const size_t covered = text.size() - 8;
  return with<uint64_t>(text, covered, XXH3_64bits(text.data(), covered));
}

LoadError error_of(const std::string& header, uint64_t limit = kLimit) {
  auto started = BloomLoader::start(header, 1, limit);
  const LoadError* error = std::get_if<LoadError>(&started);
  return error == nullptr ? LoadError::kNone : *error;
}

std::unique_ptr<BloomLoader> started(const std::string& header) {
  auto loader = BloomLoader::start(header, 1, kLimit);
  EXPECT_TRUE(std::holds_alternative<std::unique_ptr<BloomLoader>>(loader));
  return std::move(std::get<0>(loader));
}

std::unique_ptr<BloomFilter> classic(bool nonscaling = false) {
  auto filter = filter_of(
      {.rate = 0.01, .capacity = 100, .nonscaling = nonscaling, .layout = LayoutChoice::kClassic});
  fill_to(*filter, 1, 60);
  return filter;
}

// Takes whatever was accepted through all that a client could do with it.
void use(BloomFilter& filter) {
  for (uint64_t i = 0; i < 50; ++i) {
    const ItemHash hash = filter.hash(Item(7, i).view());
    filter.prefetch(hash);
    if (filter.add(hash, stripes()) == AddOutcome::kAdded) {
      EXPECT_TRUE(filter.contains(hash));
    }
  }
  (void)filter.stats();
  (void)filter.digest();
  if (filter.next_layer_bytes().value_or(kLimit) < kLimit) (void)filter.grow();
  auto again = deserialize(serialize(filter), 1, UINT64_MAX);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<BloomFilter>>(again));
  EXPECT_EQ(std::get<0>(again)->digest(), filter.digest());
}

TEST(BloomLoader, RefusesForgedRedisBloomHeaders) {
  const std::string good = dump_step(*classic(), 0).data;
  ASSERT_EQ(error_of(good), LoadError::kNone);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::string> forged = {
      with<uint64_t>(good, kItems, 61),
      with<uint64_t>(good, kItems, UINT64_MAX),
      with<uint32_t>(good, kLayers, 0),
      with<uint32_t>(good, kLayers, 2),
      with<uint32_t>(good, kLayers, UINT32_MAX),
      with<uint32_t>(good, kOptions, 0),
      with<uint32_t>(good, kOptions, 1),  // 32-bit hashes
      with<uint32_t>(good, kOptions, 7),  // an unknown option
      with<uint32_t>(good, kOptions, 0x80000005),
      with<uint32_t>(good, kGrowth, 0),  // scaling by nothing
      with<uint32_t>(good, kGrowth, 32769),
      with<uint32_t>(good, kGrowth, UINT32_MAX),
      with<uint64_t>(good, kBytes, 0),
      with<uint64_t>(good, kBytes, uint64_t{1} << 61),  // times 8 wraps to 0
      with<uint64_t>(with<uint64_t>(good, kBytes, uint64_t{1} << 61), kBits, 0),
      with<uint64_t>(with<uint64_t>(good, kBytes, 0), kBits, 0),
      with<uint64_t>(good, kBits, 64),
      with<uint64_t>(good, kBits, UINT64_MAX),
      with<uint64_t>(good, kLayerItems, UINT64_MAX),
      with<uint64_t>(with<uint64_t>(good, kLayerItems, UINT64_MAX), kItems, UINT64_MAX),
      with<double>(good, kError, 0),
      with<double>(good, kError, 1),
      with<double>(good, kError, -0.005),
      with<double>(good, kError, kNan),
      with<double>(good, kError, 1e-320),
      with<double>(good, kError, std::numeric_limits<double>::infinity()),
      with<double>(good, kBpe, kNan),
      with<double>(good, kBpe, 1e300),
      with<double>(good, kBpe, 0),
      with<uint32_t>(good, kHashes, 0),
      with<uint32_t>(good, kHashes, 9),
      with<uint32_t>(good, kHashes, UINT32_MAX),
      with<uint64_t>(good, kEntries, 0),
      with<uint64_t>(good, kEntries, UINT64_MAX),
      with<uint64_t>(good, kEntries, (uint64_t{1} << 40) + 1),
      with<uint8_t>(good, kLog2Bits, 64),
      with<uint8_t>(good, kLog2Bits, 5),
  };
  for (size_t i = 0; i < forged.size(); ++i) {
    EXPECT_EQ(error_of(forged[i]), LoadError::kBadData) << "forgery " << i;
  }
}

TEST(BloomLoader, RefusesHeadersOfAnotherLength) {
  for (const std::string& good :
       {dump_step(*classic(), 0).data, dump_step(*filter_of({.capacity = 10}), 0).data}) {
    for (size_t length = 0; length < good.size(); ++length) {
      EXPECT_EQ(error_of(good.substr(0, length)), LoadError::kBadData) << length;
    }
    EXPECT_EQ(error_of(good + "x"), LoadError::kBadData);
  }
}

TEST(BloomLoader, TwoLayersOfAFilterThatDoesNotScaleAreAForgery) {
  auto filter = classic();
  ASSERT_EQ(filter->grow(), GrowError::kNone);
  const std::string good = dump_step(*filter, 0).data;
  ASSERT_EQ(error_of(good), LoadError::kNone);
  EXPECT_EQ(error_of(with<uint32_t>(good, kOptions, 13)), LoadError::kBadData);
}

TEST(BloomLoader, AsksForTheMemoryBeforeItTakesAny) {
  // 2^45 bytes in one honest-looking layer.
  const std::string good = dump_step(*classic(), 0).data;
  const std::string huge =
      with<uint64_t>(with<uint64_t>(good, kBytes, uint64_t{1} << 45), kBits, uint64_t{1} << 48);
  const uint64_t before = CellMemory::mapped_bytes();
  EXPECT_EQ(error_of(huge), LoadError::kTooLarge);
  EXPECT_EQ(error_of(huge, UINT64_MAX), LoadError::kTooLarge);
  EXPECT_EQ(CellMemory::mapped_bytes(), before);
  auto filter = classic();
  EXPECT_EQ(error_of(good, filter->memory_bytes()), LoadError::kNone);
  EXPECT_EQ(error_of(good, filter->memory_bytes() - 1), LoadError::kTooLarge);
  const std::string text = serialize(*filter);
  auto refused = deserialize(text, 1, filter->memory_bytes() - 1);
  ASSERT_TRUE(std::holds_alternative<LoadError>(refused));
  EXPECT_EQ(std::get<LoadError>(refused), LoadError::kTooLarge);
}

// RedisBloom's older geometry: powers of two, with positions masked instead of divided.
TEST(BloomLoader, AcceptsOtherGeometriesThatRedisBloomAccepts) {
  std::string header = dump_step(*classic(), 0).data;
  header = with<uint64_t>(with<uint64_t>(header, kBytes, 256), kBits, 2048);
  header = with<uint8_t>(header, kLog2Bits, 11);
  auto loader = started(header);
  ASSERT_EQ(loader->load(257, std::string(256, '\x11')), LoadError::kNone);
  ASSERT_TRUE(loader->complete());
  auto filter = loader->take();
  EXPECT_EQ(filter->layer(0).geometry().bits, 2048u);
  use(*filter);
}

TEST(BloomLoader, RefusesPiecesOutsideOfTheFilter) {
  auto filter = classic();
  ASSERT_EQ(filter->grow(), GrowError::kNone);
  auto loader = started(dump_step(*filter, 0).data);
  const auto first = static_cast<int64_t>(filter->layer(0).cells().size());
  const auto total = static_cast<int64_t>(filter->cell_bytes());
  const std::string eight(8, '\xff');
  for (const int64_t iterator : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{8},
                                 total + 9, total + 100, INT64_MAX}) {
    EXPECT_EQ(loader->load(iterator, eight), LoadError::kNoSuchOffset) << iterator;
  }
  EXPECT_EQ(loader->load(total + 2, eight), LoadError::kPieceTooBig);
  EXPECT_EQ(loader->load(total + 8, eight), LoadError::kPieceTooBig);
  EXPECT_EQ(loader->load(first + 5, eight), LoadError::kPieceTooBig);  // crosses the layers
  EXPECT_EQ(loader->load(1, ""), LoadError::kBadData);
  EXPECT_EQ(loader->load(total + 1, std::string(static_cast<size_t>(total), 'x')),
            LoadError::kPieceTooBig);
  EXPECT_FALSE(loader->complete());
  EXPECT_EQ(loader->load(9, eight), LoadError::kNone);
  EXPECT_EQ(loader->load(total + 1, eight), LoadError::kNone);
  EXPECT_FALSE(loader->complete());
}

TEST(BloomLoader, RemembersABoundedNumberOfRanges) {
  auto filter = filter_of({.capacity = 100'000, .layout = LayoutChoice::kClassic});
  auto loader = started(dump_step(*filter, 0).data);
  size_t accepted = 0;
  for (int64_t offset = 0; offset < 20'000; offset += 2) {
    accepted += loader->load(offset + 2, "x") == LoadError::kNone ? 1 : 0;
  }
  EXPECT_EQ(accepted, BloomLoader::kMaxRanges);
  // Filling a gap is always possible, and joins.
  EXPECT_EQ(loader->load(1 + 3 + 1, std::string(3, 'y')), LoadError::kNone);
  EXPECT_FALSE(loader->complete());
}

TEST(BloomLoader, RangesInAnyOrderJoin) {
  std::mt19937_64 random(11);
  auto filter = classic();
  const std::string cells = dump_step(*filter, 1).data;
  auto loader = started(dump_step(*filter, 0).data);
  std::vector<bool> come(cells.size(), false);
  size_t left = cells.size();
  while (left > 0) {
    const size_t first = random() % cells.size();
    const size_t length = 1 + random() % std::min<size_t>(9, cells.size() - first);
    EXPECT_FALSE(loader->complete());
    ASSERT_EQ(loader->load(static_cast<int64_t>(1 + first + length), cells.substr(first, length)),
              LoadError::kNone);
    for (size_t i = first; i < first + length; ++i) {
      left -= come[i] ? 0 : 1;
      come[i] = true;
    }
  }
  ASSERT_TRUE(loader->complete());
  EXPECT_EQ(loader->take()->digest(), filter->digest());
}

TEST(BloomLoader, NoticesEveryFlippedBitOfAnIrisDump) {
  auto filter = filter_of({.capacity = 20});
  fill_to(*filter, 1, 40);
  std::string text = serialize(*filter);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
    EXPECT_TRUE(std::holds_alternative<LoadError>(deserialize(text, 1, kLimit))) << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
  }
  std::string header = dump_step(*filter, 0).data;
  for (size_t bit = 0; bit < header.size() * 8; ++bit) {
    header[bit / 8] = static_cast<char>(header[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(error_of(header), LoadError::kBadData) << bit;
    header[bit / 8] = static_cast<char>(header[bit / 8] ^ 1 << bit % 8);
  }
  auto loader = started(header);
  DumpStep piece = dump_step(*filter, 1);
  const auto iterator = static_cast<int64_t>(piece.next_iterator);
  for (size_t bit = 0; bit < piece.data.size() * 8; ++bit) {
    piece.data[bit / 8] = static_cast<char>(piece.data[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(loader->load(iterator, piece.data), LoadError::kBadData) << bit;
    piece.data[bit / 8] = static_cast<char>(piece.data[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_EQ(loader->load(iterator + 64, piece.data), LoadError::kBadData);  // the wrong place
  EXPECT_EQ(loader->load(iterator, piece.data), LoadError::kNone);
}

TEST(BloomLoader, RefusesTruncatedTexts) {
  auto filter = filter_of({.capacity = 20});
  const std::string text = serialize(*filter);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_TRUE(std::holds_alternative<LoadError>(deserialize(text.substr(0, length), 1, kLimit)));
  }
  EXPECT_TRUE(std::holds_alternative<LoadError>(deserialize(text + "x", 1, kLimit)));
}

// Every field of an Iris header set to every kind of lie, with a right checksum: what is accepted
// must be a filter that works and can be saved again.
TEST(BloomLoader, ForgedIrisHeadersWithRightChecksumsAreRefusedOrHarmless) {
  auto grown = filter_of({.rate = 0.01, .capacity = 100});
  fill_to(*grown, 1, 300);
  auto fixed = BloomFilter::create(explicit_params(1003, 3), 1, 5);
  auto redis = classic();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  size_t refused = 0;
  for (const BloomFilter* filter : {grown.get(), fixed.get(), redis.get()}) {
    const std::string good = encode_header(*filter, HeaderFormat::kIris);
    std::vector<std::string> forged;
    for (size_t at = 8; at + 8 < good.size(); ++at) {
      for (const int byte : {0x00, 0x01, 0x04, 0x7f, 0x80, 0xff}) {
        forged.push_back(with(good, at, static_cast<uint8_t>(byte)));
      }
      if (at % 4 != 0 || at + 16 > good.size()) continue;
      for (const uint64_t word :
           {uint64_t{0}, uint64_t{1} << 40, uint64_t{1} << 48, uint64_t{1} << 63, UINT64_MAX,
            uint64_t{512}, uint64_t{1} << 61}) {
        forged.push_back(with<uint64_t>(good, at, word));
      }
      for (const double real : {0.0, -1.0, 0.3, 1.0, 1e-320, 1e300, kNan}) {
        forged.push_back(with<double>(good, at, real));
      }
    }
    for (const std::string& header : forged) {
      auto loader = BloomLoader::start(resealed(header), 1, kLimit);
      if (std::holds_alternative<LoadError>(loader)) {
        ++refused;
        continue;
      }
      auto decoded = decode_header(resealed(header));
      auto made = filter_from_header(*decoded, 1, kLimit);
      ASSERT_TRUE(std::holds_alternative<std::unique_ptr<BloomFilter>>(made));
      use(*std::get<0>(made));
    }
  }
  EXPECT_GT(refused, 1000u);
}

TEST(BloomLoader, RefusesBitsBeyondAnExplicitLength) {
  auto filter = BloomFilter::create(explicit_params(18, 3), 1, 5);
  std::string text = serialize(*filter);
  const size_t last_cell = text.size() - 9;
  text[last_cell] = '\x02';  // bit 17, the last one
  EXPECT_TRUE(
      std::holds_alternative<std::unique_ptr<BloomFilter>>(deserialize(resealed(text), 1, kLimit)));
  text[last_cell] = '\x04';  // bit 18
  EXPECT_TRUE(std::holds_alternative<LoadError>(deserialize(resealed(text), 1, kLimit)));

  auto loader = started(dump_step(*filter, 0).data);
  std::string piece("\0\0\x04", 3);
  const uint64_t checksum = dump_checksum({reinterpret_cast<const std::byte*>(piece.data()), 3}, 0);
  piece.append(reinterpret_cast<const char*>(&checksum), 8);
  EXPECT_EQ(loader->load(4, piece), LoadError::kBadData);
}

// Noise, and good dumps with noise in them.
TEST(BloomLoader, SurvivesRandomBytes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::array good = {dump_step(*classic(), 0).data, dump_step(*classic(true), 0).data,
                           dump_step(*filter_of({.capacity = 10}), 0).data,
                           serialize(*filter_of({.capacity = 10}))};
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good[random() % good.size()];
    for (uint64_t i = 1 + random() % 4; i > 0; --i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (round % 3 == 0) bytes.resize(random() % (bytes.size() + 1));
    if (round % 2 == 0 && bytes.size() > 8) bytes = resealed(bytes);
    auto loader = BloomLoader::start(bytes, 1, kLimit);
    if (auto* ready = std::get_if<std::unique_ptr<BloomLoader>>(&loader)) {
      const std::string piece(random() % 300, '\x55');
      (void)(*ready)->load(static_cast<int64_t>(random() >> random() % 64), piece);
    }
    auto filter = deserialize(bytes, 1, kLimit);
    if (auto* ready = std::get_if<std::unique_ptr<BloomFilter>>(&filter)) use(**ready);
  }
}

}  // namespace
}  // namespace iris::filters
