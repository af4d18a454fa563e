#include "server/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/unit/server/config_test_support.h"

namespace iris::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ConfigFile, TheShippedFileNamesEveryDirectiveOnceWithItsDefault) {
  std::string error;
  const auto text = read_config_text(IRIS_CONF, error);
  ASSERT_TRUE(text) << error;
  EXPECT_EQ(config_from(*text, IRIS_CONF), Config{});

  std::map<std::string, int> named;
  std::vector<std::string> order;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
    const auto words = split_words(line);
    if (line.empty() || line[0] == '#') continue;
    ASSERT_TRUE(words && !words->empty()) << line;
    ++named[words->front()];
    order.push_back(words->front());
    // Equal to the default as a value of its own, not because another line covered it up.
    const Directive* directive = find_directive(words->front());
    ASSERT_NE(directive, nullptr) << line;
    EXPECT_EQ(directive->kind.print(config_from(line)), directive->kind.print(Config{})) << line;
  }
  std::vector<std::string> table;
  for (const Directive& directive : directives()) {
    EXPECT_EQ(named[std::string(directive.name)], 1) << directive.name;
    table.emplace_back(directive.name);
  }
  EXPECT_EQ(order, table) << "the file and the table should have one order";
}

TEST(ConfigFile, CommentsQuotesCaseAndLineEndsAreUnderstood) {
  const Config config = config_from(
      "# a comment\r\n\r\n  PORT 7000\r\n\t# another\nrequirepass \"a # b\"\n"
      "logfile '/tmp/x y'\nmaxmemory 64MB");
  EXPECT_EQ(config.port, 7000);
  EXPECT_EQ(config.requirepass, "a # b");
  EXPECT_EQ(config.logfile, "/tmp/x y");
  EXPECT_EQ(config.maxmemory_bytes, 64u << 20);
}

TEST(ConfigFile, LaterValuesWin) {
  const Config config = config_from("port 1\nbind 1.1.1.1 2.2.2.2\nport 2\nbind 3.3.3.3\n");
  EXPECT_EQ(config.port, 2);
  EXPECT_THAT(config.bind, ElementsAre("3.3.3.3"));
}

TEST(ConfigFile, SaveLinesAddUpUntilAnEmptyOne) {
  EXPECT_THAT(config_from("save 10 1\nsave 20 2 30 3\n").save,
              ElementsAre(SaveRule{10, 1}, SaveRule{20, 2}, SaveRule{30, 3}));
  EXPECT_THAT(config_from("save 10 1\nsave \"\"\n").save, ElementsAre());
  EXPECT_THAT(config_from("save 10 1\nsave \"\"\nsave 5 5\n").save, ElementsAre(SaveRule{5, 5}));
  EXPECT_THAT(error_of("save 10 1\nsave\n"), HasSubstr(":2: directive \"save\": "));
}

TEST(ConfigFile, TheFirstSaveLineReplacesTheDefaultRules) {
  Config defaults;
  defaults.save = {{3600, 1}};
  ConfigLoader loader(defaults);
  ASSERT_FALSE(loader.load_text("save 10 1\nsave 20 2\n", ""));
  EXPECT_THAT(loader.config().save, ElementsAre(SaveRule{10, 1}, SaveRule{20, 2}));
}

TEST(ConfigFile, ErrorsNameFileLineDirectiveAndReason) {
  EXPECT_EQ(error_of("port 1\n\n# x\nhz 501\n", "/etc/iris.conf"),
            "/etc/iris.conf:4: directive \"hz\": argument must be between 1 and 500 inclusive");
  EXPECT_EQ(error_of("maxmemroy 1gb\n", "f"),
            "f:1: directive \"maxmemroy\": unknown directive; did you mean \"maxmemory\"?");
  EXPECT_EQ(error_of("rename-command FLUSHALL \"\"\n", "f"),
            "f:1: directive \"rename-command\": unknown directive");
  EXPECT_EQ(error_of("port \"1\n", "f"), "f:1: directive \"port\": unbalanced quotes");
  EXPECT_EQ(error_of("port\n", "f"),
            "f:1: directive \"port\": wrong number of arguments: one value is expected");
  EXPECT_EQ(error_of("\"\\x1b[31m\" 1\n", "f"), "f:1: directive \"?[31m\": unknown directive");
}

