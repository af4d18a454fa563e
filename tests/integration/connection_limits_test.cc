// Limits of connections: how many, how long, how much they may queue, and what each may cost.
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

class ConnectionLimitsTest : public ServerTest {
 public:
  // connected_clients, as soon as the server has noticed those who left.
  bool clients_become(int64_t count) {
    return wait_until(
        [&] { return info_integer(client(), "clients", "connected_clients") == count; });
  }
};
IRIS_WITH_1_AND_4_THREADS(ConnectionLimitsTest);

TEST_P(ConnectionLimitsTest, TooManyClientsAreToldSoAndClosed) {
  start({"maxclients 3"});
  ASSERT_TRUE(clients_become(1));
  RespClient second = connect(), third = connect();
  EXPECT_EQ(second.call("PING"), simple("PONG"));
  EXPECT_EQ(third.call("PING"), simple("PONG"));
  EXPECT_EQ(connect().read_until_closed(), "-ERR max number of clients reached\r\n");
  EXPECT_GE(info_integer(client(), "stats", "rejected_connections"), 1);
  third.close();
  ASSERT_TRUE(clients_become(2));
  EXPECT_EQ(connect().call("PING"), simple("PONG")) << "a place that became free is used again";
}

TEST_P(ConnectionLimitsTest, MaxclientsCanBeChangedAtRunTime) {
  start({"maxclients 2"});
  ASSERT_TRUE(clients_become(1));
  RespClient second = connect();
  EXPECT_EQ(second.call("PING"), simple("PONG"));
  EXPECT_EQ(client().call("CONFIG", "SET", "maxclients", "3"), ok());
  EXPECT_EQ(connect().call("PING"), simple("PONG"));
}

TEST_P(ConnectionLimitsTest, IdleConnectionsAreClosedAfterTheTimeout) {
  start({"timeout 1"});
  RespClient idle = connect(), active = connect();
  EXPECT_EQ(idle.call("PING"), simple("PONG"));
  bool closed = false;
  // One that keeps talking stays; redis looks at each client at least once in several seconds.
  EXPECT_TRUE(wait_until([&] {
    EXPECT_EQ(active.call("PING"), simple("PONG"));
    closed = closed || idle.readable_within(50);
    return closed;
  }));
  EXPECT_TRUE(idle.closed_by_peer());
  EXPECT_EQ(active.call("PING"), simple("PONG"));
}

TEST_P(ConnectionLimitsTest, AnUnfinishedRequestIsClosedAfterItsTimeout) {
  IRIS_ONLY();
  start({"request-timeout 1"});
  RespClient slow = connect(), idle = connect();
  EXPECT_EQ(idle.call("PING"), simple("PONG"));
  slow.send("*2\r\n$4\r\nECHO\r\n$10\r\nab");
  EXPECT_TRUE(slow.closed_by_peer());
  EXPECT_EQ(idle.call("PING"), simple("PONG")) << "who sends nothing at all may stay";
}

