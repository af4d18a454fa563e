#include "server/commands/command_docs.h"

#include <gtest/gtest.h>

#include <string>

#include "server/command_table.h"
#include "server/commands/families.h"

namespace iris::server {
namespace {

using protocol::ReplyBuffer;
using protocol::ReplyWriter;
using protocol::Version;

const CommandSpec kFamily[] = {
    {"bf.test",
     -3,
     kWrite | kDenyOom | kFast | kExclusive,
     {1, 3, 2},
     "bf",
     "8.0.0",
     "O(1)",
     "Tests",
     "key [LIMIT n:integer] [NX | XX]",
     nullptr},
};

CommandTable small_table() {
  const std::span<const CommandSpec> families[] = {kFamily};
  return CommandTable(families);
}

template <class Render>
std::string rendered(const Command& command, Version version, Render render) {
  ReplyBuffer out;
  ReplyWriter reply(out, version);
  render(reply, command);
  return std::string(out.view());
}

// Reads one reply and moves past it; false if it is no whole reply.
bool skip_reply(std::string_view& bytes) {
  const size_t end = bytes.find("\r\n");
  if (end == bytes.npos) return false;
  const char type = bytes[0];
  const std::string line(bytes.substr(1, end - 1));
  bytes.remove_prefix(end + 2);
  if (type == '+' || type == ':' || type == '_') return true;
  const auto size = std::stoull(line);
  if (type == '$') {
    if (bytes.size() < size + 2) return false;
    bytes.remove_prefix(size + 2);
    return true;
  }
  for (uint64_t left = type == '%' ? size * 2 : size; left > 0; left--) {
    if (!skip_reply(bytes)) return false;
  }
  return type == '*' || type == '~' || type == '%';
}

TEST(CommandInfo, ShowsTheFlagsOfRedisAndKeepsOurOwn) {
  const CommandTable table = small_table();
  EXPECT_EQ(rendered(*table.find("bf.test"), Version::kResp3, reply_with_command_info),
            "*10\r\n$7\r\nbf.test\r\n:-3\r\n~3\r\n+write\r\n+denyoom\r\n+fast\r\n:1\r\n:3\r\n:2\r\n"
            "~3\r\n+@write\r\n+@bloom\r\n+@fast\r\n~0\r\n"
            "~1\r\n%3\r\n$5\r\nflags\r\n~3\r\n+RW\r\n+access\r\n+update\r\n"
            "$12\r\nbegin_search\r\n%2\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n%1\r\n"
            "$5\r\nindex\r\n:1\r\n"
            "$9\r\nfind_keys\r\n%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n%3\r\n"
            "$7\r\nlastkey\r\n:2\r\n$7\r\nkeystep\r\n:2\r\n$5\r\nlimit\r\n:0\r\n~0\r\n");
}

TEST(CommandDocs, ShowTokensChoicesAndWhatIsOptional) {
  const CommandTable table = small_table();
  const std::string docs =
      rendered(*table.find("bf.test"), Version::kResp3, reply_with_command_docs);
  const std::string arguments = docs.substr(docs.find("$9\r\narguments"));
  EXPECT_EQ(arguments,
            "$9\r\narguments\r\n*3\r\n"
            "%4\r\n$4\r\nname\r\n$3\r\nkey\r\n$4\r\ntype\r\n$3\r\nkey\r\n"
            "$12\r\ndisplay_text\r\n$3\r\nkey\r\n$14\r\nkey_spec_index\r\n:0\r\n"
            "%5\r\n$4\r\nname\r\n$1\r\nn\r\n$4\r\ntype\r\n$7\r\ninteger\r\n"
            "$12\r\ndisplay_text\r\n$1\r\nn\r\n$5\r\ntoken\r\n$5\r\nLIMIT\r\n"
            "$5\r\nflags\r\n~1\r\n+optional\r\n"
            "%4\r\n$4\r\nname\r\n$2\r\nnx\r\n$4\r\ntype\r\n$5\r\noneof\r\n"
            "$5\r\nflags\r\n~1\r\n+optional\r\n$9\r\narguments\r\n*2\r\n"
            "%4\r\n$4\r\nname\r\n$2\r\nnx\r\n$4\r\ntype\r\n$10\r\npure-token\r\n"
            "$12\r\ndisplay_text\r\n$2\r\nnx\r\n$5\r\ntoken\r\n$2\r\nNX\r\n"
            "%4\r\n$4\r\nname\r\n$2\r\nxx\r\n$4\r\ntype\r\n$10\r\npure-token\r\n"
            "$12\r\ndisplay_text\r\n$2\r\nxx\r\n$5\r\ntoken\r\n$2\r\nXX\r\n");
}

TEST(CommandDocs, OfEveryCommandAreOneWholeReplyInBothProtocols) {
  const CommandTable table(command_families());
  for (const Command& command : table.commands()) {
    for (const Version version : {Version::kResp2, Version::kResp3}) {
      for (const auto render : {reply_with_command_docs, reply_with_command_info}) {
        const std::string bytes = rendered(command, version, render);
        std::string_view rest = bytes;
        EXPECT_TRUE(skip_reply(rest) && rest.empty()) << command.full_name;
      }
    }
  }
}

TEST(CommandDocs, OfEveryCommandSayWhatItDoes) {
  const CommandTable table(command_families());
  for (size_t id = 0; id < table.ids(); id++) {
    const CommandSpec& spec = *table.by_id(id).spec;
    for (const std::string_view text : {spec.summary, spec.since, spec.group, spec.complexity}) {
      EXPECT_FALSE(text.empty()) << table.by_id(id).full_name;
    }
    EXPECT_TRUE(spec.handler != nullptr || !spec.subcommands.empty()) << table.by_id(id).full_name;
  }
}

// What is planned as an item must be declared as one: amounts and options are not worth a hash.
TEST(CommandTable, ArgumentsThatArePlannedAsItemsAreItems) {
  const CommandTable table(command_families());
  int planned = 0;
  for (const Command& command : table.commands()) {
    if (command.spec->plan == Plan::kNone) continue;
    SCOPED_TRACE(command.full_name);
    ++planned;
    ASSERT_GE(command.arguments.size(), 2u);
    EXPECT_EQ(command.arguments[0].type, "key");
    EXPECT_EQ(command.arguments[1].name, "item");
    EXPECT_EQ(command.arguments[1].multiple, command.spec->plan == Plan::kKeyItems);
    for (size_t i = 2; i < command.arguments.size(); ++i) {
      EXPECT_EQ(command.spec->plan, Plan::kKeyItem) << command.arguments[i].name;
      EXPECT_NE(command.arguments[i].name, "item");
    }
  }
  EXPECT_GT(planned, 10);
}

}  // namespace
}  // namespace iris::server
