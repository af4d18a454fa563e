// INFO: sections and fields that tools look for, and that the figures move.
#include <map>
#include <sstream>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::MatchesRegex;
using ::testing::Not;

class InfoTest : public ServerTest {
 public:
  std::string text(std::string_view line) { return std::string(client().command(line).string()); }

  static std::vector<std::string> sections(const std::string& text) {
    std::vector<std::string> names;
    for (size_t at = text.find("# "); at != std::string::npos; at = text.find("\n# ", at)) {
      at += text[at] == '\n' ? 3 : 2;
      names.push_back(text.substr(at, text.find('\r', at) - at));
    }
    return names;
  }
};
IRIS_WITH_1_AND_4_THREADS(InfoTest);

TEST_P(InfoTest, HasRedisSections) {
  start();
  EXPECT_THAT(sections(text("INFO")),
              IsSupersetOf({"Server", "Clients", "Memory", "Persistence", "Stats", "Replication",
                            "CPU", "Modules", "Errorstats", "Keyspace"}));
  EXPECT_THAT(sections(text("INFO all")), IsSupersetOf({"Commandstats", "Latencystats"}));
  EXPECT_THAT(sections(text("INFO everything")), IsSupersetOf({"Commandstats", "Modules"}));
  EXPECT_THAT(sections(text("INFO default")), Not(::testing::Contains("Commandstats")));
  EXPECT_THAT(sections(text("INFO cpu")), ElementsAre("CPU"));
  EXPECT_THAT(sections(text("INFO Clients memory")), ElementsAre("Clients", "Memory"));
  EXPECT_EQ(text("INFO no-such-section"), "");
}

TEST_P(InfoTest, EveryLineIsACommentAFieldOrEmpty) {
  start();
  std::istringstream lines(text("INFO everything"));
  for (std::string line; std::getline(lines, line);) {
    ASSERT_FALSE(line.empty()) << "a line that ends without CR";
    EXPECT_EQ(line.back(), '\r');
    line.pop_back();
    EXPECT_TRUE(line.empty() || line.starts_with("# ") ||
                (line.find(':') != std::string::npos && line.find(' ') != 0))
        << line;
  }
}

TEST_P(InfoTest, HasTheFieldsThatToolsLookFor) {
  start();
  const std::map<std::string, std::vector<const char*>> fields = {
      {"server",
       {"redis_version", "redis_mode", "os", "arch_bits", "process_id", "run_id", "tcp_port",
        "uptime_in_seconds", "uptime_in_days", "hz", "executable", "config_file"}},
      {"clients", {"connected_clients", "maxclients", "blocked_clients"}},
      {"memory",
       {"used_memory", "used_memory_human", "used_memory_rss", "used_memory_peak",
        "used_memory_startup", "used_memory_dataset", "maxmemory", "maxmemory_human",
        "maxmemory_policy", "mem_fragmentation_ratio", "mem_allocator", "allocator_allocated",
        "allocator_active", "allocator_resident"}},
      {"persistence",
       {"loading", "rdb_changes_since_last_save", "rdb_bgsave_in_progress", "rdb_last_save_time",
        "rdb_last_bgsave_status", "aof_enabled", "aof_rewrite_in_progress",
        "aof_last_write_status"}},
      {"stats",
       {"total_connections_received", "total_commands_processed", "instantaneous_ops_per_sec",
        "total_net_input_bytes", "total_net_output_bytes", "rejected_connections", "expired_keys",
        "evicted_keys", "keyspace_hits", "keyspace_misses", "total_error_replies"}},
      {"replication", {"role", "connected_slaves", "master_replid", "master_repl_offset"}},
      {"cpu", {"used_cpu_sys", "used_cpu_user", "used_cpu_sys_children", "used_cpu_user_children"}},
  };
  for (const auto& [section, names] : fields) {
    for (const char* name : names) {
      EXPECT_THAT(text("INFO " + section), HasSubstr("\n" + std::string(name) + ":"))
          << section << " lacks " << name;
    }
  }
}

TEST_P(InfoTest, SaysWhatTheServerIs) {
  start();
  EXPECT_EQ(info_integer(client(), "server", "process_id"), server().pid());
  EXPECT_EQ(info_integer(client(), "server", "tcp_port"), server().port());
  EXPECT_THAT(info(client(), "server", "run_id"), MatchesRegex("[0-9a-f]{40}"));
  EXPECT_EQ(info(client(), "replication", "role"), "master");
  EXPECT_EQ(info(client(), "persistence", "loading"), "0");
  if (is_reference()) return;
  EXPECT_EQ(info(client(), "server", "redis_version"), "7.2.4");
  EXPECT_NE(info(client(), "server", "iris_version"), "");
  EXPECT_THAT(info(client(), "memory", "mem_allocator"),
              HasSubstr(kSanitized ? "libc" : "jemalloc"));
}

TEST_P(InfoTest, CountsConnectionsAndCommands) {
  start();
  const int64_t connections = info_integer(client(), "stats", "total_connections_received");
  const int64_t commands = info_integer(client(), "stats", "total_commands_processed");
  std::vector<RespClient> others;
  for (int i = 0; i < 10; ++i) {
    others.push_back(connect());
    for (int j = 0; j < 10; ++j) others.back().command("PING");
  }
  EXPECT_EQ(info_integer(client(), "stats", "total_connections_received"), connections + 10);
  EXPECT_GE(info_integer(client(), "stats", "total_commands_processed"), commands + 100);
  EXPECT_EQ(info_integer(client(), "clients", "connected_clients"), 11);
}

