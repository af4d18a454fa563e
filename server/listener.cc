#include "server/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "server/log.h"

namespace iris::server {

namespace {

// Accepted in one go before others get a turn.
constexpr int kAcceptsPerTurn = 1000;

int open_spare() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace

Listener::Listener(uv_loop_t* loop, int fd, bool is_unix, Accepted accepted)
    : fd_(fd),
      spare_fd_(open_spare()),
      is_unix_(is_unix),
      accepted_(std::move(accepted)),
      poll_(std::make_unique<uv_poll_t>()) {
  uv_poll_init(loop, poll_.get(), fd_);
  poll_->data = this;
  uv_poll_start(poll_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<Listener*>(poll->data)->accept_all();
  });
}

Listener::~Listener() {
  close();
}

void Listener::close() {
  if (poll_ == nullptr) return;
  uv_poll_stop(poll_.get());
  uv_close(reinterpret_cast<uv_handle_t*>(poll_.release()),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_poll_t*>(handle); });
  ::close(fd_);
  if (spare_fd_ >= 0) ::close(spare_fd_);
}

void Listener::accept_all() {
  for (int i = 0; i < kAcceptsPerTurn; i++) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      accepted_(fd, is_unix_);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE) {
      turn_one_away();
      continue;
    }
    // ECONNABORTED and the like concern one connection that is gone already.
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    if (errno != EAGAIN) log_warning("Accepting a connection: {}", std::strerror(errno));
    return;
  }
}

void Listener::turn_one_away() {
  if (spare_fd_ < 0) {
    spare_fd_ = open_spare();
    if (spare_fd_ < 0) return;
  }
  log_warning("Turning a connection away: too many open files");
  ::close(spare_fd_);
  const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) ::close(fd);
  spare_fd_ = open_spare();
}

}  // namespace iris::server
