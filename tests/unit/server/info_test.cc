#include "server/info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "server/info_keyspace.h"
#include "server/info_modules.h"
#include "server/info_text.h"
#include "tests/unit/server/introspection_support.h"

namespace iris::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kNowMs = 65'000;

std::string info_of(const TestEngine& test, std::vector<std::string_view> names) {
  return render_info({test.engine, kNowMs}, names);
}

std::vector<std::string> titles(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) found.push_back(line.substr(2, line.find('\r') - 2));
  }
  return found;
}

TEST(InfoText, SectionsAreSeparatedByAnEmptyLine) {
  InfoText text;
  text.section("A");
  text.field("x", 1);
  text.section("B");
  text.real("y", 12.345, 1, "%");
  EXPECT_EQ(text.take(), "# A\r\nx:1\r\n\r\n# B\r\ny:12.3%\r\n");
}

TEST(Info, WithoutANameShowsTheDefaultSectionsInRedissOrder) {
  const TestEngine test;
  EXPECT_THAT(titles(info_of(test, {})),
              ElementsAre("Server", "Clients", "Memory", "Persistence", "Stats", "Replication",
                          "CPU", "Modules", "Errorstats", "Cluster", "Keyspace"));
  EXPECT_EQ(titles(info_of(test, {"Default"})), titles(info_of(test, {})));
}

TEST(Info, AllAddsStatisticsAndEverythingAddsFiguresOfModules) {
  const TestEngine test;
  EXPECT_EQ(titles(info_of(test, {"all"})).size(), 13u);
  EXPECT_EQ(titles(info_of(test, {"EVERYTHING"})).size(), 14u);
  EXPECT_THAT(titles(info_of(test, {"modules"})), ElementsAre("Modules", "bf_bloom_core_metrics"));
}

TEST(Info, SeveralNamesShowEachSectionOnceInTheTablesOrder) {
  const TestEngine test;
  EXPECT_THAT(titles(info_of(test, {"keyspace", "CPU", "keyspace", "nosuch"})),
              ElementsAre("CPU", "Keyspace"));
  EXPECT_EQ(info_of(test, {"nosuch"}), "");
}

TEST(Info, EveryLineIsATitleAFieldOrEmpty) {
  TestEngine test;
  test.put(0, "key");
  std::istringstream lines(info_of(test, {"everything"}));
  for (std::string line; std::getline(lines, line);) {
    ASSERT_TRUE(line.ends_with('\r')) << line;
    EXPECT_TRUE(line == "\r" || line.starts_with("# ") || line.find(':') != line.npos) << line;
  }
}

TEST(Info, TheServerSectionSaysForWhichRedisItStandsAndHowLongItRuns) {
  const TestEngine test;
  const std::string text = info_of(test, {"server"});
  EXPECT_THAT(text, HasSubstr("\r\nredis_version:7.2.4\r\niris_version:"));
  EXPECT_THAT(text, HasSubstr("\r\nuptime_in_seconds:60\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\niris_threads:2\r\n"));
}

TEST(Info, TheReplicationIdIsNotTheRunId) {
  const TestEngine test;
  EXPECT_THAT(info_of(test, {"replication"}),
              HasSubstr("master_replid:" + std::string(20, 'b') + std::string(20, 'a') + "\r\n"));
}

