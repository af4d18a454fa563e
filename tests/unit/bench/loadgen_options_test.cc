#include "bench/loadgen/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iris::loadgen {
namespace {

using Words = std::vector<std::string>;

Options options_of(const Words& arguments) {
  const auto parsed = parse_options(arguments);
  if (const auto* const error = std::get_if<std::string>(&parsed)) ADD_FAILURE() << *error;
  return std::holds_alternative<Options>(parsed) ? std::get<Options>(parsed) : Options{};
}

std::string error_of(const Words& arguments) {
  const auto parsed = parse_options(arguments);
  return std::holds_alternative<std::string>(parsed) ? std::get<std::string>(parsed) : "";
}

TEST(LoadgenOptions, TakesACommandAsWordsOrAsOneArgument) {
  const Words expected = {"BF.ADD", "__key__", "__item__"};
  EXPECT_EQ(options_of({"BF.ADD", "__key__", "__item__"}).command, expected);
  EXPECT_EQ(options_of({"BF.ADD __key__  __item__"}).command, expected);
  EXPECT_EQ(options_of({"--port", "7000", "--", "--odd"}).command, Words{"--odd"});
}

TEST(LoadgenOptions, ReadsValuesAndFlags) {
  const Options options = options_of({"--connections", "7", "--rate", "2.5e4", "--zipf", "1.1",
                                      "--item-bytes", "16", "--binary", "--expect", "array", "X"});
  EXPECT_EQ(options.connections, 7u);
  EXPECT_EQ(options.rate, 25000);
  EXPECT_EQ(options.items.order, ItemOrder::kZipf);
  EXPECT_EQ(options.items.exponent, 1.1);
  EXPECT_EQ(options.item_bytes, 16u);
  EXPECT_TRUE(options.binary);
  EXPECT_EQ(options.expect, ReplyKind::kArray);
}

TEST(LoadgenOptions, SaysWhatIsAllowedInstead) {
  EXPECT_EQ(error_of({"--port", "70000", "PING"}),
            "--port 70000: allowed is a whole number, 1 to 65535");
  EXPECT_EQ(error_of({"--host", "localhost", "PING"}),
            "--host localhost: allowed is a numeric address, such as 127.0.0.1 or ::1");
  EXPECT_EQ(error_of({"--threads", "two", "PING"}),
            "--threads two: allowed is a whole number, 1 to 64");
  EXPECT_EQ(error_of({"--seconds", "-1", "PING"}),
            "--seconds -1: allowed is a number above 0, at most 3600");
  EXPECT_EQ(error_of({"--rate", "nan", "PING"}),
            "--rate nan: allowed is a number above 0, at most 1e+08");
  EXPECT_EQ(error_of({"--expect", "ok", "PING"}),
            "--expect ok: allowed is integer, simple, bulk, array or any-but-error");
}

TEST(LoadgenOptions, RefusesWhatIsUnknownOrMissing) {
  EXPECT_THAT(error_of({"--ports", "1", "PING"}), testing::HasSubstr("no such option"));
  EXPECT_THAT(error_of({"--port"}), testing::HasSubstr("a value is missing"));
  EXPECT_THAT(error_of({}), testing::HasSubstr("a command is missing"));
  EXPECT_THAT(error_of({"  "}), testing::HasSubstr("a command is missing"));
}

TEST(LoadgenOptions, RefusesContradictions) {
  EXPECT_THAT(error_of({"--connections", "1", "--threads", "2", "PING"}),
              testing::HasSubstr("at most as many as --connections"));
  EXPECT_THAT(error_of({"--item-bytes", "3", "--items", "1001", "PING"}),
              testing::HasSubstr("3 bytes make 1000 items"));
  EXPECT_EQ(error_of({"--item-bytes", "3", "--items", "1000", "PING"}), "");
  EXPECT_THAT(error_of({"--item-bytes", "3", "--sequential", "--requests", "501", "SADD",
                        "__item__", "__item__"}),
              testing::HasSubstr("3 bytes make 1000 items"));
  EXPECT_THAT(error_of({"--item-bytes", "1000000", "--pipeline", "1000", "SET", "__item__"}),
              testing::HasSubstr("bytes of requests at once"));
}

TEST(LoadgenOptions, TheHelpNamesEveryOption) {
  for (const char* const name : {"--host", "--socket", "--rate", "--zipf", "--keys", "--json"}) {
    EXPECT_THAT(help_text(), testing::HasSubstr(name));
  }
}

}  // namespace
}  // namespace iris::loadgen
