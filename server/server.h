// The server: the control thread with the listeners, the signals and the background round, and the
// workers that it starts and stops.
//
// Life: construct, listen(), run(). run() returns when the shutdown is complete. Shutting down
// is asked for by a signal or SHUTDOWN: no new connections, every worker ends its tick and closes
// its connections; when the last one reports its end, the control loop ends.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <uv.h>

#include "server/active_expiry.h"
#include "server/control.h"
#include "server/engine.h"
#include "server/listener.h"
#include "server/worker.h"

namespace iris::server {

class Server : public Control {
 public:
  Server(Config config, RunFacts facts, Clock& clock);
  ~Server() override;

  // Binds what the configuration asks for. An error's text, empty if all is well.
  std::string listen();
  void run();

  void kill_client(const ClientRecord& client) override;
  void send_to_client(const ClientRecord& client, std::string bytes) override;
  void shut_down() override;
  void config_changed(const Config& before, const Config& after) override;

 private:
  void accept(int fd, bool is_unix);
  Worker& idlest_worker();
  void on_signal(int signal);
  void on_wake();
  void begin_shutdown(const std::string& reason);
  void background_round();
  void restart_timer(uint32_t hz);
  size_t control_member() const { return workers_.size(); }
  void announce() const;

  uv_loop_t loop_;
  std::array<uv_signal_t, 4> signals_;
  uv_async_t wake_;
  uv_timer_t timer_;
  Engine engine_;
  ActiveExpiry expiry_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  size_t last_dealt_ = 0;
  bool shutting_down_ = false;
  std::atomic<bool> shutdown_asked_{false};
  std::atomic<size_t> workers_running_{0};
  std::atomic<uint32_t> hz_;
  // The control thread is not inside the world: what it needs of the configuration is copied.
  std::atomic<uint32_t> maxclients_;
  std::atomic<uint32_t> keepalive_s_;
  std::atomic<bool> locals_only_;
  const Supervised supervised_;
};

}  // namespace iris::server
