#include "server/config_command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/server/config_test_support.h"

namespace iris::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CommandLine parse(const std::vector<std::string>& words) {
  std::vector<const char*> argv{"iris-server"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

TEST(CommandLine, NothingGivesTheDefaults) {
  const CommandLine line = parse({});
  EXPECT_EQ(line.action, Action::kRun);
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.config, Config{});
  EXPECT_EQ(line.config_file, "");
}

TEST(CommandLine, ValuesGoUpToTheNextOption) {
  const CommandLine line = parse({"--port", "6380", "--bind", "1.1.1.1", "-::1", "--save", "",
                                  "--slowlog-log-slower-than", "-1", "--loglevel", "debug"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.config.port, 6380);
  EXPECT_THAT(line.config.bind, ElementsAre("1.1.1.1", "-::1"));
  EXPECT_EQ(line.config.slowlog_log_slower_than_us, -1);
  EXPECT_EQ(line.config.loglevel, LogLevel::kDebug);
}

TEST(CommandLine, ValuesAreTakenWithoutQuotes) {
  EXPECT_EQ(parse({"--requirepass", "a \"b\" 'c'"}).config.requirepass, "a \"b\" 'c'");
}

TEST(CommandLine, OptionsWinOverTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.conf", "port 1\nhz 20\n");
  const CommandLine line = parse({path, "--port", "2"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.config.port, 2);
  EXPECT_EQ(line.config.hz, 20u);
  EXPECT_EQ(line.config_file, path);
}

TEST(CommandLine, ADashReadsStandardInput) {
  const TemporaryFolder folder;
  const int saved = dup(STDIN_FILENO);
  ASSERT_NE(std::freopen(folder.write("in", "port 7\n").c_str(), "r", stdin), nullptr);
  const CommandLine line = parse({"-", "--hz", "3"});
  dup2(saved, STDIN_FILENO);
  close(saved);
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.config.port, 7);
  EXPECT_EQ(line.config.hz, 3u);
  EXPECT_EQ(line.config_file, "");
}

TEST(CommandLine, ErrorsSayWhereTheyAre) {
  EXPECT_EQ(parse({"--prot", "1"}).error,
            "command line: directive \"prot\": unknown directive; did you mean \"port\"?");
  EXPECT_EQ(parse({"--port"}).error,
            "command line: directive \"port\": wrong number of arguments: one value is expected");
  EXPECT_EQ(parse({"-port", "1"}).error, "command line: unknown option; see iris-server --help");
  EXPECT_THAT(parse({"/no/such/file"}).error, HasSubstr("/no/such/file: cannot open: No such"));
  EXPECT_THAT(parse({"--cf-initial-size", "3"}).error, HasSubstr("command line: directive"));
  EXPECT_THAT(parse({"--"}).error, HasSubstr("unknown directive"));
}

TEST(CommandLine, TheFirstWordMayAskForSomethingElse) {
  EXPECT_EQ(parse({"-v"}).action, Action::kVersion);
  EXPECT_EQ(parse({"--version"}).action, Action::kVersion);
  EXPECT_EQ(parse({"-h"}).action, Action::kHelp);
  EXPECT_EQ(parse({"--help"}).action, Action::kHelp);
  const CommandLine check = parse({"--check", "a", "b"});
  EXPECT_EQ(check.action, Action::kCheckFiles);
  EXPECT_THAT(check.files, ElementsAre("a", "b"));
  EXPECT_NE(parse({"--check"}).error, "");
}

// What was printed, and the exit code.
std::pair<std::string, std::optional<int>> answer(const CommandLine& line) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  const auto code = answer_command_line(line, stream, stream);
  std::fclose(stream);
  std::string out(text, size);
  std::free(text);
  return {out, code};
}

TEST(CommandLine, CheckConfigSaysOkOrTheError) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.conf", "port x\n");
  EXPECT_EQ(answer(parse({"--check-config"})),
            std::pair(std::string("Configuration OK\n"), std::optional(0)));
  EXPECT_EQ(
      answer(parse({"--check-config", path})),
      std::pair(path + ":1: directive \"port\": argument couldn't be parsed into an integer\n",
                std::optional(1)));
}

TEST(CommandLine, HelpNamesEveryDirective) {
  const auto [text, code] = answer(parse({"--help"}));
  EXPECT_EQ(code, 0);
  for (const Directive& directive : directives()) {
    EXPECT_THAT(text, HasSubstr("--" + std::string(directive.name) + " "));
  }
}

TEST(CommandLine, ThereIsNoAnswerWhenAServerIsWanted) {
  EXPECT_EQ(answer(parse({})), std::pair(std::string(), std::optional<int>()));
}

}  // namespace
}  // namespace iris::server
