// iris-server [file] [--directive value ...]: what it accepts, and how it says what is wrong.
#include <fstream>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class CommandLineTest : public ::testing::Test {
 protected:
  void SetUp() override { IRIS_ONLY(); }

  static ProgramResult run(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), server_program());
    return run_program(arguments, input);
  }

  // Writes `text` to a file in the test's directory and returns its path.
  std::string write(const std::string& name, const std::string& text) {
    std::string path = files_.dir() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

 private:
  ServerProcess files_;  // never started: its directory is removed at the end
};

TEST_F(CommandLineTest, VersionIsOneLine) {
  for (const char* option : {"--version", "-v"}) {
    const ProgramResult result = run({option});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.output, MatchesRegex("[^\n]*[0-9]+\\.[0-9]+\\.[0-9]+[^\n]*\n")) << option;
  }
}

TEST_F(CommandLineTest, HelpNamesTheOptions) {
  for (const char* option : {"--help", "-h"}) {
    const ProgramResult result = run({option});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.output, AllOf(HasSubstr("iris-server"), HasSubstr("--version"),
                                     HasSubstr("--check-config")));
  }
}

TEST_F(CommandLineTest, CheckConfigLooksWithoutStarting) {
  const std::string good = write("good.conf", "port 7000\nmaxmemory 64mb\n");
  EXPECT_EQ(run({"--check-config", good}).exit_code, 0);
  const std::string bad = write("bad.conf", "port 7000\nmaxmemory lots\n");
  const ProgramResult result = run({"--check-config", bad});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr(bad), HasSubstr("2"), HasSubstr("maxmemory")));
}

TEST_F(CommandLineTest, MistakesStopTheStartWithFileLineAndReason) {
  const std::string lines[] = {
      "no-such-directive 1", "port banana",        "port 70000", "threads -1",
      "maxmemory 1zb",       "requirepass \"open", "timeout",    "loglevel shout",
      "appendonly maybe",    "bf-error-rate 1.5"};
  for (const std::string& line : lines) {
    const std::string file = write("mistake.conf", "# one\n# two\n" + line + "\n");
    const ProgramResult result = run({file, "--port", "0"});
    EXPECT_NE(result.exit_code, 0) << line;
    EXPECT_THAT(result.output, AllOf(HasSubstr("mistake.conf"), HasSubstr("3"))) << line;
    const bool in_quotes = line.find('"') != std::string::npos;
    EXPECT_THAT(result.output, HasSubstr(in_quotes ? "quotes" : line.substr(0, line.find(' '))))
        << line;
  }
}

TEST_F(CommandLineTest, MistakesOnTheCommandLineAreNamedToo) {
  const ProgramResult result = run({"--no-such-directive", "1"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("no-such-directive"));
}

TEST_F(CommandLineTest, AMissingFileIsNamed) {
  const ProgramResult result = run({"/no/such/file.conf"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("/no/such/file.conf"));
}

TEST_F(CommandLineTest, StandardInputIsAConfigFileToo) {
  EXPECT_EQ(run({"--check-config", "-"}, "port 7000\n").exit_code, 0);
  const ProgramResult result = run({"--check-config", "-"}, "port banana\n");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("port"));
}

TEST_F(CommandLineTest, IncludesAreReadAndLoopsAreRefused) {
  const std::string included = write("included.conf", "no-such-directive 1\n");
  const ProgramResult result = run({"--check-config", write("outer.conf", "include " + included)});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("included.conf"));
  const std::string loop = write("loop.conf", "");
  write("loop.conf", "include " + loop + "\n");
  EXPECT_NE(run({"--check-config", loop}).exit_code, 0);
}

TEST_F(CommandLineTest, LaterWinsAndTheCommandLineWinsOverTheFile) {
  ServerProcess server({.directives = {"timeout 1", "timeout 50", "maxclients 77"},
                        .arguments = {"--maxclients", "88", "--slowlog-max-len", "99"}});
  ASSERT_TRUE(server.start());
  RespClient client = server.connect();
  EXPECT_EQ(config(client, "timeout"), "50");
  EXPECT_EQ(config(client, "maxclients"), "88");
  EXPECT_EQ(config(client, "slowlog-max-len"), "99");
}

TEST_F(CommandLineTest, QuotesUnitsAndCommentsAreRedisSyntax) {
  ServerProcess server(
      {.directives = {"# comment", "", "  requirepass \"a \\\"b\\\" \\x63\"  ", "maxmemory 2gb",
                      "client-output-buffer-limit normal 32mb 0 0", "SLOWLOG-MAX-LEN '5'"}});
  ASSERT_TRUE(server.start());
  RespClient client = server.connect();
  EXPECT_EQ(client.call("AUTH", "a \"b\" c"), ok());
  EXPECT_EQ(config(client, "maxmemory"), "2147483648");
  EXPECT_EQ(config(client, "slowlog-max-len"), "5");
  EXPECT_THAT(config(client, "client-output-buffer-limit"), HasSubstr("normal 33554432 0 0"));
}

TEST_F(CommandLineTest, TheShippedConfigurationLoads) {
  const ProgramResult result = run({"--check-config", IRIS_SOURCE_DIR "/conf/iris.conf"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

}  // namespace
}  // namespace iris::harness
