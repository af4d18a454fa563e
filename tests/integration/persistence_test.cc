// What a server was told is there after a restart: every kind of change, by way of the log, of a
// snapshot, and of a snapshot with a log after it. The server is killed, so nothing is saved at the
// last moment. States are compared by digest: a Bloom filter itself hides a lost bit.
#include <csignal>

#include <sys/stat.h>

#include <filesystem>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using testing::HasSubstr;

class PersistenceTest : public ServerTest {
 public:
  // Everything that DEBUG DIGEST does not cover: expiry times, and databases by number.
  std::string state() {
    std::string text;
    for (int db = 0; db < 3; ++db) {
      client_now().command("SELECT " + std::to_string(db));
      const Reply keys = client_now().command("KEYS *");
      std::vector<std::string> names = keys.strings();
      std::sort(names.begin(), names.end());
      for (const std::string& name : names) {
        text += std::to_string(db) + "/" + name + " " +
                client_now().call("DEBUG", "DIGEST-VALUE", name)[0].text + " " +
                std::to_string(client_now().call("PEXPIRETIME", name).integer) + "\n";
      }
    }
    client_now().command("SELECT 0");
    return text;
  }
  RespClient& client_now() { return connection_; }
  void begin(std::vector<std::string> directives = {"appendonly yes", "appendfsync always"}) {
    start(std::move(directives));
    connection_ = connect();
  }
  void crash_and_restart() {
    server().expect_bad_exit();
    server().kill(SIGKILL);
    server().wait_for_exit();
    ASSERT_TRUE(server().start());
    connection_ = connect();
  }
  Reply run(std::string_view line) {
    Reply reply = client_now().command(line);
    EXPECT_FALSE(reply.is_error()) << line << ": " << reply.text;
    return reply;
  }

  // One of each kind of change, leaving something of each behind.
  void change_everything() {
    run("BF.RESERVE bloom 0.01 50");
    for (int i = 0; i < 400; ++i) run("BF.ADD bloom item" + std::to_string(i));  // grows
    run("BF.MADD made a b c d e f g h");
    run("BF.INSERT inserted CAPACITY 100 ERROR 0.001 ITEMS x y z");
    run("BF.INITBYDIM dim 1000 3");
    run("BF.ADD dim one");
    run("BF.RESERVE classic 0.01 100 LAYOUT CLASSIC");
    run("BF.MADD classic a b c");
    run("CF.RESERVE counts 100");
    for (int i = 0; i < 400; ++i) run("CF.INCR counts item" + std::to_string(i % 300));  // grows
    run("CF.INCR counts hot 1000000");
    run("CF.DECR counts hot 17");
    run("CF.DEL counts item7");
    run("CF.ADD added one");
    run("CF.ADDNX added two");
    run("CF.INSERT added ITEMS three four");
    run("CF.INCRBY added five 5 six 6 five 7");
    run("CF.RESERVE mi 100 POLICY MI");
    run("CF.INCR mi x 3");
    run("CF.INCRBY mi x 4 y 5");
    run("CF.INITBYDIM cfdim 1000 4");
    run("CF.INCR cfdim x 9");
    run("COPY bloom copied");
    run("BF.ADD copied only-here");
    run("COPY counts copied2 DB 2");
    run("BF.MERGE union bloom copied");
    run("BF.ADD union after");
    run("CF.RESERVE m1 100 EXPANSION 0");
    run("CF.RESERVE m2 100 EXPANSION 0");
    run("CF.INCR m1 a 3");
    run("CF.INCR m2 a 4");
    run("CF.MERGE m1 m2");
    run("CF.INCR m1 a");
    run("RENAME made renamed");
    run("BF.ADD renamed more");
    run("MOVE inserted 1");
    run("PEXPIREAT dim 99999999999999");
    run("PEXPIREAT classic 88888888888888");
    run("PERSIST classic");
    const std::string dumped = client_now().call("DUMP", "counts").text;
    EXPECT_EQ(client_now().call("RESTORE", "restored", "99999999999999", dumped, "ABSTTL"), ok());
    run("CF.INCR restored item1");
    run("BF.ADD gone x");
    run("DEL gone");
    run("SELECT 1");
    run("BF.ADD swapped x");
    run("SWAPDB 1 2");
    run("SELECT 0");
    run("MULTI");
    run("BF.ADD in-exec a");
    run("CF.INCR counts hot 3");
    run("RENAME m2 m3");
    run("EXEC");
    load("bloom", "loaded");
    load_half("bloom", "half");
  }

