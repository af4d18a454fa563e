#include "filters/cell_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <utility>

namespace iris::filters {
namespace {

bool all_zero(const CellMemory& memory) {
  for (uint64_t i = 0; i < memory.footprint_bytes(); ++i) {
    if (memory.data()[i] != std::byte{0}) return false;
  }
  return true;
}

TEST(CellMemory, IsZeroedAndAlignedToACacheLine) {
  for (const uint64_t size : {1ull, 63ull, 64ull, 65ull, 1000ull, 100'000ull, 3'000'001ull}) {
    auto memory = CellMemory::allocate(size);
    ASSERT_TRUE(memory.has_value()) << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % CellMemory::kAlignment, 0u) << size;
    EXPECT_EQ(memory->size_bytes(), size);
    EXPECT_GE(memory->footprint_bytes(), size);
    EXPECT_EQ(memory->footprint_bytes(), CellMemory::footprint_bytes_for(size));
    EXPECT_TRUE(all_zero(*memory)) << size;
  }
}

TEST(CellMemory, MapsFromTwoMegabytesOnAndCountsWhatIsMapped) {
  const uint64_t before = CellMemory::mapped_bytes();
  {
    auto small = CellMemory::allocate(CellMemory::kMappedFromBytes - 1);
    ASSERT_TRUE(small.has_value());
    EXPECT_FALSE(small->mapped());
    EXPECT_EQ(CellMemory::mapped_bytes(), before);
    auto big = CellMemory::allocate(CellMemory::kMappedFromBytes + 1);
    ASSERT_TRUE(big.has_value());
    EXPECT_TRUE(big->mapped());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(big->data()) % (2u << 20), 0u);
    EXPECT_EQ(CellMemory::mapped_bytes(), before + CellMemory::kMappedFromBytes + 4096);
    std::memset(big->data(), 0xff, big->size_bytes());
  }
  EXPECT_EQ(CellMemory::mapped_bytes(), before);
}

TEST(CellMemory, RefusesAbsurdSizesAsAValue) {
  EXPECT_FALSE(CellMemory::allocate(0).has_value());
  for (const uint64_t size :
       {uint64_t{1} << 45, uint64_t{1} << 46, (uint64_t{1} << 46) + 1, uint64_t{1} << 63,
        std::numeric_limits<uint64_t>::max() - 1, std::numeric_limits<uint64_t>::max()}) {
    EXPECT_FALSE(CellMemory::allocate(size).has_value()) << size;
  }
  EXPECT_EQ(CellMemory::footprint_bytes_for(std::numeric_limits<uint64_t>::max()),
            std::numeric_limits<uint64_t>::max());
}

TEST(CellMemory, MovesWithItsCells) {
  auto first = CellMemory::allocate(128);
  ASSERT_TRUE(first.has_value());
  first->data()[5] = std::byte{7};
  CellMemory second = std::move(*first);
  EXPECT_EQ(first->data(), nullptr);
  EXPECT_EQ(first->footprint_bytes(), 0u);
  EXPECT_EQ(second.data()[5], std::byte{7});
  second = CellMemory();
  EXPECT_EQ(second.data(), nullptr);
}

}  // namespace
}  // namespace iris::filters
