// What a command may ask of the process as a whole. The server implements it; commands, which run
// on a worker and know neither loops nor sockets, call it. Every member may be called from any
// worker and returns at once: the work is posted to the thread that owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/client_registry.h"
#include "server/config.h"

namespace iris::server {

// Whether the last thing is a snapshot.
enum class ShutdownSave : uint8_t {
  kByRules,  // if there are `save` rules
  kYes,
  kNo,
};

class Control {
 public:
  virtual ~Control() = default;

  // Closes the connection when its worker gets to it.
  virtual void kill_client(const ClientRecord& client) = 0;
  // Appends bytes to the connection's output: lines of MONITOR.
  virtual void send_to_client(const ClientRecord& client, std::string bytes) = 0;
  // The reply to a command that is answered later (Session::waits_for_answer).
  virtual void answer_client(const ClientRecord& client, std::string reply) = 0;
  // The rest of a long command, to be answered later as well: `turn` does some of it and returns
  // the reply, or nothing while there is more to do. It runs inside the world lock, on the client's
  // worker, which serves everybody else between two turns. It is dropped with the connection.
  using Turn = std::function<std::string()>;
  virtual void go_on_later(const ClientRecord& client, Turn turn) = 0;
  // Ends the process after the running commands, with exit code 0 if all could be saved.
  virtual void shut_down(ShutdownSave save) = 0;
  // Replies may have become free to go: see Worker. Called by the log's thread.
  virtual void log_advanced() = 0;
  // A new configuration is in force. Called in the exclusive state.
  virtual void config_changed(const Config& before, const Config& after) = 0;
};

}  // namespace iris::server
