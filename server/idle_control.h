// The control of an engine that has no server around it: nothing comes of what commands ask of it.
// For tests and benchmarks that run commands without sockets.
#pragma once

#include <string>

#include "server/control.h"

namespace iris::server {

class IdleControl : public Control {
 public:
  void kill_client(const ClientRecord&) override {}
  void send_to_client(const ClientRecord&, std::string) override {}
  void answer_client(const ClientRecord&, std::string) override {}
  void go_on_later(const ClientRecord&, Turn) override {}
  void shut_down(ShutdownSave) override {}
  void log_advanced() override {}
  void config_changed(const Config&, const Config&) override {}
};

}  // namespace iris::server
