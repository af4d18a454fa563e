#include "protocol/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/unit/protocol/connection_input.h"

namespace iris::protocol {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;

std::string error_of(std::string_view bytes, const RequestLimits& limits = {}) {
  return parse_whole(bytes, limits).error;
}

// Nothing came out, and nothing is wrong yet.
bool is_incomplete(std::string_view bytes, const RequestLimits& limits = {}) {
  const Transcript transcript = parse_whole(bytes, limits);
  return transcript.requests.empty() && transcript.error.empty() && transcript.pending == bytes;
}

constexpr RequestLimits kStranger = {.authenticated = false};

TEST(RequestParser, ReadsAnArrayOfBulkStrings) {
  const Transcript transcript = parse_whole("*2\r\n$4\r\nPING\r\n$5\r\nhello\r\n");
  EXPECT_THAT(transcript.requests, ElementsAre(ElementsAre("PING", "hello")));
  EXPECT_EQ(transcript.pending, "");
}

TEST(RequestParser, LengthsOfAnyNumberOfDigitsAreReadAlike) {
  for (const size_t count : {1u, 9u, 10u, 99u, 100u, 101u}) {
    for (const size_t size : {0u, 1u, 9u, 10u, 99u, 100u, 101u, 1000u}) {
      const std::vector<std::string> args(count, std::string(size, 'x'));
      std::string bytes = "*" + std::to_string(count) + "\r\n";
      for (const std::string& arg : args) {
        bytes += "$" + std::to_string(size) + "\r\n" + arg + "\r\n";
      }
      EXPECT_THAT(parse_whole(bytes).requests, ElementsAre(args)) << count << " " << size;
      bytes.pop_back();
      EXPECT_TRUE(is_incomplete(bytes)) << count << " " << size;
    }
  }
}

TEST(RequestParser, ARequestWhoseFirstLineWasCutLeavesNothingBehindForTheNextOne) {
  std::string bytes = "*1\r\n$4\r\nPING\r\n";
  RequestParser parser;
  Args args;
  size_t consumed = 0;
  EXPECT_EQ(parser.parse(bytes.data(), 2, {}, args, consumed), ParseStatus::kIncomplete);
  EXPECT_EQ(parser.parse(bytes.data(), bytes.size(), {}, args, consumed), ParseStatus::kRequest);
  std::string next = "\nPING\n";  // a line that ends before the place where the cut was
  EXPECT_EQ(parser.parse(next.data(), next.size(), {}, args, consumed), ParseStatus::kRequest);
  EXPECT_THAT(args, ElementsAre("PING", "PING"));
  EXPECT_EQ(consumed, next.size());
}

TEST(RequestParser, ArgumentsAreViewsIntoTheInputAndTheRestIsLeft) {
  std::string bytes = "*1\r\n$4\r\nPING\r\n*1\r\n";
  RequestParser parser;
  Args args;
  size_t consumed = 0;
  ASSERT_EQ(parser.parse(bytes.data(), bytes.size(), {}, args, consumed), ParseStatus::kRequest);
  EXPECT_EQ(consumed, 14u);
  ASSERT_EQ(args.size(), 1u);
  EXPECT_EQ(args[0].data(), bytes.data() + 8);
}

TEST(RequestParser, ArgumentsMayBeEmptyOrBinary) {
  const std::string binary = "\0\r\n$3\r\n*!\xff"s;
  const std::string bytes = "*3\r\n$0\r\n\r\n$10\r\n" + binary + "\r\n$0\r\n\r\n";
  EXPECT_THAT(parse_whole(bytes).requests, ElementsAre(ElementsAre("", binary, "")));
}

TEST(RequestParser, EmptyRequestsAreSkippedSilently) {
  const Transcript transcript =
      parse_whole("\r\n\n*0\r\n*-1\r\n  \t\r\n*-10\r\nPING\r\n*0\r\n*1\r\n$1\r\na\r\n\r\n*-1\r\n");
  EXPECT_THAT(transcript.requests, ElementsAre(ElementsAre("PING"), ElementsAre("a")));
  EXPECT_EQ(transcript.error, "");
  EXPECT_EQ(transcript.pending, "");
}

TEST(RequestParser, ANegativeCountLeavesNothingBehindForTheNextLine) {
  EXPECT_THAT(parse_whole("*-1000\r\nA\nB\n*1\r\n$1\r\nC\r\n").requests,
              ElementsAre(ElementsAre("A"), ElementsAre("B"), ElementsAre("C")));
}

TEST(RequestParser, EmptyRequestsAreConsumedThoughNothingFollows) {
  std::string bytes = "*0\r\n\r\n*1\r\n$4\r\nPI";
  RequestParser parser;
  Args args;
  size_t consumed = 0;
  ASSERT_EQ(parser.parse(bytes.data(), bytes.size(), {}, args, consumed), ParseStatus::kIncomplete);
  EXPECT_EQ(consumed, 6u);
  bytes = bytes.substr(6) + "NG\r\n";
  ASSERT_EQ(parser.parse(bytes.data(), bytes.size(), {}, args, consumed), ParseStatus::kRequest);
  EXPECT_EQ(consumed, bytes.size());
  EXPECT_THAT(args, ElementsAre("PING"));
}

TEST(RequestParser, NoBytesAreAnIncompleteRequest) {
  RequestParser parser;
  Args args;
  size_t consumed = 1;
  EXPECT_EQ(parser.parse(nullptr, 0, {}, args, consumed), ParseStatus::kIncomplete);
  EXPECT_EQ(consumed, 0u);
}

TEST(RequestParser, InlineRequestsEndWithALineFeedAndMayHaveACarriageReturn) {
  EXPECT_THAT(parse_whole("PING\nECHO 'a b'\r\n").requests,
              ElementsAre(ElementsAre("PING"), ElementsAre("ECHO", "a b")));
}

TEST(RequestParser, ACountMustBeAStrictNumber) {
  for (const char* count :
       {"", "+1", " 1", "1 ", "01", "00", "-0", "-", "--1", "a", "1a", "0x1", "1.0", "$1",
        "9223372036854775808", "-9223372036854775809", "18446744073709551617",
        "99999999999999999999999", "0000000000000000000000001"}) {
    EXPECT_EQ(error_of("*"s + count + "\r\n"), "ERR Protocol error: invalid multibulk length")
        << count;
  }
}

TEST(RequestParser, ACountHasALimit) {
  EXPECT_EQ(error_of("*2147483648\r\n"), "ERR Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*9223372036854775807\r\n"), "ERR Protocol error: invalid multibulk length");
  EXPECT_TRUE(is_incomplete("*2147483647\r\n"));
  EXPECT_EQ(error_of("*4\r\n", {.max_args = 3}), "ERR Protocol error: invalid multibulk length");
}

