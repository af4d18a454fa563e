// The server: the control thread with the listeners, the signals and the background round, and the
// workers that it starts and stops.
//
// Life: construct, listen(), run(). run() returns when the shutdown is complete. Shutting down
// is asked for by a signal or SHUTDOWN: no new connections, every worker ends its tick and closes
// its connections; when the last one reports its end, the control loop ends, and the storage saves
// what is to be saved.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <uv.h>

#include "server/active_expiry.h"
#include "server/control.h"
#include "server/engine.h"
#include "server/listener.h"
#include "server/storage.h"
#include "server/worker.h"

namespace iris::server {

class Server : public Control {
 public:
  Server(Config config, RunFacts facts, Clock& clock);
  ~Server() override;

  // Binds what the configuration asks for and takes the data directory. An error's text, empty if
  // all is well.
  std::string listen();
  // Returns the exit code of the process.
  int run();

  void kill_client(const ClientRecord& client) override;
  void send_to_client(const ClientRecord& client, std::string bytes) override;
  void answer_client(const ClientRecord& client, std::string reply) override;
  void go_on_later(const ClientRecord& client, Turn turn) override;
  void shut_down(ShutdownSave save) override;
  void log_advanced() override;
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
  void loaded(const std::string& error);
  void wait_for_quick_load();

  uv_loop_t loop_;
  std::array<uv_signal_t, 4> signals_;
  uv_async_t wake_;
  uv_timer_t timer_;
  Engine engine_;
  Storage storage_;
  ActiveExpiry expiry_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  size_t last_dealt_ = 0;
  bool shutting_down_ = false;
  std::atomic<bool> shutdown_asked_{false};
  std::atomic<ShutdownSave> shutdown_save_{ShutdownSave::kByRules};
  // Of the load at the start: how it ended, and whether that has been told.
  std::mutex load_mutex_;
  std::condition_variable load_ended_;
  bool load_done_ = false;
  bool loop_ended_ = false;
  std::string load_error_;
  bool ready_ = false;
  std::atomic<size_t> workers_running_{0};
  std::atomic<uint32_t> hz_;
  // The control thread is not inside the world: what it needs of the configuration is copied.
  std::atomic<uint32_t> maxclients_;
  std::atomic<uint32_t> keepalive_s_;
  std::atomic<bool> locals_only_;
  const Supervised supervised_;
};

}  // namespace iris::server
