#include "protocol/reply_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace iris::protocol {
namespace {

using std::string_view_literals::operator""sv;

template <typename Write>
std::string render(Version version, Write write) {
  ReplyBuffer buffer;
  ReplyWriter writer(buffer, version);
  write(writer);
  return std::string(buffer.view());
}

template <typename Write>
std::string resp2(Write write) {
  return render(Version::kResp2, write);
}

template <typename Write>
std::string resp3(Write write) {
  return render(Version::kResp3, write);
}

// For replies that both protocols have.
template <typename Write>
void expect_in_both(Write write, std::string_view expected) {
  EXPECT_EQ(resp2(write), expected);
  EXPECT_EQ(resp3(write), expected);
}

TEST(ReplyWriter, SimpleStringsAndErrorsAreLines) {
  expect_in_both([](ReplyWriter& w) { w.ok(); }, "+OK\r\n");
  expect_in_both([](ReplyWriter& w) { w.simple("PONG"); }, "+PONG\r\n");
  expect_in_both([](ReplyWriter& w) { w.simple(""); }, "+\r\n");
  expect_in_both([](ReplyWriter& w) { w.error("ERR syntax error"); }, "-ERR syntax error\r\n");
}

TEST(ReplyWriter, EveryLengthOfIntegerIsExact) {
  for (const int64_t value :
       {int64_t{0}, int64_t{1}, int64_t{9}, int64_t{10}, int64_t{-1}, int64_t{99}, int64_t{100},
        int64_t{-1000000}, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    expect_in_both([&](ReplyWriter& w) { w.integer(value); }, ":" + std::to_string(value) + "\r\n");
  }
}

TEST(ReplyWriter, BulkStringsCarryAnyByte) {
  expect_in_both([](ReplyWriter& w) { w.bulk(""); }, "$0\r\n\r\n");
  expect_in_both([](ReplyWriter& w) { w.bulk({}); }, "$0\r\n\r\n");
  expect_in_both([](ReplyWriter& w) { w.bulk("a\r\n\0b"sv); }, "$5\r\na\r\n\0b\r\n"sv);
  const std::string large(100'000, 'x');
  expect_in_both([&](ReplyWriter& w) { w.bulk(large); }, "$100000\r\n" + large + "\r\n");
}

TEST(ReplyWriter, NullsHaveOneShapeInResp3AndTwoInResp2) {
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.null(); }), "$-1\r\n");
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.null_array(); }), "*-1\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.null(); }), "_\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.null_array(); }), "_\r\n");
}

TEST(ReplyWriter, AggregatesAreHeadersAndResp2CountsAMapTwice) {
  expect_in_both([](ReplyWriter& w) { w.array(0); }, "*0\r\n");
  expect_in_both([](ReplyWriter& w) { w.array(1000000); }, "*1000000\r\n");
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.map(5); }), "*10\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.map(5); }), "%5\r\n");
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.set(12); }), "*12\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.set(12); }), "~12\r\n");
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.push(3); }), "*3\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.push(3); }), ">3\r\n");
}

TEST(ReplyWriter, BooleansAreIntegersInResp2) {
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.boolean(true); }), ":1\r\n");
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.boolean(false); }), ":0\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.boolean(true); }), "#t\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.boolean(false); }), "#f\r\n");
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.booleans("101"); }), ":1\r\n:0\r\n:1\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.booleans("011"); }), "#f\r\n#t\r\n#t\r\n");
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.booleans(""); }), "");
}

struct PrintedDouble {
  double value;
  std::string_view text;
};

TEST(ReplyWriter, DoublesArePrintedAsRedisPrintsThem) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const PrintedDouble cases[] = {
      {0.0, "0"},
      {-0.0, "-0"},
      {3.25, "3.25"},
      {0.01, "0.01"},
      {0.1, "0.1"},
      {-1.5, "-1.5"},
      {1.0, "1"},
      {100.0, "100"},
      {1e15, "1000000000000000"},
      {-1e18, "-1000000000000000000"},
      {4611686018427387904.0, "4611686018427387904"},
      {1e19, "1e+19"},
      {1e300, "1e+300"},
      {1e-7, "1e-07"},
      {-std::numeric_limits<double>::denorm_min(), "-5e-324"},
      {kInfinity, "inf"},
      {-kInfinity, "-inf"},
      {std::nan(""), "nan"},
      {-std::nan(""), "nan"},
  };
  for (const PrintedDouble& c : cases) {
    const auto write = [&](ReplyWriter& w) { w.real(c.value); };
    const std::string text(c.text);
    EXPECT_EQ(resp3(write), "," + text + "\r\n");
    EXPECT_EQ(resp2(write), "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  }
}

TEST(ReplyWriter, BigNumbersAndVerbatimStringsAreBulksInResp2) {
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.big_number("123"); }), "$3\r\n123\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.big_number("123"); }), "(123\r\n");
  EXPECT_EQ(resp2([](ReplyWriter& w) { w.verbatim("txt", "abc"); }), "$3\r\nabc\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.verbatim("txt", "abc"); }), "=7\r\ntxt:abc\r\n");
  EXPECT_EQ(resp3([](ReplyWriter& w) { w.verbatim("mkd", ""); }), "=4\r\nmkd:\r\n");
}

TEST(ReplyWriter, NoByteOfALineCanEndIt) {
  const std::string_view forged = "ERR a\r\n+OK\r\nb\0c\n\r"sv;
  const std::string clean = "ERR a  +OK  b c  ";
  expect_in_both([&](ReplyWriter& w) { w.error(forged); }, "-" + clean + "\r\n");
  expect_in_both([&](ReplyWriter& w) { w.simple(forged); }, "+" + clean + "\r\n");
  EXPECT_EQ(resp3([&](ReplyWriter& w) { w.big_number(forged); }), "(" + clean + "\r\n");
}

TEST(ReplyWriter, EveryOtherByteOfALineIsKept) {
  std::string text;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte != '\r' && byte != '\n') text.push_back(static_cast<char>(byte));
  }
  expect_in_both([&](ReplyWriter& w) { w.simple(text); }, "+" + text + "\r\n");
}

TEST(ReplyWriter, RepliesFollowEachOtherAcrossGrowthOfTheBuffer) {
  ReplyBuffer buffer;
  ReplyWriter writer(buffer, Version::kResp3);
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    writer.array(2);
    writer.integer(i);
    writer.boolean(i % 2 == 0);
    expected += "*2\r\n:" + std::to_string(i) + (i % 2 == 0 ? "\r\n#t\r\n" : "\r\n#f\r\n");
  }
  EXPECT_EQ(buffer.view(), expected);
}

TEST(ReplyBuffer, AppendingNothingToNothingIsFine) {
  ReplyBuffer buffer;
  buffer.append({});
  EXPECT_EQ(buffer.view(), "");
}

TEST(ReplyBuffer, TruncateTakesBackAndReleaseGivesTheMemoryBack) {
  ReplyBuffer buffer;
  ReplyWriter writer(buffer, Version::kResp2);
  writer.ok();
  const size_t mark = buffer.size();
  writer.bulk(std::string(10'000, 'x'));
  buffer.truncate(mark);
  EXPECT_EQ(buffer.view(), "+OK\r\n");
  writer.raw(":7\r\n");
  EXPECT_EQ(buffer.view(mark), ":7\r\n");
  buffer.release();
  EXPECT_EQ(buffer.capacity(), 0u);
  EXPECT_TRUE(buffer.empty());
  writer.ok();
  EXPECT_EQ(buffer.view(), "+OK\r\n");
}

}  // namespace
}  // namespace iris::protocol
