// Dumps that come back equal, and dumps that must not: cut, flipped, forged, or not ours at all.
#include "filters/spectral_dump.h"

#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "filters/spectral_chunk.h"
#include "tests/unit/filters/spectral_test_support.h"

namespace iris::filters {
namespace {

using testing::classic_of;
using testing::filter_of;
using testing::increment_growing;
using testing::item;
using testing::stripes;

constexpr uint64_t kLimit = 64 << 20;

std::unique_ptr<SpectralFilter> restore(std::string_view text, uint64_t limit = kLimit) {
  auto result = deserialize_spectral(text, 2, limit);
  auto* filter = std::get_if<std::unique_ptr<SpectralFilter>>(&result);
  return filter != nullptr ? std::move(*filter) : nullptr;
}

std::unique_ptr<SpectralFilter> grown_filter(uint64_t items) {
  auto filter = filter_of({.capacity = 100, .rate = 0.05});
  std::mt19937_64 random(3);
  for (uint64_t i = 0; i < items; ++i) {
    increment_growing(*filter, item(*filter, i), 1 + (random() >> (40 + random() % 24)));
  }
  return filter;
}

std::vector<DumpStep> pieces_of(const SpectralFilter& filter) {
  std::vector<DumpStep> pieces = {dump_step(filter, 0, stripes())};
  while (pieces.back().next_iterator != 0) {
    pieces.push_back(
        dump_step(filter, static_cast<int64_t>(pieces.back().next_iterator), stripes()));
  }
  pieces.pop_back();
  return pieces;
}

std::unique_ptr<SpectralLoader> loader_of(std::string_view header, uint64_t limit = kLimit) {
  auto result = SpectralLoader::start(header, 2, limit);
  auto* loader = std::get_if<std::unique_ptr<SpectralLoader>>(&result);
  return loader != nullptr ? std::move(*loader) : nullptr;
}

// Writes the right checksum behind changed bytes: what a forger does.
void seal(std::string& bytes, uint64_t seed) {
  const uint64_t sum = XXH3_64bits_withSeed(bytes.data(), bytes.size() - 8, seed);
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
}

TEST(SpectralDump, AFilterComesBackEqual) {
  std::vector<std::unique_ptr<SpectralFilter>> filters;
  filters.push_back(grown_filter(2000));
  filters.push_back(filter_of({.capacity = 10}));  // empty
  filters.push_back(filter_of({.capacity = 300, .policy = SpectralPolicy::kMinimalIncrease}));
  filters.push_back(classic_of(1001, 5));
  filters.push_back(classic_of(7, 200, SpectralPolicy::kMinimalIncrease));
  for (size_t i = 2; i < filters.size(); ++i) {
    for (uint64_t n = 0; n < 200; ++n) {
      (void)filters[i]->increment(item(*filters[i], n), n * n + 1, stripes());
    }
  }
  for (const auto& filter : filters) {
    auto restored = restore(serialize(*filter));
    ASSERT_NE(restored, nullptr);
    EXPECT_EQ(restored->digest(), filter->digest());
    EXPECT_EQ(restored->sum(), filter->sum());
    EXPECT_EQ(restored->items(), filter->items());
    EXPECT_EQ(restored->layer_count(), filter->layer_count());
    EXPECT_EQ(serialize(*restored), serialize(*filter));
  }
}

TEST(SpectralDump, PiecesMayComeInAnyOrderAndTwice) {
  auto filter = filter_of({.capacity = 400000, .rate = 0.001});
  for (uint64_t i = 0; i < 1000; ++i) (void)filter->increment(item(*filter, i), i + 1, stripes());
  const auto pieces = pieces_of(*filter);
  ASSERT_GE(pieces.size(), 3u);
  auto loader = loader_of(pieces[0].data);
  ASSERT_NE(loader, nullptr);
  for (size_t i = pieces.size(); i-- > 1;) {
    EXPECT_FALSE(loader->complete());
    const auto number = static_cast<int64_t>(pieces[i].next_iterator);
    if (i > 1) {
      ASSERT_EQ(loader->load(number, pieces[i].data), LoadError::kNone);
    }
    ASSERT_EQ(loader->load(number, pieces[i].data), LoadError::kNone);
  }
  ASSERT_TRUE(loader->complete());
  EXPECT_EQ(loader->load(2, pieces[1].data), LoadError::kBadData) << "it is complete";
  EXPECT_EQ(loader->take()->digest(), filter->digest());
}

TEST(SpectralDump, AnEmptyFilterEndsAtOnceAndStrayIteratorsGiveTheEnd) {
  auto filter = filter_of({.capacity = 100});
  EXPECT_EQ(dump_step(*filter, 0, stripes()).next_iterator, 0u);
  (void)filter->increment(item(*filter, 1), 1, stripes());
  EXPECT_EQ(dump_step(*filter, 0, stripes()).next_iterator, 1u);
  for (const int64_t stray : {int64_t{-1}, int64_t{2}, INT64_MAX, INT64_MIN}) {
    const DumpStep step = dump_step(*filter, stray, stripes());
    EXPECT_EQ(step.next_iterator, 0u);
    EXPECT_TRUE(step.data.empty());
  }
}

TEST(SpectralDump, PiecesInTheWrongPlaceAreRefused) {
  const auto filter = grown_filter(2000);
  const auto pieces = pieces_of(*filter);
  ASSERT_GE(pieces.size(), 3u);
  auto loader = loader_of(pieces[0].data);
  EXPECT_EQ(loader->load(2, pieces[2].data), LoadError::kBadData);
  EXPECT_EQ(loader->load(3, pieces[1].data), LoadError::kBadData);
  for (const int64_t stray :
       {int64_t{0}, int64_t{1}, int64_t{-5}, int64_t{1000}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(loader->load(stray, pieces[1].data), LoadError::kNoSuchOffset);
  }
  EXPECT_FALSE(loader->complete());
}

TEST(SpectralDump, EveryTruncationIsRefused) {
  auto filter = grown_filter(150);
  const std::string text = serialize(*filter);
  for (size_t length = 0; length < text.size(); ++length) {
    ASSERT_EQ(restore(std::string_view(text).substr(0, length)), nullptr) << length;
  }
  EXPECT_EQ(restore(text + '\0'), nullptr);
  const auto pieces = pieces_of(*filter);
  for (size_t length = 0; length < pieces[0].data.size(); ++length) {
    ASSERT_EQ(loader_of(std::string_view(pieces[0].data).substr(0, length)), nullptr);
  }
  auto loader = loader_of(pieces[0].data);
  for (size_t length = 0; length < pieces[1].data.size(); ++length) {
    ASSERT_EQ(loader->load(2, std::string_view(pieces[1].data).substr(0, length)),
              LoadError::kBadData);
  }
}

TEST(SpectralDump, EveryFlippedBitIsNoticed) {
  auto filter = grown_filter(60);
  std::string text = serialize(*filter);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_EQ(restore(text), nullptr) << "bit " << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
  }
  EXPECT_NE(restore(text), nullptr);
}

// Flipped and sealed again with right checksums: whatever is accepted must be a working filter.
TEST(SpectralDump, ForgedTextsWithRightChecksumsAreRefusedOrWork) {
  const uint64_t seed = 77;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::string> texts = {serialize(*grown_filter(300)), serialize(*grown_filter(1))};
  auto classic = classic_of(300, 5);
  auto raised = filter_of({.capacity = 100, .policy = SpectralPolicy::kMinimalIncrease});
  for (uint64_t i = 0; i < 100; ++i) {
    (void)classic->increment(item(*classic, i), i * i * i + 1, stripes());
    (void)raised->increment(item(*raised, i), i * i * i + 1, stripes());
  }
  texts.push_back(serialize(*classic));
  texts.push_back(serialize(*raised));
  int accepted = 0;
  for (int round = 0; round < 12000; ++round) {
    std::string text = texts[random() % texts.size()];
    const uint64_t header_bytes = spectral_header_bytes(text);
    const uint64_t flips = 1 + random() % 3;
    for (uint64_t i = 0; i < flips; ++i) {
      const uint64_t within = random() % 2 == 0 ? header_bytes : text.size();
      text[random() % within] = static_cast<char>(random());
    }
    std::string header = text.substr(0, header_bytes);
    seal(header, 0);
    text.replace(0, header_bytes, header);
    seal(text, 0);
    auto filter = restore(text);
    if (filter == nullptr) continue;
    ++accepted;
    ASSERT_LE(filter->memory_bytes(), kLimit);
    for (uint64_t i = 0; i < 20; ++i) {
      const ItemHash hash = item(*filter, i);
      const uint64_t count = filter->count(hash, stripes());
      ASSERT_LE(count, filter->sum());
      (void)filter->increment(hash, kMaxSpectralCount - (i % 2), stripes());
      if (count > 0) (void)filter->decrement(hash, count, stripes());
      (void)increment_growing(*filter, hash, 1 + (random() >> (1 + random() % 60)));
      ASSERT_LE(filter->sum(), kMaxSpectralCount);
    }
    std::vector<SpectralIncrement> slice(3, {item(*filter, 1), kMaxSpectralCount / 4});
    std::vector<uint64_t> counts(3);
    (void)filter->increment_all(slice, counts, stripes());
    filter->compact(stripes());
    ASSERT_NE(restore(serialize(*filter), UINT64_MAX), nullptr) << "what works can be saved";
  }
  EXPECT_GT(accepted, 100) << "else the test tests nothing";
}

// Headers that promise what is not there: refused before memory is taken for it.
TEST(SpectralDump, AHeaderOfAHugeFilterIsRefusedByTheLimit) {
  const auto huge = filter_of({.capacity = 1000000, .rate = 0.01});
  (void)huge->increment(item(*huge, 1), 1, stripes());
  const std::string header = encode_spectral_header(*huge);
  auto result = SpectralLoader::start(header, 2, 1 << 20);
  ASSERT_TRUE(std::holds_alternative<LoadError>(result));
  EXPECT_EQ(std::get<LoadError>(result), LoadError::kTooLarge);
  EXPECT_NE(loader_of(header), nullptr);
  std::string text = header + std::string(100, '\0');
  seal(text, 0);
  EXPECT_EQ(restore(text), nullptr);
}

// Cells whose high parts take much more memory than the text: the limit holds for them as well.
TEST(SpectralDump, HighPartsCountAgainstTheLimit) {
  auto filter = filter_of({.capacity = 20000, .rate = 0.01});
  for (uint64_t i = 0; i < 20000; ++i) {
    (void)filter->increment(item(*filter, i), 1ULL << 40, stripes());
  }
  const std::string text = serialize(*filter);
  const uint64_t cells_only = filter->params().memory_bytes();
  EXPECT_GT(filter->memory_bytes(), cells_only * 3 / 2);
  EXPECT_EQ(restore(text, cells_only + 1000), nullptr);
  EXPECT_NE(restore(text, filter->memory_bytes() * 2), nullptr);
}

TEST(SpectralDump, ACuckooFiltersHeaderIsRefused) {
  // As CF.SCANDUMP of RedisBloom writes it: u64 items, buckets, deletes, filters; u16 bucket size,
  // max iterations, expansion.
  std::string header;
  for (const uint64_t number : {uint64_t{3}, uint64_t{512}, uint64_t{0}, uint64_t{1}}) {
    header.append(reinterpret_cast<const char*>(&number), 8);
  }
  for (const uint16_t number : {uint16_t{2}, uint16_t{20}, uint16_t{1}}) {
    header.append(reinterpret_cast<const char*>(&number), 2);
  }
  ASSERT_EQ(header.size(), 38u);
  auto result = SpectralLoader::start(header, 1, kLimit);
  ASSERT_TRUE(std::holds_alternative<LoadError>(result));
  EXPECT_EQ(std::get<LoadError>(result), LoadError::kBadData);
  EXPECT_EQ(restore(header), nullptr);
}

TEST(SpectralDump, AFilterThatChangesWhileItIsDumpedLoadsAsAWorkingFilter) {
  auto filter = filter_of({.capacity = 400000, .rate = 0.001});
  for (uint64_t i = 0; i < 5000; ++i) (void)filter->increment(item(*filter, i), 3, stripes());
  DumpStep step = dump_step(*filter, 0, stripes());
  auto loader = loader_of(step.data);
  for (uint64_t round = 0;; ++round) {
    for (uint64_t i = 0; i < 5000; ++i) (void)filter->increment(item(*filter, i), 1, stripes());
    step = dump_step(*filter, static_cast<int64_t>(step.next_iterator), stripes());
    if (step.next_iterator == 0) break;
    ASSERT_EQ(loader->load(static_cast<int64_t>(step.next_iterator), step.data), LoadError::kNone);
  }
  ASSERT_TRUE(loader->complete());
  auto loaded = loader->take();
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    const uint64_t count = loaded->count(item(*loaded, i), stripes());
    ASSERT_GE(count, 4u);
    sum += count;
  }
  EXPECT_GE(sum, loaded->sum());
  EXPECT_GE(loaded->sum(), 5000u * 4);
}

}  // namespace
}  // namespace iris::filters
