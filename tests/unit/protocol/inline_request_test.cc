#include "protocol/inline_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace iris::protocol {
namespace {

using std::string_view_literals::operator""sv;
using testing::ElementsAre;
using testing::IsEmpty;

// The arguments of a line whose quotes match.
std::vector<std::string> split(std::string line) {
  Args args;
  EXPECT_TRUE(split_inline_request(line.data(), line.data() + line.size(), args)) << line;
  return {args.begin(), args.end()};
}

bool is_balanced(std::string line) {
  Args args;
  return split_inline_request(line.data(), line.data() + line.size(), args);
}

TEST(InlineRequest, BlanksSeparateWords) {
  EXPECT_THAT(split("BF.ADD f item"), ElementsAre("BF.ADD", "f", "item"));
  EXPECT_THAT(split("  \t PING \t\v\f  a \r"), ElementsAre("PING", "a"));
  EXPECT_THAT(split(""), IsEmpty());
  EXPECT_THAT(split(" \t\r"), IsEmpty());
}

TEST(InlineRequest, DoubleQuotesKeepBlanksAndKnowEscapes) {
  EXPECT_THAT(split(R"(SET "a b" "")"), ElementsAre("SET", "a b", ""));
  EXPECT_THAT(split(R"("\n\r\t\b\a\"\\")"), ElementsAre("\n\r\t\b\a\"\\"));
  EXPECT_THAT(split(R"("\x00\xfF\x7a")"), ElementsAre("\0\xff\x7a"sv));
  EXPECT_THAT(split(R"("\q\'")"), ElementsAre("q'"));
}

TEST(InlineRequest, AnEscapeThatIsNotHexadecimalStandsForItsLetter) {
  EXPECT_THAT(split(R"("\xzz")"), ElementsAre("xzz"));
  EXPECT_THAT(split(R"("\x4")"), ElementsAre("x4"));
  EXPECT_THAT(split(R"("\x")"), ElementsAre("x"));
}

TEST(InlineRequest, SingleQuotesKnowOnlyTheEscapedQuote) {
  EXPECT_THAT(split(R"('it\'s' 'a\nb' '\\.' '')"), ElementsAre("it's", R"(a\nb)", R"(\\.)", ""));
}

TEST(InlineRequest, AQuoteMayOpenInsideAWord) {
  EXPECT_THAT(split(R"(foo"bar baz" a'b c')"), ElementsAre("foobar baz", "ab c"));
}

TEST(InlineRequest, BytesOutsideQuotesAreTakenAsTheyAre) {
  EXPECT_THAT(split(std::string("a\0b \xff\x80 \\n"sv)), ElementsAre("a\0b"sv, "\xff\x80", "\\n"));
}

TEST(InlineRequest, QuotesMustCloseAndABlankMustFollow) {
  for (const char* line :
       {R"(")", R"(')", R"("abc)", R"('abc)", R"("abc\")", R"("abc\)", R"('\')", R"('\\')",
        R"("a"b)", R"('a'b)", R"("a""b")", R"('a'"b")", R"(ok "a"b)"}) {
    EXPECT_FALSE(is_balanced(line)) << line;
  }
}

}  // namespace
}  // namespace iris::protocol
