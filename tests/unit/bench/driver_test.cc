#include "bench/loadgen/driver.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

namespace iris::loadgen {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kMillisecondNs = 1'000'000;

// The other end of a driver's only connection: for the i-th request (of a known size) it sends what
// `answer` says, and closes when that is empty.
class Peer {
 public:
  Peer(size_t request_bytes, std::function<std::string(uint64_t)> answer) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0);
    EXPECT_EQ(fcntl(fds_[0], F_SETFL, O_NONBLOCK), 0);
    thread_ = std::thread([this, request_bytes, answer = std::move(answer)] {
      std::string input(request_bytes, '\0');
      for (uint64_t i = 0; recv(fds_[1], input.data(), request_bytes, MSG_WAITALL) ==
                           static_cast<ssize_t>(request_bytes);
           ++i) {
        const std::string bytes = answer(i);
        if (bytes.empty()) break;
        if (send(fds_[1], bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) break;
      }
      shutdown(fds_[1], SHUT_RDWR);
    });
  }
  ~Peer() {
    shutdown(fds_[1], SHUT_RDWR);
    thread_.join();
    close(fds_[1]);
  }
  int drivers_fd() const { return fds_[0]; }  // the driver closes it

 private:
  int fds_[2] = {-1, -1};
  std::thread thread_;
};

// Runs PING over the one connection and returns the driver, which has ended.
std::unique_ptr<Driver> run_ping(uint64_t pipeline, Share share,
                                 std::function<std::string(uint64_t)> answer) {
  static const RequestTemplate kPing({"PING"}, {1, 1});
  static std::atomic<bool> stop;
  stop = false;
  Options options;
  options.pipeline = pipeline;
  Peer peer(kPing.bytes().size(), std::move(answer));
  std::vector<std::unique_ptr<Connection>> connections;
  connections.push_back(std::make_unique<Connection>(peer.drivers_fd(), ReplyKind::kSimple));
  RequestBatch batch(kPing, pipeline, KeySpan{}, false, 1, ItemChoice({}, 0, 1, 1), 1);
  auto driver = std::make_unique<Driver>(options, batch, std::move(connections), stop);
  share.start_ns = monotonic_ns();
  if (share.end_ns != UINT64_MAX) share.end_ns += share.start_ns;
  driver->run(share);
  return driver;
}

constexpr Share kClosed{.requests = 1000, .start_ns = 0, .end_ns = UINT64_MAX, .interval_ps = 0};

TEST(Driver, SendsAsManyRequestsAsItWasTold) {
  for (const uint64_t pipeline : {1u, 16u, 999u, 2000u}) {
    uint64_t requests = 0;
    const auto driver = run_ping(pipeline, kClosed, [&](uint64_t) {
      ++requests;
      return "+PONG\r\n";
    });
    EXPECT_EQ(driver->error(), "");
    EXPECT_EQ(driver->answered(), 1000u);
    EXPECT_EQ(requests, 1000u);
  }
}

// 1000 requests a second for 0.6 s, and the server sleeps for the first 0.3 s. Half of the requests
// were due meanwhile, so the median wait is near 0 but a quarter waited for 150 ms and more. Who
// counts from the send, or sends only when an answer came, sees one slow request.
TEST(Driver, ChargesAStallToEveryRequestThatWasDueMeanwhile) {
  const Share share{.requests = UINT64_MAX,
                    .start_ns = 0,
                    .end_ns = 600 * kMillisecondNs,
                    .interval_ps = kMillisecondNs * 1000};
  const auto driver = run_ping(1, share, [](uint64_t request) {
    if (request == 0) std::this_thread::sleep_for(milliseconds(300));
    return "+PONG\r\n";
  });
  EXPECT_EQ(driver->error(), "");
  EXPECT_EQ(driver->answered(), 600u);
  EXPECT_GE(driver->latencies().max_ns(), 300 * kMillisecondNs);
  EXPECT_GE(driver->latencies().percentile_ns(0.76), 140 * kMillisecondNs);
}

TEST(Driver, FailsWithTheTextOfAnError) {
  const auto driver = run_ping(
      4, kClosed, [](uint64_t request) { return request == 9 ? "-ERR no more\r\n" : "+PONG\r\n"; });
  EXPECT_EQ(driver->error(), "the server answered: ERR no more");
}

TEST(Driver, FailsOnMoreRepliesThanRequests) {
  const auto driver = run_ping(1, kClosed, [](uint64_t) { return "+PONG\r\n+PONG\r\n"; });
  EXPECT_EQ(driver->error(), "there are more replies than requests");
}

TEST(Driver, FailsWhenTheServerGoesAway) {
  const auto driver =
      run_ping(1, kClosed, [](uint64_t request) { return request == 5 ? "" : "+PONG\r\n"; });
  EXPECT_EQ(driver->error(), "the server closed a connection");
}

}  // namespace
}  // namespace iris::loadgen