TEST_P(InfoTest, CommandstatsCountCallsRejectionsAndFailures) {
  start();
  client().command("CONFIG RESETSTAT");
  for (int i = 0; i < 5; ++i) client().command("ECHO x");
  client().command("ECHO");
  client().command("RENAME missing x");
  EXPECT_THAT(info(client(), "commandstats", "cmdstat_echo"),
              MatchesRegex("calls=5,usec=[0-9]+,usec_per_call=[0-9.]+,rejected_calls=1,"
                           "failed_calls=0"));
  EXPECT_THAT(info(client(), "commandstats", "cmdstat_rename"),
              HasSubstr("rejected_calls=0,failed_calls=1"));
  EXPECT_THAT(info(client(), "commandstats", "cmdstat_config|resetstat"), HasSubstr("calls=1"));
  EXPECT_EQ(info(client(), "errorstats", "errorstat_ERR"), "count=2");
  EXPECT_THAT(info(client(), "latencystats", "latency_percentiles_usec_echo"),
              MatchesRegex("p50=[0-9.]+,p99=[0-9.]+,p99.9=[0-9.]+"));
}

TEST_P(InfoTest, KeyspaceHitsAndMissesMove) {
  start();
  ASSERT_EQ(make_key(client(), "a"), ok());
  client().command("CONFIG RESETSTAT");
  client().command("EXISTS a");
  client().command("EXISTS missing other");
  EXPECT_EQ(info_integer(client(), "stats", "keyspace_hits"), 1);
  EXPECT_EQ(info_integer(client(), "stats", "keyspace_misses"), 2);
  EXPECT_THAT(info(client(), "keyspace", "db0"), HasSubstr("keys=1,"));
  EXPECT_EQ(info(client(), "keyspace", "db1"), "") << "an empty database has no line";
}

TEST_P(InfoTest, MemoryFiguresFollowTheData) {
  IRIS_ONLY();
  start();
  const int64_t before = info_integer(client(), "memory", "used_memory");
  ASSERT_EQ(client().command("BF.RESERVE large 0.01 20000000 NONSCALING"), ok());
  const int64_t after = info_integer(client(), "memory", "used_memory");
  EXPECT_GT(after - before, 20 << 20);
  EXPECT_GE(info_integer(client(), "memory", "used_memory_peak"), after);
  client().command("DEL large");
  EXPECT_TRUE(wait_until(
      [&] { return info_integer(client(), "memory", "used_memory") < before + (2 << 20); }));
}

// What it has sent so far, and where its items are: neither is memory that the allocator knows of.
TEST_P(InfoTest, AnUnfinishedRequestCountsAsUsedMemory) {
  IRIS_ONLY();
  start();
  constexpr int kItems = 1'000'000;
  std::string request = "*" + std::to_string(kItems + 3) + "\r\n$7\r\nBF.MADD\r\n$1\r\nf\r\n";
  for (int i = 0; i < kItems; ++i) request += "$4\r\nitem\r\n";
  const int64_t before = info_integer(client(), "memory", "used_memory");
  RespClient slow = connect();
  ASSERT_TRUE(slow.send(request));
  const auto least = static_cast<int64_t>(request.size());
  EXPECT_TRUE(wait_until(
      [&] { return info_integer(client(), "memory", "used_memory") >= before + least; }));
  slow.close();
  EXPECT_TRUE(wait_until(
      [&] { return info_integer(client(), "memory", "used_memory") < before + least / 4; }));
}

// What it took is kept for the next one, but not for long.
TEST_P(InfoTest, ALargeRequestLeavesNoMemoryBehind) {
  IRIS_ONLY();
  start();
  constexpr size_t kItems = 1'000'000;
  const int64_t before = info_integer(client(), "memory", "used_memory");
  std::string request = "*" + std::to_string(kItems + 2) + "\r\n$10\r\nBF.MEXISTS\r\n$1\r\nf\r\n";
  for (size_t i = 0; i < kItems; ++i) request += "$4\r\nitem\r\n";
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(client().send(request));
    ASSERT_EQ(client().read(), array(std::vector<Reply>(kItems, integer(0))));
  }
  EXPECT_TRUE(wait_until(
      [&] { return info_integer(client(), "memory", "used_memory") < before + (2 << 20); }));
}

TEST_P(InfoTest, ModulesNamesTheFiltersForExporters) {
  IRIS_ONLY();
  start();
  ASSERT_EQ(make_key(client(), "a"), ok());
  const std::string modules = text("INFO modules");
  EXPECT_THAT(modules, HasSubstr("module:name=bf,"));
  EXPECT_THAT(modules, HasSubstr("bf_bloom_num_objects:1\r\n"));
  for (const char* name :
       {"bf_bloom_total_memory_bytes", "bf_bloom_num_filters_across_objects",
        "bf_bloom_num_items_across_objects", "bf_bloom_capacity_across_objects"}) {
    EXPECT_THAT(modules, HasSubstr("\n" + std::string(name) + ":"));
  }
}

TEST_P(InfoTest, IsVerbatimTextInResp3) {
  start();
  RespClient three = connect_resp3();
  const Reply reply = three.command("INFO server");
  EXPECT_EQ(reply.type, Reply::Type::kVerbatim);
  EXPECT_THAT(reply.text, ::testing::StartsWith("txt:# Server\r\n"));
}

}  // namespace
}  // namespace iris::harness
