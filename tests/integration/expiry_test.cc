// Keys that end: the EXPIRE and TTL families, on access and in the background.
#include <chrono>
#include <limits>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::HasSubstr;

class ExpiryTest : public ServerTest {
 public:
  void make(std::string_view key) { ASSERT_EQ(make_key(client(), key), ok()); }
  static int64_t now_ms() {
    using std::chrono::system_clock;
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               system_clock::now().time_since_epoch())
        .count();
  }
};
IRIS_WITH_1_AND_4_THREADS(ExpiryTest);

TEST_P(ExpiryTest, TimesAreReportedInEveryUnit) {
  start();
  make("a");
  EXPECT_EQ(client().command("EXPIRE a 1000"), integer(1));
  const int64_t at_ms = client().command("PEXPIRETIME a").integer;
  EXPECT_NEAR(static_cast<double>(at_ms), static_cast<double>(now_ms() + 1'000'000), 5000);
  EXPECT_EQ(client().command("EXPIRETIME a").integer, (at_ms + 500) / 1000);
  EXPECT_NEAR(static_cast<double>(client().command("TTL a").integer), 1000, 5);
  EXPECT_NEAR(static_cast<double>(client().command("PTTL a").integer), 1'000'000, 5000);
}

TEST_P(ExpiryTest, EveryUnitSetsTheSameTime) {
  start();
  make("a");
  EXPECT_EQ(client().command("PEXPIRE a 1000000"), integer(1));
  EXPECT_NEAR(static_cast<double>(client().command("TTL a").integer), 1000, 5);
  const int64_t at_s = now_ms() / 1000 + 5000;
  EXPECT_EQ(client().call("EXPIREAT", "a", std::to_string(at_s)), integer(1));
  EXPECT_EQ(client().command("EXPIRETIME a"), integer(at_s));
  EXPECT_EQ(client().call("PEXPIREAT", "a", std::to_string(at_s * 1000 + 123)), integer(1));
  EXPECT_EQ(client().command("PEXPIRETIME a"), integer(at_s * 1000 + 123));
}

TEST_P(ExpiryTest, MissingKeysAndKeysWithoutATimeAreToldApart) {
  start();
  make("a");
  for (const char* name : {"TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"}) {
    EXPECT_EQ(client().call(name, "a"), integer(-1)) << name;
    EXPECT_EQ(client().call(name, "missing"), integer(-2)) << name;
  }
  EXPECT_EQ(client().command("EXPIRE missing 10"), integer(0));
  EXPECT_EQ(client().command("PERSIST a"), integer(0));
  EXPECT_EQ(client().command("PERSIST missing"), integer(0));
}

TEST_P(ExpiryTest, PersistTakesTheTimeAway) {
  start();
  make("a");
  client().command("EXPIRE a 1000");
  EXPECT_EQ(client().command("PERSIST a"), integer(1));
  EXPECT_EQ(client().command("TTL a"), integer(-1));
}

TEST_P(ExpiryTest, ConditionsDecide) {
  start();
  make("a");
  EXPECT_EQ(client().command("EXPIRE a 100 XX"), integer(0));
  EXPECT_EQ(client().command("EXPIRE a 100 GT"), integer(0)) << "no time counts as for ever";
  EXPECT_EQ(client().command("EXPIRE a 100 NX"), integer(1));
  EXPECT_EQ(client().command("EXPIRE a 200 NX"), integer(0));
  EXPECT_EQ(client().command("EXPIRE a 50 GT"), integer(0));
  EXPECT_EQ(client().command("EXPIRE a 200 GT"), integer(1));
  EXPECT_EQ(client().command("EXPIRE a 300 LT"), integer(0));
  EXPECT_EQ(client().command("EXPIRE a 150 LT"), integer(1));
  EXPECT_EQ(client().command("EXPIRE a 400 XX GT"), integer(1));
  EXPECT_EQ(client().command("EXPIRE a 300 XX LT"), integer(1));
  EXPECT_NEAR(static_cast<double>(client().command("TTL a").integer), 300, 5);
  make("b");
  EXPECT_EQ(client().command("EXPIRE b 100 LT"), integer(1)) << "less than for ever";
}

