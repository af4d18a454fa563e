#include "server/glob.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace iris::server {
namespace {

// What the matcher must agree with: the definition, tried by recursion without any cleverness.
bool slow_match(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (size_t taken = 0; taken <= text.size(); ++taken) {
      if (slow_match(pattern.substr(1), text.substr(taken))) return true;
    }
    return false;
  }
  if (text.empty()) return false;
  size_t used = 1;
  bool matches = pattern[0] == text[0];
  if (pattern[0] == '?') matches = true;
  if (pattern[0] == '\\' && pattern.size() > 1) {
    matches = pattern[1] == text[0];
    used = 2;
  }
  if (pattern[0] == '[') {
    const bool negated = pattern.size() > 1 && pattern[1] == '^';
    size_t at = negated ? 2 : 1;
    matches = false;
    for (; at < pattern.size() && pattern[at] != ']'; ++at) {
      if (pattern[at] == '\\' && at + 1 < pattern.size()) {
        ++at;
        matches |= pattern[at] == text[0];
      } else if (at + 2 < pattern.size() && pattern[at + 1] == '-') {
        const char low = std::min(pattern[at], pattern[at + 2]);
        const char high = std::max(pattern[at], pattern[at + 2]);
        matches |= low <= text[0] && text[0] <= high;
        at += 2;
      } else {
        matches |= pattern[at] == text[0];
      }
    }
    matches = matches != negated;
    used = std::min(at + 1, pattern.size());
  }
  return matches && slow_match(pattern.substr(used), text.substr(1));
}

TEST(Glob, APlainPatternMatchesOnlyItself) {
  EXPECT_TRUE(glob_match("users", "users"));
  EXPECT_FALSE(glob_match("users", "user"));
  EXPECT_FALSE(glob_match("users", "users2"));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "x"));
}

TEST(Glob, AStarTakesAnyBytesAlsoNone) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*", "a"));
  EXPECT_TRUE(glob_match("a*c", "abbbc"));
  EXPECT_TRUE(glob_match("*aab", "aaaab"));
  EXPECT_TRUE(glob_match("a**c*", "ac"));
  EXPECT_FALSE(glob_match("a*c", "abbb"));
}

TEST(Glob, AQuestionMarkTakesExactlyOneByte) {
  EXPECT_TRUE(glob_match("h?llo", "hello"));
  EXPECT_FALSE(glob_match("h?llo", "hllo"));
  EXPECT_FALSE(glob_match("?", ""));
}

TEST(Glob, ClassesKnowRangesNegationAndEscapes) {
  EXPECT_TRUE(glob_match("h[ae]llo", "hallo"));
  EXPECT_FALSE(glob_match("h[ae]llo", "hillo"));
  EXPECT_TRUE(glob_match("[a-c]x", "bx"));
  EXPECT_TRUE(glob_match("[c-a]x", "bx"));
  EXPECT_TRUE(glob_match("[^a-c]x", "dx"));
  EXPECT_FALSE(glob_match("[^a-c]x", "ax"));
  EXPECT_TRUE(glob_match("[\\]]", "]"));
  EXPECT_TRUE(glob_match("[\\^x]", "^"));
  EXPECT_FALSE(glob_match("[]", "a"));
  EXPECT_TRUE(glob_match("[^]", "a"));
}

TEST(Glob, UnfinishedPatternsAreTakenAsTheyStand) {
  EXPECT_TRUE(glob_match("[abc", "b"));
  EXPECT_TRUE(glob_match("[a-", "-"));
  EXPECT_TRUE(glob_match("a\\", "a\\"));
  EXPECT_FALSE(glob_match("[", "["));
  EXPECT_FALSE(glob_match("a*[", "ab"));
}

TEST(Glob, AnEscapeTakesTheMeaningFromTheNextByte) {
  EXPECT_TRUE(glob_match("a\\*", "a*"));
  EXPECT_FALSE(glob_match("a\\*", "ab"));
  EXPECT_TRUE(glob_match("\\[a]", "[a]"));
}

TEST(Glob, LettersFoldOnlyWhenAsked) {
  EXPECT_FALSE(glob_match("MAX*", "maxmemory"));
  EXPECT_TRUE(glob_match("MAX*", "maxmemory", GlobCase::kInsensitive));
  EXPECT_TRUE(glob_match("[A-M]ax", "max", GlobCase::kInsensitive));
  EXPECT_TRUE(glob_match("\\Max", "mAX", GlobCase::kInsensitive));
}

TEST(Glob, BytesBeyondAsciiAndZeroAreOrdinary) {
  const std::string text("a\0\xff", 3);
  EXPECT_TRUE(glob_match(text, text));
  EXPECT_TRUE(glob_match("a??", text));
  EXPECT_TRUE(glob_match("a?[\x80-\xff]", text));
}

TEST(Glob, OnlyStarsMatchEverything) {
  EXPECT_TRUE(glob_matches_all("*"));
  EXPECT_TRUE(glob_matches_all("***"));
  EXPECT_FALSE(glob_matches_all(""));
  EXPECT_FALSE(glob_matches_all("*a"));
}

// With backtracking into every star this would not end in a lifetime.
TEST(Glob, ManyStarsCostNoMoreThanPatternTimesText) {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "a*";
  pattern += 'b';
  const std::string text(20'000, 'a');
  EXPECT_FALSE(glob_match(pattern, text));
  EXPECT_TRUE(glob_match(pattern, text + 'b'));
}

TEST(Glob, AgreesWithTheDefinitionOnRandomPatterns) {
  std::mt19937 random(20220);
  const std::string pattern_bytes = "aab*?[]^-\\";
  const std::string text_bytes = "aab]^-";
  const auto draw = [&](const std::string& from, size_t longest) {
    std::string out(random() % (longest + 1), ' ');
    for (char& c : out) c = from[random() % from.size()];
    return out;
  };
  for (int i = 0; i < 300'000; ++i) {
    const std::string pattern = draw(pattern_bytes, 9);
    const std::string text = draw(text_bytes, 8);
    ASSERT_EQ(glob_match(pattern, text), slow_match(pattern, text)) << pattern << " : " << text;
  }
}

}  // namespace
}  // namespace iris::server
