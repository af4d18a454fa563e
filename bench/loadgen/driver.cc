#include "bench/loadgen/driver.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "filters/check.h"

namespace iris::loadgen {

namespace {

constexpr size_t kInputBytes = 256 << 10;
constexpr int kMaxEvents = 256;
constexpr uint64_t kSecondNs = 1'000'000'000;
// A server that owes replies and says nothing for so long has failed.
constexpr uint64_t kSilenceLimitNs = 10 * kSecondNs;
// How often a driver that waits looks whether it should stop.
constexpr uint64_t kLookAroundNs = kSecondNs / 10;

}  // namespace

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecondNs + static_cast<uint64_t>(now.tv_nsec);
}

Driver::Driver(const Options& options, RequestBatch batch,
               std::vector<std::unique_ptr<Connection>> connections, std::atomic<bool>& stop)
    : pipeline_(options.pipeline),
      batch_(std::move(batch)),
      connections_(std::move(connections)),
      stop_(stop),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      input_(new char[kInputBytes]) {
  CHECK(epoll_fd_ >= 0);
  for (const auto& connection : connections_) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = connection.get();
    CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, connection->fd(), &event) == 0);
  }
}

Driver::~Driver() {
  close(epoll_fd_);
}

void Driver::run(const Share& share) {
  prctl(PR_SET_TIMERSLACK, 1);  // the default wakes this thread 50 us late
  share_ = share;
  requests_left_ = share.requests;
  while ((now_ns_ = monotonic_ns()) < share.start_ns) {
    usleep(static_cast<useconds_t>((share.start_ns - now_ns_) / 1000));
  }
  heard_ns_ = now_ns_;
  if (!keeps_rate()) {
    for (const auto& connection : connections_) {
      if (may_send()) start_batch(*connection, now_ns_);
    }
  }
  while (!done()) {
    if (keeps_rate()) start_due_batches();
    if (wait() < 0) fail(std::strerror(errno));
    if (unanswered_ > 0 && now_ns_ > heard_ns_ + kSilenceLimitNs) {
      fail(std::to_string(unanswered_) + " replies are missing: none came for 10 seconds");
    }
  }
}

// With a rate, what was due before the end is sent even when this thread gets to it later.
bool Driver::may_send() const {
  return requests_left_ > 0 && (keeps_rate() ? next_due_ns() : now_ns_) < share_.end_ns;
}

bool Driver::done() const {
  if (!error_.empty() || stop_.load(std::memory_order_relaxed)) return true;
  return unanswered_ == 0 && !may_send();
}

// --- sending ---

uint64_t Driver::next_due_ns() const {
  return share_.start_ns + batches_started_ * share_.interval_ps / 1000;
}

void Driver::start_due_batches() {
  while (may_send() && next_due_ns() <= now_ns_ && error_.empty()) {
    start_batch(*connections_[batches_started_ % connections_.size()], next_due_ns());
  }
}

void Driver::start_batch(Connection& connection, uint64_t due_ns) {
  const Batch batch{due_ns, std::min(pipeline_, requests_left_)};
  requests_left_ -= batch.requests;
  if (unanswered_ == 0) heard_ns_ = now_ns_;
  unanswered_ += batch.requests;
  ++batches_started_;
  if (connection.has_unsent()) {
    connection.waiting.push_back(batch);
  } else {
    send_batch(connection, batch);
  }
}

void Driver::send_batch(Connection& connection, Batch batch) {
  connection.in_flight.push_back(batch);
  if (!connection.send(batch_.draw(batch.requests))) {
    return fail("the server closed a connection");
  }
  if (connection.has_unsent()) listen_for(connection, true);
}

void Driver::on_writable(Connection& connection) {
  if (!connection.send_unsent()) return fail("the server closed a connection");
  if (connection.has_unsent()) return;
  listen_for(connection, false);
  while (!connection.waiting.empty() && !connection.has_unsent() && error_.empty()) {
    const Batch batch = connection.waiting.front();
    connection.waiting.pop_front();
    send_batch(connection, batch);
  }
}

void Driver::listen_for(Connection& connection, bool writable) {
  epoll_event event{};
  event.events = writable ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &connection;
  CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, connection.fd(), &event) == 0);
}

// --- waiting and reading ---

// Sleeps until there is something to read or a batch is due, and handles what came.
int Driver::wait() {
  uint64_t until_ns = now_ns_ + kLookAroundNs;
  if (keeps_rate() && may_send()) {
    until_ns = std::min(until_ns, next_due_ns());
  }
  const uint64_t sleep_ns = until_ns > now_ns_ ? until_ns - now_ns_ : 0;
  const timespec timeout{0, static_cast<long>(sleep_ns)};
  std::array<epoll_event, kMaxEvents> events;
  const int count = epoll_pwait2(epoll_fd_, events.data(), kMaxEvents, &timeout, nullptr);
  now_ns_ = monotonic_ns();
  if (count < 0) return errno == EINTR ? 0 : -1;
  for (int i = 0; i < count && error_.empty(); ++i) {
    auto& connection = *static_cast<Connection*>(events[static_cast<size_t>(i)].data.ptr);
    const uint32_t what = events[static_cast<size_t>(i)].events;
    if ((what & EPOLLOUT) != 0) on_writable(connection);
    if ((what & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) on_readable(connection);
  }
  return count;
}

void Driver::on_readable(Connection& connection) {
  const ssize_t size = recv(connection.fd(), input_.get(), kInputBytes, 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return fail("the server closed a connection");
  // Events of one turn are handled one after another: the time of the turn would flatter the later
  // ones when a rate is kept. In a closed loop it is what the replies have waited for anyway.
  if (keeps_rate()) now_ns_ = monotonic_ns();
  heard_ns_ = now_ns_;
  const uint64_t replies = connection.replies.feed({input_.get(), static_cast<size_t>(size)});
  note_replies(connection, replies);
  if (connection.replies.failed()) return fail(connection.replies.error());
  if (!keeps_rate() && connection.in_flight.empty() && may_send()) {
    start_batch(connection, now_ns_);
  }
}

void Driver::note_replies(Connection& connection, uint64_t replies) {
  while (replies > 0) {
    if (connection.in_flight.empty()) return fail("there are more replies than requests");
    Batch& batch = connection.in_flight.front();
    const uint64_t answered = std::min(replies, batch.requests);
    latencies_.add(now_ns_ - batch.due_ns, answered);
    replies -= answered;
    unanswered_ -= answered;
    batch.requests -= answered;
    if (batch.requests == 0) connection.in_flight.pop_front();
  }
}

void Driver::fail(const std::string& error) {
  if (error_.empty()) error_ = error;
  stop_.store(true, std::memory_order_relaxed);
}

}  // namespace iris::loadgen
