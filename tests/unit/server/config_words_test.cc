#include "server/config_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace iris::server {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(ConfigWords, AreSeparatedByWhiteSpace) {
  EXPECT_THAT(split_words(" a\tbc  d "), Optional(ElementsAre("a", "bc", "d")));
  EXPECT_THAT(split_words(""), Optional(ElementsAre()));
}

TEST(ConfigWords, DoubleQuotesKnowEscapes) {
  EXPECT_THAT(split_words(R"(a "b c" "" "\x41\n\"\\\q")"),
              Optional(ElementsAre("a", "b c", "", "A\n\"\\q")));
  EXPECT_THAT(split_words(R"("\x4")"), Optional(ElementsAre("x4")));
}

TEST(ConfigWords, SingleQuotesKnowOnlyTheirOwnEscape) {
  EXPECT_THAT(split_words(R"('a\n' 'it\'s')"), Optional(ElementsAre("a\\n", "it's")));
}

TEST(ConfigWords, AQuoteMustBeClosedAndEndTheWord) {
  for (const char* line : {"\"a", "'a", "\"a\"b", "'a'b", "a \"b\\\"", "x\"", "'a''b'"}) {
    EXPECT_EQ(split_words(line), std::nullopt) << line;
  }
}

TEST(ConfigWords, PlainWordsNeedNoQuotes) {
  EXPECT_EQ(quote_word("/var/lib/iris-1:2.conf"), "/var/lib/iris-1:2.conf");
  EXPECT_EQ(quote_word(""), "\"\"");
  EXPECT_EQ(quote_word("a b"), "\"a b\"");
  EXPECT_EQ(quote_word("#"), "\"#\"");
}

TEST(ConfigWords, QuotingAnyBytesGivesThemBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string word(random() % 12, ' ');
    const std::string_view awkward = "\\\"'x4 \n";
    for (char& c : word) {
      c = i % 2 == 0 ? static_cast<char>(random()) : awkward[random() % awkward.size()];
    }
    const std::string quoted = quote_word(word);
    ASSERT_EQ(quoted.find_first_of("\r\n"), std::string::npos);
    ASSERT_THAT(split_words(quoted), Optional(ElementsAre(word))) << quoted;
  }
}

TEST(ConfigWords, MessagesGetNothingThatCouldBreakALine) {
  EXPECT_EQ(printable("a\r\nb\0c"), "a??b");
  EXPECT_EQ(printable(std::string(1000, 'x')).size(), 128u);
}

TEST(ConfigWords, NoBytesUpsetTheSplitter) {
  std::mt19937 random(2);
  for (int i = 0; i < 50'000; ++i) {
    std::string line(random() % 16, ' ');
    for (char& c : line) c = "\\\"' xa4\t"[random() % 8];
    if (const auto words = split_words(line)) {
      ASSERT_LE(words->size(), line.size());
    }
  }
}

}  // namespace
}  // namespace iris::server
