#include "bench/loadgen/reply_counter.h"

#include <gtest/gtest.h>

namespace iris::loadgen {
namespace {

struct Outcome {
  uint64_t replies;
  std::string error;
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << outcome.replies << " replies, error '" << outcome.error << "'";
}

Outcome count_in_pieces(std::string_view bytes, size_t first_cut, size_t second_cut) {
  ReplyCounter counter(ReplyKind::kAnyButError);
  uint64_t replies = counter.feed(bytes.substr(0, first_cut));
  replies += counter.feed(bytes.substr(first_cut, second_cut - first_cut));
  replies += counter.feed(bytes.substr(second_cut));
  return {replies, counter.error()};
}

// However the bytes are cut into three reads.
void expect_at_every_cut(std::string_view bytes, const Outcome& expected) {
  for (size_t first = 0; first <= bytes.size(); ++first) {
    for (size_t second = first; second <= bytes.size(); ++second) {
      ASSERT_EQ(count_in_pieces(bytes, first, second), expected)
          << "cut at " << first << " and " << second;
    }
  }
}

TEST(ReplyCounter, CountsEveryTypeAtEveryCut) {
  expect_at_every_cut(
      "+PONG\r\n:1\r\n:-12\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
      "*3\r\n:1\r\n$2\r\n\r\n\r\n+OK\r\n",
      {9, ""});
}

TEST(ReplyCounter, CountsAnArrayOfArraysOnceAtEveryCut) {
  expect_at_every_cut("*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*1\r\n$1\r\n\n\r\n:7\r\n", {2, ""});
}

TEST(ReplyCounter, AnUnfinishedReplyDoesNotCount) {
  expect_at_every_cut(":1\r\n*2\r\n:1\r\n", {1, ""});
  expect_at_every_cut(":1\r\n$3\r\nabc\r", {1, ""});
  expect_at_every_cut(":1\r\n:1\r", {1, ""});
}

TEST(ReplyCounter, TellsTheFirstErrorAtEveryCut) {
  expect_at_every_cut(":1\r\n-ERR first\r\n-ERR second\r\n:1\r\n",
                      {1, "the server answered: ERR first"});
}

TEST(ReplyCounter, AnErrorInsideOfAnArrayIsAnError) {
  expect_at_every_cut(":1\r\n*2\r\n:1\r\n-ERR full\r\n", {1, "the server answered: ERR full"});
}

TEST(ReplyCounter, ABulkStringIsNotSearchedForReplies) {
  expect_at_every_cut("$9\r\n-ERR\r\n:1\r\r\n:2\r\n", {2, ""});
}

TEST(ReplyCounter, RefusesWhatIsNotRESP2) {
  for (const char* const bytes : {"\r\n", "PONG\r\n", ":1\n", "$x\r\n", "$-2\r\n", "$\r\n",
                                  "*1x\r\n", "$999999999999\r\n", "_\r\n"}) {
    ReplyCounter counter(ReplyKind::kAnyButError);
    EXPECT_EQ(counter.feed(bytes), 0u) << bytes;
    EXPECT_TRUE(counter.failed()) << bytes;
    EXPECT_EQ(counter.feed(":1\r\n"), 0u) << "an error is final";
  }
}

TEST(ReplyCounter, RefusesALineWithoutEndAndBottomlessArrays) {
  ReplyCounter endless(ReplyKind::kAnyButError);
  endless.feed("+" + std::string(100'000, 'x'));
  EXPECT_TRUE(endless.failed());
  ReplyCounter bottomless(ReplyKind::kAnyButError);
  for (int i = 0; i < 100; ++i) bottomless.feed("*1\r\n");
  EXPECT_TRUE(bottomless.failed());
}

TEST(ReplyCounter, RefusesAnotherTypeThanTheExpected) {
  const std::pair<ReplyKind, std::string> kinds[] = {{ReplyKind::kInteger, ":1\r\n"},
                                                     {ReplyKind::kSimple, "+OK\r\n"},
                                                     {ReplyKind::kBulk, "$-1\r\n"},
                                                     {ReplyKind::kArray, "*1\r\n:1\r\n"}};
  for (const auto& [expected, own] : kinds) {
    for (const auto& [kind, bytes] : kinds) {
      ReplyCounter counter(expected);
      EXPECT_EQ(counter.feed(bytes), expected == kind ? 1u : 0u) << own << bytes;
      EXPECT_EQ(counter.failed(), expected != kind) << own << bytes;
    }
  }
}

}  // namespace
}  // namespace iris::loadgen