  void load(const std::string& from, const std::string& to, size_t leave_out = 0) {
    std::vector<std::pair<std::string, std::string>> pieces;
    for (std::string iterator = "0";;) {
      const Reply step = client_now().call("BF.SCANDUMP", from, iterator);
      if (step[0].integer == 0) break;
      iterator = std::to_string(step[0].integer);
      pieces.emplace_back(iterator, step[1].text);
    }
    ASSERT_GT(pieces.size(), leave_out);
    for (size_t i = 0; i + leave_out < pieces.size(); ++i) {
      EXPECT_EQ(client_now().call("BF.LOADCHUNK", to, pieces[i].first, pieces[i].second), ok());
    }
    if (leave_out > 0) last_piece_ = pieces.back();
  }
  void load_half(const std::string& from, const std::string& to) { load(from, to, 1); }
  void finish_half() {
    EXPECT_TRUE(client_now().call("BF.EXISTS", "half", "item1").is_error());
    EXPECT_EQ(client_now().call("BF.LOADCHUNK", "half", last_piece_.first, last_piece_.second),
              ok());
    EXPECT_EQ(client_now().call("DEBUG", "DIGEST-VALUE", "half")[0].text,
              client_now().call("DEBUG", "DIGEST-VALUE", "loaded")[0].text);
  }

  std::vector<std::string> files(std::string_view suffix) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(server().dir())) {
      const std::string name = entry.path().filename();
      if (name.size() > suffix.size() && name.ends_with(suffix)) found.push_back(entry.path());
    }
    return found;
  }

 private:
  RespClient connection_;
  std::pair<std::string, std::string> last_piece_;
};
IRIS_WITH_1_AND_4_THREADS(PersistenceTest);

TEST_P(PersistenceTest, EveryChangeComesBackFromTheLog) {
  begin();
  change_everything();
  const std::string before = state();
  crash_and_restart();
  EXPECT_EQ(state(), before);
  finish_half();
  EXPECT_THAT(files(".snapshot"), testing::IsEmpty());
}

TEST_P(PersistenceTest, EveryChangeComesBackFromASnapshot) {
  begin();
  change_everything();
  const std::string before = state();
  EXPECT_EQ(run("SAVE"), ok());
  EXPECT_EQ(files(".snapshot").size(), 1u);
  crash_and_restart();
  EXPECT_EQ(state(), before);
  finish_half();
}

TEST_P(PersistenceTest, EveryChangeComesBackFromASnapshotAndTheLogAfterIt) {
  begin();
  change_everything();
  EXPECT_EQ(run("SAVE"), ok());
  run("CF.DECR counts hot 5");
  run("BF.ADD bloom later");
  run("RENAME copied copied3");
  run("COPY union union2");
  run("DEL renamed");
  const std::string before = state();
  crash_and_restart();
  EXPECT_EQ(state(), before);
  crash_and_restart();
  EXPECT_EQ(state(), before);
}

TEST_P(PersistenceTest, WithoutTheLogASnapshotIsKept) {
  begin({"appendonly no"});
  change_everything();
  const std::string before = state();
  EXPECT_EQ(run("SAVE"), ok());
  EXPECT_THAT(files(".log"), testing::IsEmpty());
  run("BF.ADD lost x");
  crash_and_restart();
  EXPECT_EQ(state(), before);
  EXPECT_EQ(run("SAVE"), ok());
  crash_and_restart();
  EXPECT_EQ(state(), before);
}

