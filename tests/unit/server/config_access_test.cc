#include "server/config_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config_directives.h"

namespace iris::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

auto get(std::vector<std::string_view> patterns, const Config& config = {}) {
  return config_get(config, patterns);
}

ConfigSetResult set(std::vector<ConfigSetting> settings, const Config& config = {}) {
  return config_set(config, settings);
}

TEST(ConfigGet, MatchesPatternsInAnyCaseAndEachNameOnce) {
  EXPECT_THAT(get({"MAXMEM*", "maxmemory"}),
              ElementsAre(Pair("maxmemory", "0"), Pair("maxmemory-policy", "noeviction")));
  EXPECT_THAT(get({"save", "appendonly"}),
              ElementsAre(Pair("appendonly", "yes"), Pair("save", "")));
  EXPECT_THAT(get({"nothing"}), IsEmpty());
  EXPECT_EQ(get({"*"}).size(), directives().size());
}

TEST(ConfigGet, ShowsSizesInBytesAndThePasswordInClear) {
  Config config;
  config.requirepass = "secret";
  EXPECT_THAT(get({"proto-max-bulk-len", "requirepass", "threads", "bf-error-rate"}, config),
              ElementsAre(Pair("requirepass", "secret"), Pair("threads", "auto"),
                          Pair("proto-max-bulk-len", "536870912"), Pair("bf-error-rate", "0.01")));
}

TEST(ConfigSet, ChangesSeveralAtOnce) {
  const auto result = set({{"hz", "20"}, {"MaxMemory", "1gb"}, {"save", "60 1 30 2"}});
  ASSERT_TRUE(result.config) << result.error;
  Config expected;
  expected.hz = 20;
  expected.maxmemory_bytes = 1ull << 30;
  expected.save = {{60, 1}, {30, 2}};
  EXPECT_EQ(*result.config, expected);
}

TEST(ConfigSet, IsAllOrNothing) {
  const auto result = set({{"hz", "20"}, {"maxmemory", "many"}});
  EXPECT_FALSE(result.config);
  EXPECT_EQ(result.error,
            "ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a "
            "memory value, such as 100mb or 1gb");
}

TEST(ConfigSet, RefusesInTheWordsOfRedis) {
  EXPECT_EQ(set({{"hz", "1"}, {"x", "1"}}).error,
            "ERR Unknown option or number of arguments for CONFIG SET - 'x'");
  EXPECT_EQ(set({{"port", "1"}}).error,
            "ERR CONFIG SET failed (possibly related to argument 'port') - can't set immutable "
            "config");
  EXPECT_EQ(set({{"hz", "1"}, {"HZ", "2"}}).error,
            "ERR CONFIG SET failed (possibly related to argument 'hz') - duplicate parameter");
  EXPECT_EQ(set({{"hz", "501"}}).error,
            "ERR CONFIG SET failed (possibly related to argument 'hz') - argument must be between "
            "1 and 500 inclusive");
  EXPECT_EQ(set({{"bf-error-rate", "2"}}).error,
            "ERR CONFIG SET failed (possibly related to argument 'bf-error-rate') - Value for "
            "`bf-error-rate` must be in the range (0.000000, 1.000000)");
}

TEST(ConfigSet, NeverEchoesRawBytes) {
  const std::string name = "a\r\nb" + std::string(1000, 'x');
  const std::string error = set({{name, "1"}}).error;
  EXPECT_EQ(error.find_first_of("\r\n"), std::string::npos);
  EXPECT_LT(error.size(), 250u);
}

TEST(ConfigSet, AListReplacesWhatWasThereAndMayBeEmpty) {
  Config config;
  config.save = {{1, 1}};
  EXPECT_THAT(set({{"save", "2  2 "}}, config).config->save, ElementsAre(SaveRule{2, 2}));
  EXPECT_THAT(set({{"save", ""}}, config).config->save, IsEmpty());
  EXPECT_THAT(
      set({{"latency-tracking-info-percentiles", ""}}).config->latency_tracking_info_percentiles,
      IsEmpty());
}

TEST(ConfigSet, TakesAnyBytesOfAPassword) {
  EXPECT_EQ(set({{"requirepass", "two words \"x"}}).config->requirepass, "two words \"x");
}

TEST(ConfigSet, SeesConflictsOnlyInTheResult) {
  EXPECT_TRUE(set({{"cf-initial-size", "4"}, {"cf-bucket-size", "1"}}).config);
  EXPECT_EQ(set({{"cf-initial-size", "3"}}).error,
            "ERR CONFIG SET failed (possibly related to argument 'cf-initial-size') - "
            "cf-initial-size must be at least twice the cf-bucket-size, as CF.RESERVE demands");
  Config small;
  small.cf_initial_size = 4;
  EXPECT_THAT(set({{"cf-bucket-size", "3"}}, small).error,
              testing::HasSubstr("argument 'cf-bucket-size'"));
}

}  // namespace
}  // namespace iris::server
