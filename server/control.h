// What a command may ask of the process as a whole. The server implements it; commands, which run
// on a worker and know neither loops nor sockets, call it. Every member may be called from any
// worker and returns at once: the work is posted to the thread that owns it.
#pragma once

#include <string>

#include "server/client_registry.h"
#include "server/config.h"

namespace iris::server {

class Control {
 public:
  virtual ~Control() = default;

  // Closes the connection when its worker gets to it.
  virtual void kill_client(const ClientRecord& client) = 0;
  // Appends bytes to the connection's output: lines of MONITOR.
  virtual void send_to_client(const ClientRecord& client, std::string bytes) = 0;
  // Ends the process after the running commands, with exit code 0.
  virtual void shut_down() = 0;
  // A new configuration is in force. Called in the exclusive state.
  virtual void config_changed(const Config& before, const Config& after) = 0;
};

}  // namespace iris::server