TEST(RequestParser, ABulkLengthMustBeAStrictNumber) {
  for (const char* length :
       {"", "+1", " 1", "1 ", "01", "-0", "-1", "-", "a", "1a", "9223372036854775808",
        "-9223372036854775808", "99999999999999999999999"}) {
    EXPECT_EQ(error_of("*1\r\n$"s + length + "\r\n"), "ERR Protocol error: invalid bulk length")
        << length;
  }
}

TEST(RequestParser, ABulkLengthHasALimit) {
  EXPECT_EQ(error_of("*1\r\n$536870913\r\n"), "ERR Protocol error: invalid bulk length");
  EXPECT_TRUE(is_incomplete("*1\r\n$536870912\r\n"));
  EXPECT_EQ(error_of("*1\r\n$4\r\n", {.max_bulk_bytes = 3}),
            "ERR Protocol error: invalid bulk length");
}

TEST(RequestParser, ALengthNearTheEndOfTheAddressSpaceDoesNotWrap) {
  const RequestLimits limits = {.max_bulk_bytes = std::numeric_limits<uint64_t>::max()};
  EXPECT_TRUE(is_incomplete("*1\r\n$9223372036854775807\r\nabc\r\n", limits));
  EXPECT_EQ(error_of("*1\r\n$-1\r\nabc\r\n", limits), "ERR Protocol error: invalid bulk length");
}

TEST(RequestParser, ALengthLineEndsWithBothCrAndLf) {
  EXPECT_EQ(error_of("*1\rX$1\r\na\r\n"), "ERR Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*1\r\r\n"), "ERR Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*1\n$1\r\na\r\n"), "ERR Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*1\r\n$1\rXa\r\n"), "ERR Protocol error: invalid bulk length");
  EXPECT_EQ(error_of("*1\r\n$1\na\r\n"), "ERR Protocol error: invalid bulk length");
}

TEST(RequestParser, AnArgumentMustBeABulkString) {
  EXPECT_EQ(error_of("*1\r\n:1\r\n"), "ERR Protocol error: expected '$', got ':'");
  EXPECT_EQ(error_of("*2\r\n$1\r\na\r\n*1\r\n"), "ERR Protocol error: expected '$', got '*'");
  EXPECT_EQ(error_of("*1\r\n'"), "ERR Protocol error: expected '$', got '''");
  EXPECT_EQ(error_of("*1\r\n ~"), "ERR Protocol error: expected '$', got ' '");
  EXPECT_EQ(error_of("*1\r\n~ "), "ERR Protocol error: expected '$', got '~'");
}

