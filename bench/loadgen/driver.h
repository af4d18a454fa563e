// The loop of one thread: sends batches, reads replies, notes latencies.
//
//   closed   a connection's next batch leaves when the last reply to its batch has come
//   rate     batch number i leaves at start + i * pipeline / rate, over the connections in turn,
//            whether or not earlier ones were answered
//
// With a rate, latency is counted from when a request was due, not from when it was sent. Otherwise
// a server that stalls for a second would be charged with one slow request instead of the thousands
// that were due in that second (the "coordinated omission").
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/loadgen/connection.h"
#include "bench/loadgen/latency_histogram.h"
#include "bench/loadgen/options.h"
#include "bench/loadgen/request_batch.h"

namespace iris::loadgen {

// A thread's share of the load.
struct Share {
  uint64_t requests;     // at most
  uint64_t start_ns;     // on the monotonic clock
  uint64_t end_ns;       // no request after this
  uint64_t interval_ps;  // between batches; 0: closed loop
};

uint64_t monotonic_ns();

class Driver {
 public:
  // `stop` is shared by all drivers: one that fails stops the others.
  Driver(const Options& options, RequestBatch batch,
         std::vector<std::unique_ptr<Connection>> connections, std::atomic<bool>& stop);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void run(const Share& share);

  const std::string& error() const { return error_; }
  uint64_t answered() const { return latencies_.count(); }
  uint64_t ended_ns() const { return now_ns_; }
  const LatencyHistogram& latencies() const { return latencies_; }

 private:
  bool keeps_rate() const { return share_.interval_ps != 0; }
  bool may_send() const;
  bool done() const;
  void start_due_batches();
  uint64_t next_due_ns() const;
  void start_batch(Connection& connection, uint64_t due_ns);
  void send_batch(Connection& connection, Batch batch);
  int wait();
  void on_writable(Connection& connection);
  void on_readable(Connection& connection);
  void note_replies(Connection& connection, uint64_t replies);
  void listen_for(Connection& connection, bool writable);
  void fail(const std::string& error);

  const uint64_t pipeline_;
  RequestBatch batch_;
  const std::vector<std::unique_ptr<Connection>> connections_;
  std::atomic<bool>& stop_;
  int epoll_fd_;

  Share share_{};
  uint64_t now_ns_ = 0;
  uint64_t heard_ns_ = 0;  // when a reply came last
  uint64_t requests_left_ = 0;
  uint64_t unanswered_ = 0;
  uint64_t batches_started_ = 0;
  LatencyHistogram latencies_;
  std::string error_;
  std::unique_ptr<char[]> input_;
};

}  // namespace iris::loadgen