TEST_P(ConnectionLimitsTest, ASlowReaderIsClosedAtTheOutputLimit) {
  start({"client-output-buffer-limit normal 1mb 0 0"});
  RespClient slow = connect();
  const std::string large(100'000, 'x');
  std::string requests;
  for (int i = 0; i < 10; ++i) requests += encode({"ECHO", large});
  // Requests without ever reading: the socket's buffers take some megabytes, then the limit holds.
  size_t sent = 0;
  slow.set_timeout_ms(2000);
  while (sent < (200u << 20) && slow.send(requests)) sent += requests.size();
  EXPECT_LT(sent, 200u << 20) << "was never closed";
  EXPECT_TRUE(clients_become(1));
  EXPECT_EQ(client().call("PING"), simple("PONG"));
  if (!kSanitized) {
    EXPECT_LT(server().rss_bytes(), 100u << 20);
  }
}

TEST_P(ConnectionLimitsTest, ASlowReaderWithinTheLimitGetsEverything) {
  start();
  const std::string large(1 << 20, 'x');
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += encode({"ECHO", large});
  std::jthread sender([&] { client().send(requests); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // so that replies do pile up
  for (int i = 0; i < 20; ++i) ASSERT_EQ(client().read().text.size(), large.size());
  sender.join();
}

TEST_P(ConnectionLimitsTest, ARequestLargerThanTheQueryBufferIsClosed) {
  start({"client-query-buffer-limit 1mb"});
  RespClient large = connect();
  large.set_timeout_ms(2000);
  large.send("*2\r\n$4\r\nECHO\r\n$3000000\r\n" + std::string(3'000'000, 'x') + "\r\n");
  EXPECT_TRUE(large.closed_by_peer());
  EXPECT_EQ(client().call("ECHO", std::string(500'000, 'x')).text.size(), 500'000U);
}

TEST_P(ConnectionLimitsTest, AThousandClientsThatAnnounceMuchCostLittle) {
  IRIS_SKIP_UNDER_SANITIZERS();
  if (is_reference()) GTEST_SKIP() << "Redis allocates 16 KB and more for each";
  start();
  constexpr uint64_t kClients = 1000, kBytesEach = 16 << 10;
  std::vector<RespClient> clients;
  const uint64_t before = server().rss_bytes();
  for (uint64_t i = 0; i < kClients; ++i) {
    clients.push_back(connect());
    // 500 MB each, announced in the middle of a thousand arguments, after a little of it was sent.
    clients.back().send("*1000000\r\n$4\r\nECHO\r\n$500000000\r\nabc");
  }
  // The server has read it when it answers those who came later.
  for (int i = 0; i < 8; ++i) EXPECT_EQ(connect().call("PING"), simple("PONG"));
  EXPECT_GE(info_integer(client(), "clients", "connected_clients"), 1001);
  const uint64_t after = server().rss_bytes();
  EXPECT_LE(after - before, kClients * kBytesEach) << (after - before) / kClients << " bytes each";
}

TEST_P(ConnectionLimitsTest, TenThousandIdleConnectionsCostLittle) {
  IRIS_SKIP_UNDER_SANITIZERS();
  if (is_reference()) GTEST_SKIP() << "Redis takes more";
  constexpr uint64_t kClients = 10'000, kBytesEach = 4 << 10, kFiles = kClients + 500;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < kFiles) GTEST_SKIP() << "only " << limit.rlim_max << " files allowed here";
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  start({"maxclients 10100"}, kFiles);

  const uint64_t before = server().rss_bytes();
  std::vector<RespClient> clients;
  clients.reserve(kClients);
  for (uint64_t i = 0; i < kClients; ++i) {
    clients.push_back(connect());
    ASSERT_TRUE(clients.back().connected());
    // Each was used before it became idle.
    ASSERT_EQ(clients.back().call("PING"), simple("PONG"));
  }
  EXPECT_EQ(info_integer(client(), "clients", "connected_clients"), 10'001);
  const uint64_t after = server().rss_bytes();
  EXPECT_LE(after - before, kClients * kBytesEach) << (after - before) / kClients << " bytes each";
  EXPECT_EQ(clients[5000].call("PING"), simple("PONG"));
}

TEST_P(ConnectionLimitsTest, RecoversFromTheLimitOfOpenFiles) {
  IRIS_ONLY();  // Redis lowers maxclients at the start instead, which Iris may do as well
  constexpr uint64_t kFiles = 200;
  start({"maxclients 10000"}, kFiles);
  std::vector<RespClient> clients;
  for (int i = 0; i < 250; ++i) clients.push_back(connect());

  // At the limit: those who are in are served, and waiting for a free file costs no time.
  const double cpu_before = server().cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(client().call("PING"), simple("PONG"));
  const double cpu = server().cpu_seconds() - cpu_before;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(cpu / wall.count(), kSanitized ? 0.2 : 0.05) << "spins at the limit of open files";

  clients.clear();
  ASSERT_TRUE(clients_become(1));
  EXPECT_EQ(connect().call("PING"), simple("PONG"));
  for (int i = 0; i < 50; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(clients.back().call("PING"), simple("PONG"));
  }
}

TEST_P(ConnectionLimitsTest, ConnectionsThatComeAndGoLeaveNothing) {
  start();
  const auto come_and_go = [&](int connections) {
    for (int i = 0; i < connections; ++i) {
      RespClient passing = connect();
      if (i % 3 == 0) passing.send("*2\r\n$4\r\nEC");
      if (i % 3 == 1) passing.call("PING");
      if (i % 5 == 0) passing.reset_on_close();
    }
    ASSERT_TRUE(clients_become(1));
  };
  // libuv opens a spare descriptor with the first connection of a loop: every worker gets some.
  come_and_go(50);
  const uint64_t files_before = server().open_files();
  come_and_go(500);
  EXPECT_TRUE(wait_until([&] { return server().open_files() <= files_before; }))
      << server().open_files() << " open files, " << files_before << " before";
}

}  // namespace
}  // namespace iris::harness
