// A listening socket: accepts connections and hands each over.
//
// At the limit of file descriptors accept() fails and the waiting connection keeps the socket
// readable, so a loop would spin. The spare descriptor is the way out: close it, accept with the
// number it frees, close that connection, open the spare again. Clients are turned away at once and
// the loop stays quiet.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <uv.h>

#include "server/config.h"

namespace iris::server {

class Listener {
 public:
  // Gets the connected socket, non-blocking and close-on-exec, and owns it.
  using Accepted = std::function<void(int fd, bool is_unix)>;

  // Owns `fd`, which listens already.
  Listener(uv_loop_t* loop, int fd, bool is_unix, Accepted accepted);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void close();

 private:
  void accept_all();
  void turn_one_away();

  int fd_;
  int spare_fd_;
  bool is_unix_;
  Accepted accepted_;
  std::unique_ptr<uv_poll_t> poll_;
};

// All sockets that the configuration asks for. An error's text says what could not be bound.
struct ListeningSockets {
  std::vector<int> tcp;
  int unix_socket = -1;
  std::string error;
};
ListeningSockets open_listening_sockets(const Config& config);

}  // namespace iris::server