TEST(Info, OnlyDatabasesWithKeysAreListed) {
  TestEngine test;
  test.put(0, "a");
  test.put(0, "b", kNowMs + 1'000);
  test.put(3, "c", kNowMs + 4'000);
  EXPECT_EQ(info_of(test, {"keyspace"}),
            "# Keyspace\r\ndb0:keys=2,expires=1,avg_ttl=1000\r\ndb3:keys=1,expires=1,avg_ttl=4000"
            "\r\n");
}

TEST(Info, ErrorsAreCountedByCodeOverAllThreads) {
  TestEngine test;
  test.engine.stats.member(0).count_error("ERR syntax error");
  test.engine.stats.member(1).count_error("ERR other");
  test.engine.stats.member(1).count_error("WRONGTYPE Operation ...");
  EXPECT_EQ(info_of(test, {"errorstats"}),
            "# Errorstats\r\nerrorstat_ERR:count=2\r\nerrorstat_WRONGTYPE:count=1\r\n");
}

TEST(Info, CommandsThatNeverRanAreNotListed) {
  TestEngine test;
  const Command* command = test.engine.commands.find_full("client|list");
  ASSERT_NE(command, nullptr);
  test.engine.stats.member(1).commands[command->id].add_time(2'000, 3, true);
  EXPECT_EQ(info_of(test, {"commandstats"}),
            "# Commandstats\r\ncmdstat_client|list:calls=3,usec=6,usec_per_call=2.00,"
            "rejected_calls=0,failed_calls=0\r\n");
  EXPECT_THAT(info_of(test, {"latencystats"}),
              HasSubstr("latency_percentiles_usec_client|list:p50=2.047,p99=2.047,p99.9=2.047"));
  EXPECT_THAT(info_of(test, {"latencystats"}), Not(HasSubstr("usec_ping")));
}

TEST(AverageTtl, IsZeroWithoutKeysThatExpireAndNeverNegative) {
  TestEngine test;
  EXPECT_EQ(average_ttl_ms(test.engine.keyspace.database(0), kNowMs), 0);
  test.put(0, "forever");
  EXPECT_EQ(average_ttl_ms(test.engine.keyspace.database(0), kNowMs), 0);
  test.put(0, "gone", kNowMs - 10);
  EXPECT_EQ(average_ttl_ms(test.engine.keyspace.database(0), kNowMs), 0);
}

// Half of the keys have 1000 ms left and half 3000: a mean of 256 of them has a standard deviation
// of 1000 / 16, and the bound is 5 of those.
TEST(AverageTtl, OfManyKeysIsNearTheTrueAverage) {
  TestEngine test;
  for (int i = 0; i < 20'000; i++) {
    test.put(0, "key" + std::to_string(i), kNowMs + (i % 2 == 0 ? 1'000 : 3'000));
  }
  EXPECT_NEAR(static_cast<double>(average_ttl_ms(test.engine.keyspace.database(0), kNowMs)), 2'000,
              5 * 1000 / 16.0);
}

TEST(BloomTotals, CountBloomFiltersOfAllDatabasesAndNothingElse) {
  TestEngine test;
  uint64_t bytes = test.put_bloom(0, "a", 1'000);
  bytes += test.put_bloom(7, "a", 500);
  test.put(0, "b");
  filters::BloomFilter& filter =
      static_cast<BloomValue&>(*test.engine.keyspace.find(0, Database::hashed("a"), 0)->value)
          .filter();
  filter.add(filter.hash("item"), test.engine.stripes);
  const BloomTotals totals = bloom_totals(test.engine.keyspace);
  EXPECT_EQ(totals.objects, 2u);
  EXPECT_EQ(totals.filters, 2u);
  EXPECT_EQ(totals.items, 1u);
  EXPECT_GE(totals.capacity, 1'500u);
  EXPECT_EQ(totals.memory_bytes, bytes);
}

// One key in four is a Bloom filter. Of 10,000 sampled that is known within 5 sqrt(0.25 * 0.75 /
// 10000) = 2.2 % of all keys.
TEST(BloomTotals, OfManyKeysAreScaledUpFromASample) {
  TestEngine test;
  constexpr int kKeys = 60'000;
  uint64_t bytes = 0;
  for (int i = 0; i < kKeys; i++) {
    const std::string key = "key" + std::to_string(i);
    if (i % 4 == 0) {
      bytes = test.put_bloom(0, key, 10);
    } else {
      test.put(0, key);
    }
  }
  const BloomTotals totals = bloom_totals(test.engine.keyspace);
  EXPECT_NEAR(static_cast<double>(totals.objects), kKeys / 4.0, 0.022 * kKeys);
  EXPECT_NEAR(static_cast<double>(totals.memory_bytes), static_cast<double>(bytes) * kKeys / 4.0,
              static_cast<double>(bytes) * 0.022 * kKeys);
}

}  // namespace
}  // namespace iris::server