TEST(RequestParser, AnUnprintableTypeByteIsShownAsAQuestionMark) {
  for (int byte = 0; byte < 256; ++byte) {
    if (byte >= ' ' && byte <= '~') continue;
    EXPECT_EQ(error_of("*1\r\n"s + static_cast<char>(byte)),
              "ERR Protocol error: expected '$', got '?'")
        << byte;
  }
}

TEST(RequestParser, CrLfMustFollowAPayload) {
  const std::string text = "ERR Protocol error: expected CRLF after a bulk string";
  EXPECT_EQ(error_of("*1\r\n$3\r\nabcd\r\n"), text);
  EXPECT_EQ(error_of("*1\r\n$3\r\nabc\rX"), text);
  EXPECT_EQ(error_of("*1\r\n$3\r\nabcX\n"), text);
  EXPECT_EQ(error_of("*1\r\n$3\r\nab\r\n*1\r\n"), text);
  EXPECT_EQ(error_of("*1\r\n$0\r\n$1\r\n"), text);
}

TEST(RequestParser, UnbalancedQuotesAreAnError) {
  EXPECT_EQ(error_of("ECHO \"abc\r\n"), "ERR Protocol error: unbalanced quotes in request");
  EXPECT_EQ(error_of("ECHO 'a'b\n"), "ERR Protocol error: unbalanced quotes in request");
}

TEST(RequestParser, LinesHaveALimitToTheByte) {
  const std::string full(64 << 10, 'a');
  EXPECT_THAT(parse_whole(full + "\n").requests, ElementsAre(ElementsAre(full)));
  EXPECT_TRUE(is_incomplete(full));
  EXPECT_EQ(error_of(full + "a"), "ERR Protocol error: too big inline request");
  EXPECT_EQ(error_of(full + "a\n"), "ERR Protocol error: too big inline request");

  const std::string count = "*" + full.substr(1);
  EXPECT_TRUE(is_incomplete(count));
  EXPECT_EQ(error_of(count + "\r\n"), "ERR Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of(count + "a"), "ERR Protocol error: too big mbulk count string");
  EXPECT_EQ(error_of(count + "a\r\n"), "ERR Protocol error: too big mbulk count string");

  const std::string length = "*1\r\n$" + std::string((64 << 10) - 1, '1');
  EXPECT_TRUE(is_incomplete(length));
  EXPECT_EQ(error_of(length + "\r\n"), "ERR Protocol error: invalid bulk length");
  EXPECT_EQ(error_of(length + "1"), "ERR Protocol error: too big bulk count string");
  EXPECT_EQ(error_of(length + "1\r\n"), "ERR Protocol error: too big bulk count string");
}

TEST(RequestParser, AStrangerMaySendTenArguments) {
  EXPECT_EQ(error_of("*11\r\n", kStranger), "ERR Protocol error: unauthenticated multibulk length");
  EXPECT_TRUE(is_incomplete("*10\r\n", kStranger));
  EXPECT_EQ(error_of("*2147483648\r\n", kStranger), "ERR Protocol error: invalid multibulk length");
}

TEST(RequestParser, AStrangerMaySendSixteenKilobytesAnArgument) {
  EXPECT_EQ(error_of("*1\r\n$16385\r\n", kStranger),
            "ERR Protocol error: unauthenticated bulk length");
  EXPECT_TRUE(is_incomplete("*1\r\n$16384\r\n", kStranger));
  EXPECT_EQ(error_of("*1\r\n$536870913\r\n", kStranger), "ERR Protocol error: invalid bulk length");
}

TEST(RequestParser, RequestsBeforeABrokenOneAreStillServed) {
  const Transcript transcript = parse_whole("PING\r\n*1\r\n$1\r\na\r\n*x\r\nPING\r\n");
  EXPECT_THAT(transcript.requests, ElementsAre(ElementsAre("PING"), ElementsAre("a")));
  EXPECT_EQ(transcript.error, "ERR Protocol error: invalid multibulk length");
}

TEST(RequestParser, AnErrorIsFinal) {
  std::string bytes = "*2\r\n$1\r\na\r\n!";
  std::string next = "PING\r\n";
  RequestParser parser;
  Args args;
  size_t consumed = 0;
  EXPECT_EQ(parser.parse(bytes.data(), bytes.size(), {}, args, consumed), ParseStatus::kError);
  EXPECT_EQ(parser.parse(next.data(), next.size(), {}, args, consumed), ParseStatus::kError);
  EXPECT_EQ(consumed, 0u);
  EXPECT_THAT(args, IsEmpty());
  EXPECT_EQ(parser.error(), "ERR Protocol error: expected '$', got '!'");
}

}  // namespace
}  // namespace iris::protocol