TEST_P(PersistenceTest, TheLogCanBeSwitchedOnAndOff) {
  begin({"appendonly no", "appendfsync always"});
  change_everything();
  run("CONFIG SET appendonly yes");
  ASSERT_TRUE(wait_until([&] { return files(".snapshot").size() == 1; }));
  run("BF.ADD bloom logged");
  std::string before = state();
  crash_and_restart();
  EXPECT_EQ(state(), before);
  run("CONFIG SET appendonly yes");
  ASSERT_TRUE(wait_until([&] {
    return run("INFO persistence").text.find("aof_enabled:1") != std::string::npos &&
           run("INFO persistence").text.find("aof_rewrite_in_progress:0") != std::string::npos;
  }));
  run("CONFIG SET appendonly no");
  ASSERT_TRUE(wait_until(
      [&] { return run("INFO persistence").text.find("aof_enabled:0") != std::string::npos; }));
  before = state();
  run("BF.ADD bloom not-logged-so-lost");
  crash_and_restart();
  EXPECT_EQ(state(), before);
}

TEST_P(PersistenceTest, ARewriteLeavesOneSnapshotAndOneSegment) {
  begin();
  for (int i = 0; i < 200; ++i) run("CF.INCR counts item" + std::to_string(i));
  const std::string before = state();
  EXPECT_EQ(run("BGREWRITEAOF"), simple("Background append only file rewriting started"));
  ASSERT_TRUE(wait_until(
      [&] { return run("INFO persistence").text.find("aof_rewrites:1") != std::string::npos; }));
  EXPECT_EQ(files(".snapshot").size(), 1u);
  EXPECT_EQ(files(".log").size(), 1u);
  crash_and_restart();
  EXPECT_EQ(state(), before);
}

TEST_P(PersistenceTest, ASaveRuleTakesASnapshotByItself) {
  begin({"appendonly no", "save 1 10"});
  for (int i = 0; i < 20; ++i) run("BF.ADD f item" + std::to_string(i));
  ASSERT_TRUE(wait_until([&] { return files(".snapshot").size() == 1; }));
  const std::string before = state();
  crash_and_restart();
  EXPECT_EQ(state(), before);
}

TEST_P(PersistenceTest, AShutdownSavesAsItIsTold) {
  begin({"appendonly no"});
  run("BF.ADD f x");
  client_now().command("SHUTDOWN SAVE");
  EXPECT_EQ(server().wait_for_exit(), 0);
  ASSERT_TRUE(server().start());
  EXPECT_EQ(connect().command("BF.EXISTS f x"), integer(1));
  RespClient last = connect();
  last.command("BF.ADD f y");
  last.command("SHUTDOWN NOSAVE");
  EXPECT_EQ(server().wait_for_exit(), 0);
  ASSERT_TRUE(server().start());
  EXPECT_EQ(connect().command("BF.EXISTS f y"), integer(0));
}

TEST_P(PersistenceTest, AnExpiredKeyStaysAway) {
  begin();
  run("BF.ADD f x");
  run("PEXPIRE f 50");
  ASSERT_TRUE(wait_until([&] { return run("DBSIZE") == integer(0); }));
  run("BF.ADD g x");
  crash_and_restart();
  EXPECT_EQ(run("KEYS *"), bulks({"g"}));
}

TEST_P(PersistenceTest, FilesAreForTheirOwnerOnly) {
  begin();
  run("BF.ADD f x");
  run("SAVE");
  for (const char* suffix : {".log", ".snapshot", ".lock"}) {
    ASSERT_FALSE(files(suffix).empty()) << suffix;
    for (const std::string& path : files(suffix)) {
      struct stat status {};
      ASSERT_EQ(::stat(path.c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 0777, 0600u) << path;
    }
  }
}

TEST_P(PersistenceTest, ASecondServerInTheSameDirectoryIsRefused) {
  begin();
  const ProgramResult second = run_program(
      {server_program(), "--port", std::to_string(free_port()), "--dir", server().dir()});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.output, HasSubstr("another server uses the data directory"));
  EXPECT_EQ(run("PING"), simple("PONG"));
  crash_and_restart();  // the lock ends with its process, however that ends
  EXPECT_EQ(run("PING"), simple("PONG"));
}

TEST_P(PersistenceTest, ACheckTellsWhatAFileHolds) {
  begin();
  run("BF.ADD f x");
  run("SAVE");
  run("BF.ADD f y");
  for (const char* suffix : {".log", ".snapshot"}) {
    const ProgramResult check = run_program({server_program(), "--check", files(suffix).front()});
    EXPECT_EQ(check.exit_code, 0) << check.output;
    EXPECT_THAT(check.output, HasSubstr("sound"));
  }
}

}  // namespace
}  // namespace iris::harness
