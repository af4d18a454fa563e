#include "bench/loadgen/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace iris::loadgen {

namespace {

// How much of the bytes the socket took; -1: the connection is lost.
ssize_t send_some(int fd, std::string_view bytes) {
  const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return sent;
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

int connected(int family, const sockaddr* address, socklen_t size, std::string& error) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, address, size) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) return fd;
  error = std::strerror(errno);
  if (fd >= 0) close(fd);
  return -1;
}

int connect_unix(const std::string& path, std::string& error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    error = "a path this long cannot be a Unix socket's";
    return -1;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, error);
}

int connect_tcp(const std::string& host, uint16_t port, std::string& error) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int problem = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (problem != 0) {
    error = gai_strerror(problem);
    return -1;
  }
  const int fd = connected(found->ai_family, found->ai_addr, found->ai_addrlen, error);
  freeaddrinfo(found);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

}  // namespace

Connection::~Connection() {
  close(fd_);
}

bool Connection::send(std::string_view bytes) {
  const ssize_t sent = send_some(fd_, bytes);
  if (sent < 0) return false;
  unsent_ = bytes.substr(static_cast<size_t>(sent));
  return true;
}

bool Connection::send_unsent() {
  const ssize_t sent = send_some(fd_, unsent_);
  if (sent < 0) return false;
  unsent_.erase(0, static_cast<size_t>(sent));
  return true;
}

int connect_to(const Address& address, std::string& error) {
  const bool is_unix = !address.unix_socket.empty();
  const int fd = is_unix ? connect_unix(address.unix_socket, error)
                         : connect_tcp(address.host, address.port, error);
  if (fd < 0) {
    error =
        (is_unix ? address.unix_socket : address.host + " port " + std::to_string(address.port)) +
        ": " + error;
  }
  return fd;
}

}  // namespace iris::loadgen
