// What the parser allocates: nothing for a whole request, nothing for an announced length, and
// nothing that outlives a request. The program's operator new counts; room in `args` is not had
// from there, and is looked at by itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "protocol/request_parser.h"

namespace {
size_t allocated_bytes = 0;
size_t live_allocations = 0;
}  // namespace

void* operator new(size_t size) {
  allocated_bytes += size;
  ++live_allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  --live_allocations;
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}

namespace iris::protocol {
namespace {

class RequestMemory : public testing::Test {
 protected:
  RequestMemory() { args_.room(64); }

  // Parses a request that starts at input[0] and says how many bytes that allocated.
  size_t parse(std::string& input, const RequestLimits& limits = {}) {
    const size_t before = allocated_bytes;
    status_ = parser_.parse(input.data(), input.size(), limits, args_, consumed_);
    return allocated_bytes - before;
  }

  RequestParser parser_;
  Args args_;
  size_t consumed_ = 0;
  ParseStatus status_ = ParseStatus::kIncomplete;
};

TEST_F(RequestMemory, AWholeRequestAllocatesNothing) {
  std::string array = "*3\r\n$9\r\nBF.EXISTS\r\n$1\r\nf\r\n$4\r\nitem\r\n";
  EXPECT_EQ(parse(array), 0u);
  EXPECT_EQ(status_, ParseStatus::kRequest);
  std::string line = "BF.EXISTS f \"an item\"\r\n";
  EXPECT_EQ(parse(line), 0u);
  EXPECT_EQ(status_, ParseStatus::kRequest);
  EXPECT_EQ(args_.size(), 6u);
}

TEST_F(RequestMemory, AHugeAnnouncedCountAllocatesNothing) {
  std::string input = "*2147483647\r\n";
  EXPECT_EQ(parse(input), 0u);
  EXPECT_EQ(status_, ParseStatus::kIncomplete);
  input += "$536870912\r\n";
  EXPECT_EQ(parse(input), 0u);
  EXPECT_EQ(status_, ParseStatus::kIncomplete);
  EXPECT_EQ(args_.capacity_bytes(), 64 * sizeof(std::string_view));
}

TEST_F(RequestMemory, AHugeAnnouncedLengthAllocatesNothing) {
  const RequestLimits limits = {.max_bulk_bytes = ~uint64_t{0}};
  std::string input = "*1\r\n$9223372036854775807\r\nsome bytes of it";
  EXPECT_EQ(parse(input, limits), 0u);
  EXPECT_EQ(status_, ParseStatus::kIncomplete);
}

TEST_F(RequestMemory, AnErrorAllocatesNothing) {
  std::string input = "*1\r\n!";
  EXPECT_EQ(parse(input), 0u);
  EXPECT_EQ(status_, ParseStatus::kError);
}

TEST_F(RequestMemory, ACutRequestAllocatesNothing) {
  std::string input = "*3\r\n$1\r\na\r\n$1\r\nb\r\n";
  input.reserve(64);
  const size_t live_with_input = live_allocations;
  EXPECT_EQ(parse(input), 0u);
  EXPECT_EQ(status_, ParseStatus::kIncomplete);
  EXPECT_TRUE(args_.empty());
  input += "$1\r\nc\r\n";
  EXPECT_EQ(parse(input), 0u);
  EXPECT_EQ(status_, ParseStatus::kRequest);
  EXPECT_THAT(args_, ::testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(live_allocations, live_with_input);
}

TEST(RequestParserSize, AnIdleParserFitsACacheLine) {
  EXPECT_LE(sizeof(RequestParser), 64u);
}

}  // namespace
}  // namespace iris::protocol
