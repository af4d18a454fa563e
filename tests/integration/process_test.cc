// The life of the process: how it ends, what it prints, daemon and supervisor, crashes.
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class ProcessTest : public ServerTest {};
IRIS_WITH_1_AND_4_THREADS(ProcessTest);

TEST_P(ProcessTest, ShutdownExitsWithZeroAndNoReply) {
  start();
  client().send_command({"SHUTDOWN", "NOSAVE"});
  EXPECT_EQ(client().read_until_closed(), "");
  EXPECT_EQ(server().wait_for_exit(), 0);
}

TEST_P(ProcessTest, ShutdownChecksItsArguments) {
  start();
  EXPECT_EQ(client().command("SHUTDOWN MAYBE"), error("ERR syntax error"));
  EXPECT_EQ(client().command("SHUTDOWN SAVE NOSAVE"), error("ERR syntax error"));
  EXPECT_EQ(client().command("SHUTDOWN ABORT"), error("ERR No shutdown in progress."));
  EXPECT_EQ(client().command("PING"), simple("PONG"));
}

TEST_P(ProcessTest, SigtermAndSigintExitWithZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    start();
    RespClient idle = connect();
    EXPECT_EQ(idle.call("PING"), simple("PONG"));
    server().kill(signal);
    EXPECT_EQ(server().wait_for_exit(), 0) << "signal " << signal;
    EXPECT_TRUE(idle.closed_by_peer());
  }
}

TEST_P(ProcessTest, RepliesToWhatWasReadAreSentBeforeTheEnd) {
  if (is_reference()) GTEST_SKIP() << "Redis drops them";
  start();
  client().send(encode({"ECHO", "last words"}) + encode({"SHUTDOWN", "NOSAVE"}));
  EXPECT_EQ(client().read_until_closed(), "$10\r\nlast words\r\n");
  EXPECT_EQ(server().wait_for_exit(), 0);
}

TEST_P(ProcessTest, ASecondSigintEndsItAtOnce) {
  start();
  RespClient busy = connect();
  // Keeps the first signal's orderly end waiting.
  busy.send_command({"DEBUG", "SLEEP", "15"});
  ASSERT_TRUE(wait_until([&] { return !busy.readable_within(50); }));
  server().expect_bad_exit();
  server().kill(SIGINT);
  EXPECT_TRUE(wait_until(
      [&] {
        server().kill(SIGINT);
        return !server().running();
      },
      5000))
      << "still running after many SIGINT";
}

TEST_P(ProcessTest, SigpipeAndSighupDoNotEndIt) {
  start();
  server().kill(SIGPIPE);
  server().kill(SIGHUP);
  EXPECT_EQ(client().call("PING"), simple("PONG"));
}

TEST_P(ProcessTest, TheBannerSaysWhatStarted) {
  start();
  if (is_reference()) GTEST_SKIP() << "another banner";
  EXPECT_THAT(server().log(),
              AllOf(HasSubstr(std::to_string(server().pid())),
                    HasSubstr(std::to_string(server().port())), HasSubstr("thread")));
}

TEST_P(ProcessTest, TheLogGoesToItsFile) {
  start({"logfile server.log", "loglevel verbose"});
  EXPECT_EQ(server().stop(), 0);
  std::ifstream log(server().dir() + "/server.log");
  EXPECT_TRUE(log.good());
  EXPECT_GT(std::string(std::istreambuf_iterator<char>(log), {}).size(), 50U);
}

TEST_P(ProcessTest, ThePidfileIsWrittenAndRemoved) {
  start({"pidfile server.pid", "daemonize no"});
  const std::string path = server().dir() + "/server.pid";
  pid_t pid = 0;
  std::ifstream(path) >> pid;
  EXPECT_EQ(pid, server().pid());
  EXPECT_EQ(server().stop(), 0);
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_P(ProcessTest, DaemonizeLeavesAServerInTheBackground) {
  // The harness loses sight of a daemon, so this one is started and ended by hand.
  start();
  const std::string dir = server().dir() + "/daemon";
  ASSERT_TRUE(std::filesystem::create_directory(dir));
  const int port = free_port();
  const ProgramResult result =
      run_program({server_program(), "--daemonize", "yes", "--port", std::to_string(port), "--bind",
                   "127.0.0.1", "--dir", dir, "--pidfile", dir + "/daemon.pid", "--logfile",
                   dir + "/daemon.log"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  RespClient daemon;
  ASSERT_TRUE(wait_until([&] {
    daemon = RespClient::to_tcp("127.0.0.1", port);
    return daemon.connected() && daemon.call("PING") == simple("PONG");
  }));
  pid_t pid = 0;
  EXPECT_TRUE(wait_until([&] {
    std::ifstream(dir + "/daemon.pid") >> pid;
    return pid > 0;
  }));
  EXPECT_EQ(info_integer(daemon, "server", "process_id"), pid);
  daemon.send_command({"SHUTDOWN", "NOSAVE"});
  EXPECT_TRUE(daemon.closed_by_peer());
  EXPECT_TRUE(wait_until([&] { return ::kill(pid, 0) != 0; })) << "pid " << pid << " still runs";
}

TEST_P(ProcessTest, TellsSystemdWhenItIsReady) {
  const std::string path = ::testing::TempDir() + "/notify-" + std::to_string(::getpid());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  {
    ServerProcess supervised({.directives = {"supervised systemd"},
                              .threads = GetParam(),
                              .environment = {{"NOTIFY_SOCKET", path}}});
    ASSERT_TRUE(supervised.start());
    std::string received;
    EXPECT_TRUE(wait_until([&] {
      char message[512];
      const ssize_t got = ::recv(fd, message, sizeof message, MSG_DONTWAIT);
      if (got > 0) received.append(message, static_cast<size_t>(got)).append("\n");
      return received.find("READY=1") != std::string::npos;
    })) << received;
  }
  ::close(fd);
  ::unlink(path.c_str());
}

TEST_P(ProcessTest, ACrashLeavesAStackTraceInTheLog) {
  start();
  server().expect_bad_exit();
  server().kill(SIGSEGV);
  const int code = server().wait_for_exit();
  EXPECT_NE(code, 0);
  if (kSanitized) return;  // the sanitizer has its own report
  EXPECT_EQ(code, 128 + SIGSEGV) << "the parent must learn which signal it was";
  EXPECT_THAT(server().log(),
              AllOf(AnyOf(HasSubstr("signal 11"), HasSubstr("signal: 11"), HasSubstr("SIGSEGV")),
                    AnyOf(HasSubstr("main"), HasSubstr("STACK TRACE"))));
}

TEST_P(ProcessTest, NothingIsLeftOfATemporaryKind) {
  start();
  client().call("PING");
  EXPECT_EQ(server().stop(), 0);
  EXPECT_THAT(run_program({"/bin/ls", server().dir()}).output, ::testing::Not(HasSubstr("tmp")))
      << "a temporary file was left";
}

}  // namespace
}  // namespace iris::harness