TEST(ConfigFile, AnErrorNeverShowsThePassword) {
  EXPECT_THAT(error_of("requirepass hunter2 hunter2\n"), testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(error_of("requirepass \"hunter2\n"), testing::Not(HasSubstr("hunter2")));
}

TEST(ConfigFile, AConflictIsBlamedOnTheLineThatMadeIt) {
  EXPECT_THAT(error_of("cf-bucket-size 200\ncf-initial-size 399\n", "f"),
              HasSubstr("f:2: directive \"cf-initial-size\": must be at least twice"));
  EXPECT_THAT(error_of("hz 1\ncf-initial-size 3\n", "f"), HasSubstr("f:2: "));
  // Only the sum counts, not the order.
  EXPECT_EQ(config_from("cf-initial-size 2\ncf-bucket-size 1\n").cf_initial_size, 2u);
}

TEST(ConfigFile, IncludesAreRelativeToTheFileThatIncludes) {
  const TemporaryFolder folder;
  folder.write("sub/b.conf", "include c.conf\n");
  folder.write("sub/c.conf", "port 3\nhz 7\n");
  const std::string main = folder.write("a.conf", "port 1\ninclude sub/b.conf\nhz 8\n");
  ConfigLoader loader;
  ASSERT_FALSE(loader.load(main));
  EXPECT_EQ(loader.config().port, 3);
  EXPECT_EQ(loader.config().hz, 8u);
}

TEST(ConfigFile, IncludedPatternsAreReadInOrderAndMayMatchNothing) {
  const TemporaryFolder folder;
  folder.write("d/2.conf", "port 2\n");
  folder.write("d/1.conf", "port 1\n");
  const std::string main = folder.write("a.conf", "include d/*.conf\ninclude none/*.conf\n");
  ConfigLoader loader;
  ASSERT_FALSE(loader.load(main));
  EXPECT_EQ(loader.config().port, 2);
}

TEST(ConfigFile, AnErrorInAnIncludedFileNamesThatFile) {
  const TemporaryFolder folder;
  const std::string other = folder.write("b.conf", "\nhz x\n");
  const std::string main = folder.write("a.conf", "include b.conf\n");
  ConfigLoader loader;
  const auto error = loader.load(main);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->where, other + ":2");
}

TEST(ConfigFile, AMissingIncludeIsAnError) {
  const TemporaryFolder folder;
  const std::string main = folder.write("a.conf", "include b.conf\n");
  ConfigLoader loader;
  const auto error = loader.load(main);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->text(),
            main + ":1: directive \"include\": cannot find " + folder.path("b.conf"));
}

TEST(ConfigFile, CyclesAreRefusedAlsoThroughLinks) {
  const TemporaryFolder folder;
  const std::string main = folder.write("a.conf", "include b.conf\n");
  folder.write("b.conf", "include link.conf\n");
  std::filesystem::create_symlink(main, folder.path("link.conf"));
  ConfigLoader loader;
  const auto error = loader.load(main);
  ASSERT_TRUE(error);
  EXPECT_THAT(error->text(),
              HasSubstr("b.conf:1: directive \"include\": the file includes itself"));
}

TEST(ConfigFile, TheSameFileMayBeIncludedTwice) {
  const TemporaryFolder folder;
  folder.write("b.conf", "hz 9\n");
  ConfigLoader loader;
  EXPECT_FALSE(loader.load(folder.write("a.conf", "include b.conf\ninclude b.conf\n")));
}

TEST(ConfigFile, DepthOfIncludesIsBounded) {
  const TemporaryFolder folder;
  for (int i = 0; i < 40; ++i) {
    folder.write(std::to_string(i) + ".conf", "include " + std::to_string(i + 1) + ".conf\n");
  }
  folder.write("40.conf", "");
  ConfigLoader shallow;
  EXPECT_FALSE(shallow.load(folder.path("25.conf")));
  ConfigLoader deep;
  const auto error = deep.load(folder.path("0.conf"));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->reason, HasSubstr("16 levels"));
}

TEST(ConfigFile, FanOutOfIncludesIsBounded) {
  const TemporaryFolder folder;
  for (int i = 0; i < 14; ++i) {
    const std::string next = "include " + std::to_string(i + 1) + ".conf\n";
    folder.write(std::to_string(i) + ".conf", next + next);
  }
  folder.write("14.conf", "");
  ConfigLoader loader;
  const auto error = loader.load(folder.path("0.conf"));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->reason, HasSubstr("1024 files"));
}

TEST(ConfigFile, WhatCannotBeReadIsAnErrorAndNotACrash) {
  const TemporaryFolder folder;
  ConfigLoader loader;
  EXPECT_THAT(loader.load(folder.path("none"))->text(), HasSubstr("No such file"));
  EXPECT_THAT(loader.load(folder.path(""))->text(), HasSubstr("cannot read"));
  EXPECT_THAT(loader.load("/dev/zero")->text(), HasSubstr("larger than"));
}

}  // namespace
}  // namespace iris::server
