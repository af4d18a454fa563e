#include "server/server.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "filters/check.h"
#include "server/connection.h"
#include "server/log.h"
#include "server/process.h"
#include "server/socket_address.h"
#include "server/version.h"

namespace iris::server {

namespace {

// So long nobody is let in while the data set is loaded: most are small, and their clients need not
// know LOADING.
constexpr auto kQuickLoad = std::chrono::milliseconds(1000);

// Of each background round's time, the part that removing expired keys may take.
constexpr int64_t kExpiryShare = 4;

constexpr std::string_view kTooManyClients = "-ERR max number of clients reached\r\n";

// Redis's rule and its error code; clients show the text to a person.
constexpr std::string_view kProtectedMode =
    "-DENIED Redis is running in protected mode because protected mode is enabled and no password "
    "is set for the default user. Only connections from this machine are accepted. To connect from "
    "elsewhere, set a password "
    "(requirepass), or turn protected mode off: 'CONFIG SET protected-mode no' from a local "
    "connection (and CONFIG REWRITE to keep it), 'protected-mode no' in the configuration file, or "
    "'--protected-mode no' on the command line. Do not turn it off where strangers can "
    "connect.\r\n";

void refuse(int fd, std::string_view error) {
  // Best effort: the socket's buffer is empty, so it goes out or the client is gone.
  if (send(fd, error.data(), error.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    log_verbose("A refused connection was gone already");
  }
  close(fd);
}

bool accepts_locals_only(const Config& config) {
  return config.protected_mode && config.requirepass.empty();
}

}  // namespace

Server::Server(Config config, RunFacts facts, Clock& clock)
    : engine_(std::move(config), std::move(facts), clock, *this),
      // main has gone to the directory `dir`.
      storage_(engine_, persistence::real_file_system(), ".", engine_.facts.threads + 1),
      expiry_(engine_, engine_.facts.threads),
      hz_(engine_.config.hz),
      maxclients_(engine_.config.maxclients),
      keepalive_s_(engine_.config.tcp_keepalive_s),
      locals_only_(accepts_locals_only(engine_.config)),
      supervised_(engine_.config.supervised) {
  engine_.storage = &storage_;
  CHECK(uv_loop_init(&loop_) == 0);
  uv_async_init(&loop_, &wake_,
                [](uv_async_t* async) { static_cast<Server*>(async->data)->on_wake(); });
  wake_.data = this;
  uv_timer_init(&loop_, &timer_);
  timer_.data = this;
  constexpr std::array<int, 4> kSignals = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
  for (size_t i = 0; i < signals_.size(); i++) {
    uv_signal_init(&loop_, &signals_[i]);
    signals_[i].data = this;
    uv_signal_start(
        &signals_[i],
        [](uv_signal_t* handle, int signal) {
          static_cast<Server*>(handle->data)->on_signal(signal);
        },
        kSignals[i]);
  }
  for (size_t i = 0; i < engine_.facts.threads; i++) {
    workers_.push_back(std::make_unique<Worker>(engine_, i));
  }
}

Server::~Server() {
  uv_loop_close(&loop_);
}

std::string Server::listen() {
  const uint32_t fitting = reserve_descriptors(engine_.config.maxclients);
  engine_.config.maxclients = fitting;
  maxclients_ = fitting;
  ListeningSockets sockets = open_listening_sockets(engine_.config);
  const auto accepted = [this](int fd, bool is_unix) { accept(fd, is_unix); };
  for (const int fd : sockets.tcp) {
    listeners_.push_back(std::make_unique<Listener>(&loop_, fd, false, accepted));
  }
  if (sockets.unix_socket >= 0) {
    listeners_.push_back(std::make_unique<Listener>(&loop_, sockets.unix_socket, true, accepted));
  }
  return sockets.error.empty() ? storage_.lock_directory() : sockets.error;
}

int Server::run() {
  announce();
  storage_.start([this](const std::string& error) { loaded(error); });
  wait_for_quick_load();
  workers_running_ = workers_.size();
  for (auto& worker : workers_) {
    worker->start([this] {
      if (workers_running_.fetch_sub(1) == 1) uv_async_send(&wake_);
    });
  }
  engine_.memory.note_startup();
  restart_timer(engine_.config.hz);
  uv_run(&loop_, UV_RUN_DEFAULT);
  {
    std::lock_guard<std::mutex> lock(load_mutex_);
    loop_ended_ = true;
  }
  for (auto& worker : workers_) worker->join();
  const ShutdownSave save = shutdown_save_;
  const bool saved = storage_.stop(save == ShutdownSave::kYes || (save == ShutdownSave::kByRules &&
                                                                  !engine_.config.save.empty()));
  if (!engine_.config.unixsocket.empty()) unlink(engine_.config.unixsocket.c_str());
  if (saved) log_notice("Iris is now ready to exit, bye bye...");
  return saved ? 0 : 1;
}

// On the storage thread.
void Server::loaded(const std::string& error) {
  {
    std::lock_guard<std::mutex> lock(load_mutex_);
    load_done_ = true;
    load_error_ = error;
    if (!loop_ended_) uv_async_send(&wake_);
  }
  load_ended_.notify_all();
}

void Server::wait_for_quick_load() {
  std::unique_lock<std::mutex> lock(load_mutex_);
  load_ended_.wait_for(lock, kQuickLoad, [this] { return load_done_; });
}

void Server::announce() const {
  const Config& config = engine_.config;
  log_notice("Iris {} starts: pid {}, threads {}", kVersion, getpid(), workers_.size());
  if (config.port != 0) {
    std::string addresses;
    for (const std::string& address : config.bind) addresses += " " + address;
    log_notice("Listening on port {} of{}", config.port, addresses);
  }
  if (!config.unixsocket.empty()) log_notice("Listening on {}", config.unixsocket);
}

// --- connections ---

void Server::accept(int fd, bool is_unix) {
  MemberStats& stats = engine_.stats.member(control_member());
  size_t connected = 0;
  for (const auto& worker : workers_) connected += worker->load();
  if (connected >= maxclients_) {
    stats.connections_rejected.add();
    refuse(fd, kTooManyClients);
    return;
  }
  if (locals_only_ && !is_unix && !peer_is_local(fd)) {
    stats.connections_rejected.add();
    refuse(fd, kProtectedMode);
    return;
  }
  stats.connections_accepted.add();
  idlest_worker().adopt(fd, is_unix, keepalive_s_);
}

// Equals take turns, so that short connections do not all meet at the first worker.
Worker& Server::idlest_worker() {
  size_t idlest = (last_dealt_ + 1) % workers_.size();
  for (size_t i = 0; i < workers_.size(); i++) {
    const size_t candidate = (last_dealt_ + 1 + i) % workers_.size();
    if (workers_[candidate]->load() < workers_[idlest]->load()) idlest = candidate;
  }
  last_dealt_ = idlest;
  return *workers_[idlest];
}

void Server::kill_client(const ClientRecord& client) {
  workers_[client.worker]->post([id = client.id](Worker& worker) {
    if (Connection* connection = worker.connection(id)) connection->close();
  });
}

void Server::send_to_client(const ClientRecord& client, std::string bytes) {
  workers_[client.worker]->post([id = client.id, bytes = std::move(bytes)](Worker& worker) {
    InsideWorld inside(worker.engine().world, worker.member());  // send() reads the configuration
    Connection* connection = worker.connection(id);
    // RESET may have come between; a line after its reply would be taken for the next reply.
    if (connection == nullptr || !connection->session.record->has_flag(kClientMonitor)) return;
    connection->send(bytes);
  });
}

void Server::answer_client(const ClientRecord& client, std::string reply) {
  workers_[client.worker]->post(
      [id = client.id, reply = std::move(reply)](Worker& worker) { worker.answer(id, reply); });
}

void Server::go_on_later(const ClientRecord& client, Turn turn) {
  workers_[client.worker]->go_on_later(client.id, std::move(turn));
}

// --- the end ---

void Server::on_signal(int signal) {
  if (signal == SIGHUP || signal == SIGUSR1) return;  // caught so that they do not end us
  if (shutting_down_ && signal == SIGINT) {
    log_warning("You insist... exiting now.");
    _exit(1);
  }
  begin_shutdown(signal == SIGINT ? "Received SIGINT, shutting down"
                                  : "Received SIGTERM, shutting down");
}

void Server::shut_down(ShutdownSave save) {
  shutdown_save_ = save;
  shutdown_asked_ = true;
  uv_async_send(&wake_);
}

void Server::on_wake() {
  {
    std::lock_guard<std::mutex> lock(load_mutex_);
    if (!load_error_.empty()) {
      log_warning("{}", load_error_);
      begin_shutdown("The data set cannot be loaded");
    } else if (load_done_ && !ready_) {
      ready_ = true;
      log_notice("Ready to accept connections");
      notify_service_manager(supervised_, "READY=1\n");
    }
  }
  if (shutdown_asked_) begin_shutdown("SHUTDOWN was asked for");
  if (!shutting_down_) restart_timer(hz_);
  if (!shutting_down_ || workers_running_ > 0) return;
  for (uv_signal_t& signal : signals_) uv_close(reinterpret_cast<uv_handle_t*>(&signal), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
}

void Server::begin_shutdown(const std::string& reason) {
  if (shutting_down_) return;
  shutting_down_ = true;
  log_warning("{}", reason);
  notify_service_manager(supervised_, "STOPPING=1\n");
  for (auto& listener : listeners_) listener->close();
  for (auto& worker : workers_) worker->stop();
}

// --- in the background ---

void Server::log_advanced() {
  for (auto& worker : workers_) worker->log_advanced();
}

void Server::config_changed(const Config& before, const Config& after) {
  storage_.config_changed(after);
  set_log_level(after.loglevel);
  if (after.maxclients != before.maxclients) reserve_descriptors(after.maxclients);
  maxclients_ = after.maxclients;
  keepalive_s_ = after.tcp_keepalive_s;
  locals_only_ = accepts_locals_only(after);
  if (hz_.exchange(after.hz) != after.hz) uv_async_send(&wake_);
}

void Server::restart_timer(uint32_t hz) {
  const uint64_t period_ms = std::max(1000u / hz, 1u);
  uv_timer_start(
      &timer_, [](uv_timer_t* timer) { static_cast<Server*>(timer->data)->background_round(); },
      period_ms, period_ms);
}

void Server::background_round() {
  engine_.memory.sample(storage_.log_memory_bytes());
  engine_.stats.sample_rates(engine_.clock.monotonic_ms());
  if (!shutting_down_ && !engine_.loading) expiry_.run(1'000'000 / hz_ / kExpiryShare);
}

}  // namespace iris::server
