#include "bench/loadgen/request_template.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/loadgen/request_batch.h"

namespace iris::loadgen {
namespace {

constexpr HoleWidths kWidths{4, 3};

ItemChoice counting(uint64_t first) {
  return {ItemSpan{.order = ItemOrder::kSequential, .first = first, .items = 100}, 0, 1, 1};
}

TEST(RequestTemplate, ACommandWithoutMarksHasNoHoles) {
  const RequestTemplate request({"PING"}, kWidths);
  EXPECT_EQ(request.bytes(), "*1\r\n$4\r\nPING\r\n");
  EXPECT_TRUE(request.holes().empty());
}

TEST(RequestTemplate, MarksBecomeHolesOfTheirWidths) {
  const RequestTemplate request({"BF.ADD", "__key__", "__item__"}, kWidths);
  EXPECT_EQ(request.bytes(), "*3\r\n$6\r\nBF.ADD\r\n$4\r\n0000\r\n$3\r\n000\r\n");
  EXPECT_EQ(request.holes(), (std::vector<Hole>{{20, HoleKind::kKey}, {30, HoleKind::kItem}}));
}

TEST(RequestTemplate, MarksInsideOfAWordAreCountedIntoItsLength) {
  const RequestTemplate request({"GET", "a__item__b__key__c__item__"}, kWidths);
  EXPECT_EQ(request.bytes(), "*2\r\n$3\r\nGET\r\n$13\r\na000b0000c000\r\n");
  EXPECT_EQ(request.items(), 2u);
}

TEST(RequestTemplate, SomethingLikeAMarkIsText) {
  const RequestTemplate request({"__item_", "_item__", "__ITEM__"}, kWidths);
  EXPECT_TRUE(request.holes().empty());
  EXPECT_NE(request.bytes().find("$8\r\n__ITEM__\r\n"), std::string::npos);
}

TEST(RequestBatch, EveryItemIsDrawnAnewInEveryRequest) {
  const RequestTemplate request({"M", "__item__", "__item__"}, kWidths);
  RequestBatch batch(request, 2, KeySpan{}, false, 3, counting(7), 1);
  EXPECT_EQ(batch.draw(2),
            "*3\r\n$1\r\nM\r\n$3\r\n007\r\n$3\r\n008\r\n"
            "*3\r\n$1\r\nM\r\n$3\r\n009\r\n$3\r\n010\r\n");
  EXPECT_EQ(batch.draw(1), "*3\r\n$1\r\nM\r\n$3\r\n011\r\n$3\r\n012\r\n");
}

TEST(RequestBatch, KeysHaveThePrefixAndOneWidthAndAllOccur) {
  const KeySpan keys{"k", 12};
  ASSERT_EQ(keys.width(), 3u);
  const RequestTemplate request({"__key__"}, {keys.width(), 3});
  RequestBatch batch(request, 1, keys, false, 3, counting(0), 1);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.emplace(batch.draw(1).substr(8, 3));
  EXPECT_EQ(seen.size(), 12u);
  EXPECT_EQ(*seen.begin(), "k00");
  EXPECT_EQ(*seen.rbegin(), "k11");
}

TEST(RequestBatch, SequentialThreadsShareTheItemsWithoutOverlap) {
  const RequestTemplate request({"__item__"}, kWidths);
  std::set<std::string> seen;
  for (uint32_t thread = 0; thread < 3; ++thread) {
    ItemChoice choice({.order = ItemOrder::kSequential, .first = 10, .items = 100}, thread, 3, 1);
    RequestBatch batch(request, 1, KeySpan{}, false, 3, choice, 1);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(seen.emplace(batch.draw(1).substr(8, 3)).second);
  }
  EXPECT_EQ(*seen.begin(), "010");
  EXPECT_EQ(*seen.rbegin(), "024");
}

}  // namespace
}  // namespace iris::loadgen
