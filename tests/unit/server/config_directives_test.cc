#include "server/config_directives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/server/config_test_support.h"

namespace iris::server {
namespace {

Problem set(std::string_view name, std::vector<std::string> words, Config& config) {
  const Directive* directive = find_directive(name);
  if (directive == nullptr) return "no such directive";
  return directive->kind.parse(directive->name, words, config);
}

// The reason for which a value is refused.
std::string reason(std::string_view name, std::vector<std::string> words) {
  Config config;
  const Problem problem = set(name, std::move(words), config);
  EXPECT_EQ(config, Config{}) << "a refused value changed something";
  return problem.value_or("(accepted)");
}

std::string value(std::string_view name, const Config& config) {
  return find_directive(name)->kind.print(config);
}

TEST(Memory, UnitsAreDecimalAloneAndBinaryWithB) {
  EXPECT_EQ(memory_from_text("512"), 512u);
  EXPECT_EQ(memory_from_text("5b"), 5u);
  EXPECT_EQ(memory_from_text("1k"), 1000u);
  EXPECT_EQ(memory_from_text("1kb"), 1024u);
  EXPECT_EQ(memory_from_text("2M"), 2'000'000u);
  EXPECT_EQ(memory_from_text("64Mb"), 64u << 20);
  EXPECT_EQ(memory_from_text("1g"), 1'000'000'000u);
  EXPECT_EQ(memory_from_text("3GB"), 3ull << 30);
  EXPECT_EQ(memory_from_text("18446744073709551615"), UINT64_MAX);
}

TEST(Memory, OverflowAndNonsenseAreRefused) {
  for (const char* text : {"", "mb", "-1", "1tb", "1 mb", "1mbx", "1.5gb", "18446744073709551616",
                           "17179869184gb", "99999999999999999999gb"}) {
    EXPECT_EQ(memory_from_text(text), std::nullopt) << text;
  }
}

TEST(Memory, IsWrittenInTheLargestUnitThatFits) {
  EXPECT_EQ(memory_to_text(0), "0");
  EXPECT_EQ(memory_to_text(64 << 20), "64mb");
  EXPECT_EQ(memory_to_text(3ull << 30), "3gb");
  EXPECT_EQ(memory_to_text(1536), "1536");
  EXPECT_EQ(memory_to_text(1025), "1025");
}

TEST(Directives, NamesAreUniqueLowerCaseAndFoundInAnyCase) {
  std::set<std::string_view> names;
  for (const Directive& directive : directives()) {
    EXPECT_TRUE(names.insert(directive.name).second) << directive.name;
    EXPECT_EQ(lower_case(directive.name), directive.name);
    EXPECT_FALSE(directive.doc.empty());
    EXPECT_EQ(find_directive(directive.name), &directive);
  }
  EXPECT_EQ(find_directive("MaxMemory"), find_directive("maxmemory"));
  EXPECT_EQ(find_directive("rename-command"), nullptr);
}

TEST(Directives, OnlyThePasswordIsSecret) {
  for (const Directive& directive : directives()) {
    EXPECT_EQ(directive.secret, directive.name == "requirepass") << directive.name;
  }
}

TEST(Directives, DefaultsAreValidAndWithoutConflict) {
  for (const Directive& directive : directives()) {
    Config config;
    const auto words = directive_words(directive, config);
    EXPECT_EQ(directive.kind.parse(directive.name, words, config), std::nullopt) << directive.name;
    EXPECT_EQ(config, Config{}) << directive.name;
  }
  EXPECT_FALSE(find_conflict(Config{}));
}

TEST(Directives, EverySampleReachesItsOwnMemberAndPrintsBack) {
  ASSERT_EQ(sample_values().size(), directives().size());
  for (const Directive& directive : directives()) {
    std::set<std::string> printed;
    for (const std::string& sample : sample_values().at(directive.name)) {
      Config config;
      const auto words = split_words(sample);
      ASSERT_TRUE(words);
      ASSERT_EQ(directive.kind.parse(directive.name, *words, config), std::nullopt) << sample;
      printed.insert(directive.kind.print(config));
      // No other directive may see the change.
      for (const Directive& other : directives()) {
        if (&other == &directive) continue;
        EXPECT_EQ(other.kind.print(config), other.kind.print(Config{})) << other.name;
      }
      Config again;
      ASSERT_EQ(directive.kind.parse(directive.name, directive_words(directive, config), again),
                std::nullopt);
      EXPECT_EQ(again, config) << directive.name << " " << sample;
    }
    EXPECT_EQ(printed.size(), sample_values().at(directive.name).size()) << directive.name;
  }
}

TEST(Directives, BadValuesAreToldWhatIsAllowed) {
  EXPECT_EQ(reason("hz", {"0"}), "argument must be between 1 and 500 inclusive");
  EXPECT_EQ(reason("hz", {"ten"}), "argument couldn't be parsed into an integer");
  EXPECT_EQ(reason("hz", {""}), "argument couldn't be parsed into an integer");
  EXPECT_EQ(reason("port", {"65536"}), "argument must be between 0 and 65535 inclusive");
  EXPECT_EQ(reason("daemonize", {"on"}), "argument must be 'yes' or 'no'");
  EXPECT_EQ(reason("loglevel", {"loud"}),
            "argument(s) must be one of the following: debug, verbose, notice, warning");
  EXPECT_EQ(reason("maxmemory-policy", {"allkeys-lru"}),
            "argument(s) must be one of the following: noeviction");
  EXPECT_EQ(reason("maxmemory", {"lots"}), "argument must be a memory value, such as 100mb or 1gb");
  EXPECT_EQ(reason("proto-max-bulk-len", {"1k"}),
            "argument must be between 1048576 and 9223372036854775807 inclusive");
  EXPECT_EQ(reason("threads", {"65"}), "argument must be 'auto' or between 1 and 64 inclusive");
  EXPECT_EQ(reason("threads", {"0"}), "argument must be 'auto' or between 1 and 64 inclusive");
  EXPECT_EQ(reason("unixsocketperm", {"888"}), "argument couldn't be parsed as an octal number");
  EXPECT_EQ(reason("unixsocketperm", {"1777"}), "argument must be between 0 and 777 inclusive");
  EXPECT_EQ(reason("dir", {""}), "argument must not be empty");
  EXPECT_EQ(reason("logfile", {std::string("a\0b", 3)}), "argument must not contain a NUL byte");
  EXPECT_EQ(reason("unixsocket", {std::string(108, 'x')}),
            "argument must not be longer than 107 bytes");
}

TEST(Directives, FilterSettingsKeepTheTextsOfRedisBloom) {
  EXPECT_EQ(reason("bf-error-rate", {"1"}),
            "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)");
  EXPECT_EQ(reason("cf-error-rate", {"nan"}),
            "Value for `cf-error-rate` must be in the range (0.000000, 1.000000)");
  EXPECT_EQ(reason("bf-error-rate", {"1e-13"}),
            "Value for `bf-error-rate` must be in the range [1e-12, 1.000000)");
  EXPECT_EQ(reason("bf-initial-size", {"0"}),
            "Value for `bf-initial-size` must be in the range [1, 1099511627776]");
  EXPECT_EQ(reason("bf-expansion-factor", {"x"}),
            "Value for `bf-expansion-factor` must be in the range [0, 32768]");
  EXPECT_EQ(reason("cf-bucket-size", {"256"}),
            "Value for `cf-bucket-size` must be in the range [1, 255]");
}

TEST(Directives, ScalarsTakeExactlyOneValue) {
  for (const Directive& directive : directives()) {
    EXPECT_NE(reason(directive.name, {}), "(accepted)") << directive.name;
    if (directive.kind.shape == Shape::kList) continue;
    EXPECT_NE(reason(directive.name, {"1", "1"}), "(accepted)") << directive.name;
  }
}

TEST(Directives, BindTakesAddressesAndNothingElse) {
  Config config;
  ASSERT_EQ(set("bind", {"*", "-::*", "fe80::1%eth0", "localhost"}, config), std::nullopt);
  EXPECT_THAT(config.bind, testing::ElementsAre("*", "-::*", "fe80::1%eth0", "localhost"));
  ASSERT_EQ(set("bind", {""}, config), std::nullopt);
  EXPECT_TRUE(config.bind.empty());
  EXPECT_NE(reason("bind", {"-"}), "(accepted)");
  EXPECT_NE(reason("bind", {"a b"}), "(accepted)");
  EXPECT_NE(reason("bind", {"\"a"}), "(accepted)");
  EXPECT_NE(reason("bind", {"1.1.1.1", ""}), "(accepted)");
  EXPECT_NE(reason("bind", std::vector<std::string>(17, "1.1.1.1")), "(accepted)");
}

TEST(Directives, OutputLimitsChangeOnlyTheClassesThatAreNamed) {
  Config config;
  ASSERT_EQ(set("client-output-buffer-limit", {"replica", "1gb", "10mb", "7"}, config),
            std::nullopt);
  EXPECT_EQ(config.output_buffer_limit(ClientClass::kReplica),
            (OutputBufferLimit{1ull << 30, 10ull << 20, 7}));
  EXPECT_EQ(config.output_buffer_limit(ClientClass::kNormal),
            Config{}.output_buffer_limit(ClientClass::kNormal));
  EXPECT_EQ(value("client-output-buffer-limit", config),
            "normal 67108864 0 0 slave 1073741824 10485760 7 pubsub 33554432 8388608 60");
  EXPECT_NE(reason("client-output-buffer-limit", {"normal", "1", "2"}), "(accepted)");
  EXPECT_NE(reason("client-output-buffer-limit", {"master", "1", "2", "3"}), "(accepted)");
  EXPECT_NE(reason("client-output-buffer-limit", {"normal", "1", "x", "3"}), "(accepted)");
}

TEST(Directives, SaveTakesPairs) {
  Config config;
  ASSERT_EQ(set("save", {"3600", "1", "60", "10000"}, config), std::nullopt);
  EXPECT_THAT(config.save, testing::ElementsAre(SaveRule{3600, 1}, SaveRule{60, 10000}));
  EXPECT_EQ(value("save", config), "3600 1 60 10000");
  EXPECT_NE(reason("save", {"3600"}), "(accepted)");
  EXPECT_NE(reason("save", {"0", "1"}), "(accepted)");
  EXPECT_NE(reason("save", {"1", "-1"}), "(accepted)");
  EXPECT_NE(reason("save", {"", "1"}), "(accepted)");
}

TEST(Directives, ASlipOfTheFingerFindsTheNameThatWasMeant) {
  EXPECT_EQ(closest_directive("maxmemori"), "maxmemory");
  EXPECT_EQ(closest_directive("Prot"), "port");
  EXPECT_EQ(closest_directive("log-level"), "loglevel");
  EXPECT_EQ(closest_directive("rename-command"), "");
  EXPECT_EQ(closest_directive(""), "");
  EXPECT_EQ(closest_directive(std::string(100'000, 'x')), "");
}

}  // namespace
}  // namespace iris::server
