// One connection to the server: its socket, what has been asked over it and not answered yet, and
// the bytes that the socket did not take.
//
// Requests go out in batches. A batch that comes while bytes of an earlier one wait is kept as its
// due time only, and rendered when its turn comes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "bench/loadgen/reply_counter.h"

namespace iris::loadgen {

// Requests that were sent together, or will be.
struct Batch {
  uint64_t due_ns;    // what latency is counted from
  uint64_t requests;  // not answered yet
};

class Connection {
 public:
  Connection(int fd, ReplyKind expected) : replies(expected), fd_(fd) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  int fd() const { return fd_; }

  // These return false when the connection is lost.
  [[nodiscard]] bool send(std::string_view bytes);
  [[nodiscard]] bool send_unsent();
  bool has_unsent() const { return !unsent_.empty(); }

  ReplyCounter replies;
  std::deque<Batch> in_flight;  // oldest first
  std::deque<Batch> waiting;    // due, and not rendered yet

 private:
  const int fd_;
  std::string unsent_;
};

struct Address {
  std::string host;
  uint16_t port;
  std::string unix_socket;  // if not empty, this one is meant
};

// A connected, non-blocking socket, or -1 and why.
int connect_to(const Address& address, std::string& error);

}  // namespace iris::loadgen
