#include "server/info_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/client_filter.h"

namespace iris::server {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

ClientRecord a_client(uint64_t id = 7) {
  return ClientRecord(id, 12, 0, "10.0.0.1:555", "10.0.0.2:6379", 10'000);
}

TEST(ClientLine, HasTheFieldsOfRedisInItsOrder) {
  ClientRecord client = a_client();
  client.active_ms = 12'500;
  client.set_names({"worker-1", "redis-py", "5.0.1"});
  EXPECT_THAT(client_line(client, 15'900),
              MatchesRegex("id=7 addr=10.0.0.1:555 laddr=10.0.0.2:6379 fd=12 name=worker-1 age=5 "
                           "idle=3 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 watch=0 qbuf=0 "
                           "qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 "
                           "tot-mem=[0-9]+ events=r cmd=NULL user=default redir=-1 resp=2 "
                           "lib-name=redis-py lib-ver=5.0.1\n"));
}

TEST(ClientLine, ShowsWhatAClientHoldsBack) {
  ClientRecord client = a_client();
  const uint64_t empty_bytes = client_memory_bytes(client);
  client.input_bytes = 100;
  client.output_bytes = 2'000;
  client.output_chunks = 3;
  client.queued_commands = 4;
  client.queued_bytes = 30'000;
  client.watched_keys = 2;
  const std::string line = client_line(client, 0);
  EXPECT_THAT(line, HasSubstr(" multi=4 watch=2 qbuf=100 "));
  EXPECT_THAT(line, HasSubstr(" multi-mem=30000 "));
  EXPECT_THAT(line, HasSubstr(" oll=3 omem=2000 "));
  EXPECT_THAT(line, HasSubstr(" events=rw "));
  EXPECT_EQ(client_memory_bytes(client), empty_bytes + 32'100);
}

TEST(ClientLine, AClockThatWentBackwardsGivesNoNegativeAge) {
  EXPECT_THAT(client_line(a_client(), 0), HasSubstr(" age=0 idle=0 "));
}

TEST(ClientFlags, AreLettersOrNForNone) {
  ClientRecord client = a_client();
  EXPECT_EQ(client_flags(client), "N");
  client.set_flag(kClientNoTouch, true);
  client.set_flag(kClientMulti, true);
  client.set_flag(kClientUnix, true);
  EXPECT_EQ(client_flags(client), "xUT");
  client.set_flag(kClientMulti, false);
  EXPECT_EQ(client_flags(client), "UT");
}

TEST(ClientNames, MayNotBreakALine) {
  EXPECT_TRUE(valid_client_name(""));
  EXPECT_TRUE(valid_client_name("a-b_c:1!~"));
  for (const std::string_view bad : {"a b", "a\n", "\x7f", "\xc3\xa9", "\t"}) {
    EXPECT_FALSE(valid_client_name(bad)) << bad;
  }
}

std::string error_of(std::vector<std::string_view> words) {
  ClientFilter filter;
  return read_client_filter(words, filter);
}

bool kills(std::vector<std::string_view> words, const ClientRecord& client, uint64_t my_id = 1) {
  ClientFilter filter;
  EXPECT_EQ(read_client_filter(words, filter), "");
  return filter.matches(client, my_id, 70'000);
}

TEST(ClientFilter, TheOldFormIsAnAddressAndMayMeanOneself) {
  EXPECT_TRUE(kills({"10.0.0.1:555"}, a_client()));
  EXPECT_TRUE(kills({"10.0.0.1:555"}, a_client(7), 7));
  EXPECT_FALSE(kills({"10.0.0.1:556"}, a_client()));
}

TEST(ClientFilter, AllConditionsOfTheNewFormMustHold) {
  EXPECT_TRUE(kills({"ID", "7", "addr", "10.0.0.1:555", "LADDR", "10.0.0.2:6379"}, a_client()));
  EXPECT_FALSE(kills({"ID", "7", "ADDR", "10.0.0.1:556"}, a_client()));
  EXPECT_FALSE(kills({"ID", "8"}, a_client()));
  EXPECT_TRUE(kills({"TYPE", "normal", "USER", "default"}, a_client()));
  EXPECT_FALSE(kills({"TYPE", "pubsub"}, a_client()));
}

TEST(ClientFilter, SparesOneselfUnlessTold) {
  EXPECT_FALSE(kills({"ID", "7"}, a_client(7), 7));
  EXPECT_FALSE(kills({"ID", "7", "SKIPME", "yes"}, a_client(7), 7));
  EXPECT_TRUE(kills({"ID", "7", "SKIPME", "NO"}, a_client(7), 7));
}

// Connected 60 seconds ago.
TEST(ClientFilter, MaxageMeansClientsThatAreAtLeastSoOld) {
  EXPECT_TRUE(kills({"MAXAGE", "60"}, a_client()));
  EXPECT_FALSE(kills({"MAXAGE", "61"}, a_client()));
}

TEST(ClientFilter, ErrorsAreThoseOfRedis) {
  EXPECT_EQ(error_of({"ID", "0"}), "ERR client-id should be greater than 0");
  EXPECT_EQ(error_of({"ID", "x"}), "ERR client-id should be greater than 0");
  EXPECT_EQ(error_of({"TYPE", "odd"}), "ERR Unknown client type 'odd'");
  EXPECT_EQ(error_of({"USER", "bob"}), "ERR No such user 'bob'");
  EXPECT_EQ(error_of({"SKIPME", "maybe"}), "ERR syntax error");
  EXPECT_EQ(error_of({"ID", "1", "ADDR"}), "ERR syntax error");
  EXPECT_EQ(error_of({"FOO", "bar"}), "ERR syntax error");
  EXPECT_EQ(error_of({"MAXAGE", "x"}), "ERR maxage is not an integer or out of range");
  EXPECT_EQ(error_of({"MAXAGE", "0"}), "ERR maxage should be greater than 0");
}

}  // namespace
}  // namespace iris::server