TEST_P(ExpiryTest, ConditionsThatExcludeEachOtherAreErrors) {
  start();
  make("a");
  for (const char* pair : {"NX XX", "NX GT", "LT NX"}) {
    EXPECT_EQ(client().command("EXPIRE a 100 " + std::string(pair)),
              error("ERR NX and XX, GT or LT options at the same time are not compatible"));
  }
  EXPECT_EQ(client().command("EXPIRE a 100 GT LT"),
            error("ERR GT and LT options at the same time are not compatible"));
  EXPECT_EQ(client().command("EXPIRE a 100 YY"), error("ERR Unsupported option YY"));
  EXPECT_EQ(client().command("TTL a"), integer(-1));
}

TEST_P(ExpiryTest, AbsurdTimesAreErrors) {
  start();
  make("a");
  EXPECT_EQ(client().command("EXPIRE a x"), error("ERR value is not an integer or out of range"));
  EXPECT_EQ(client().command("EXPIRE a 9223372036854775808"),
            error("ERR value is not an integer or out of range"));
  EXPECT_EQ(client().command("EXPIRE a 9223372036854775807"),
            error("ERR invalid expire time in 'expire' command"));
  EXPECT_EQ(client().command("PEXPIRE a 9223372036854775807"),
            error("ERR invalid expire time in 'pexpire' command"));
  EXPECT_EQ(client().command("EXPIREAT a 9223372036854775807"),
            error("ERR invalid expire time in 'expireat' command"));
  EXPECT_EQ(client().command("EXPIRE a -9223372036854775808"),
            error("ERR invalid expire time in 'expire' command"));
  EXPECT_EQ(client().command("TTL a"), integer(-1));
}

TEST_P(ExpiryTest, ATimeInThePastDeletes) {
  start();
  for (const char* line :
       {"EXPIRE a 0", "EXPIRE a -1", "PEXPIRE a 0", "EXPIREAT a 1", "PEXPIREAT a 1"}) {
    make("a");
    EXPECT_EQ(client().command(line), integer(1)) << line;
    EXPECT_EQ(client().command("EXISTS a"), integer(0)) << line;
  }
}

TEST_P(ExpiryTest, AnExpiredKeyIsMissingForEveryReader) {
  start();
  make("a");
  client().command("PEXPIRE a 1");
  ASSERT_TRUE(wait_until([&] { return client().command("EXISTS a") == integer(0); }));
  EXPECT_EQ(client().command("TYPE a"), simple("none"));
  EXPECT_EQ(client().command("TTL a"), integer(-2));
  EXPECT_EQ(client().command("KEYS *"), array({}));
  EXPECT_EQ(client().command("RANDOMKEY"), nil());
  EXPECT_EQ(client().command("DEL a"), integer(0));
  EXPECT_EQ(make_key(client(), "a"), ok()) << "the name is free again";
  EXPECT_EQ(client().command("TTL a"), integer(-1));
}

TEST_P(ExpiryTest, KeysThatNobodyTouchesGoInTheBackground) {
  start();
  for (int i = 0; i < 500; ++i) {
    const std::string key = "k" + std::to_string(i);
    make(key);
    if (i % 2 == 0) client().call("PEXPIRE", key, "50");
  }
  // DBSIZE counts what is stored, so it falls only when the background took the keys out.
  EXPECT_TRUE(wait_until([&] { return client().command("DBSIZE") == integer(250); }));
  EXPECT_EQ(info_integer(client(), "stats", "expired_keys"), 250);
}

TEST_P(ExpiryTest, InfoCountsKeysWithATime) {
  start();
  make("a");
  make("b");
  client().command("EXPIRE a 1000");
  EXPECT_THAT(info(client(), "keyspace", "db0"), HasSubstr("keys=2,expires=1,avg_ttl="));
  client().command("PERSIST a");
  EXPECT_THAT(info(client(), "keyspace", "db0"), HasSubstr("keys=2,expires=0,avg_ttl=0"));
}

}  // namespace
}  // namespace iris::harness
