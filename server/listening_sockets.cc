// Binding the addresses of the configuration: TCP over IPv4 and IPv6, and the Unix socket.

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "server/listener.h"

#include "server/log.h"

namespace iris::server {

namespace {

int listening_socket(const addrinfo& address, uint32_t backlog, std::string& error) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    error = std::strerror(errno);
    return -1;
  }
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  // Else an IPv6 wildcard would take the IPv4 addresses too, which are bound on their own.
  if (address.ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  if (bind(fd, address.ai_addr, address.ai_addrlen) == 0 &&
      listen(fd, static_cast<int>(backlog)) == 0) {
    return fd;
  }
  error = std::strerror(errno);
  close(fd);
  return -1;
}

// "*" is every IPv4 address, "::*" every IPv6 address.
int bind_tcp(const std::string& name, const Config& config, std::string& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  const char* host = name.c_str();
  if (name == "*" || name == "::*") {
    host = nullptr;
    hints.ai_family = name == "*" ? AF_INET : AF_INET6;
  }
  addrinfo* found = nullptr;
  const int result = getaddrinfo(host, std::to_string(config.port).c_str(), &hints, &found);
  if (result != 0) {
    error = gai_strerror(result);
    return -1;
  }
  const int fd = listening_socket(*found, config.tcp_backlog, error);
  freeaddrinfo(found);
  return fd;
}

bool bind_all_tcp(const Config& config, ListeningSockets& sockets) {
  for (const std::string& entry : config.bind) {
    const bool optional = !entry.empty() && entry.front() == '-';
    const std::string name = optional ? entry.substr(1) : entry;
    std::string error;
    const int fd = bind_tcp(name, config, error);
    if (fd >= 0) {
      sockets.tcp.push_back(fd);
    } else if (optional) {
      log_notice("Not listening on {}:{}: {}", name, config.port, error);
    } else {
      sockets.error = "cannot listen on " + name + ":" + std::to_string(config.port) + ": " + error;
      return false;
    }
  }
  if (!sockets.tcp.empty()) return true;
  sockets.error = "none of the bind addresses could be bound";
  return false;
}

// The mode is set between bind() and listen(): there is no moment in which a stranger could
// connect.
bool bind_unix(const Config& config, ListeningSockets& sockets) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (config.unixsocket.size() >= sizeof address.sun_path) {
    sockets.error = "unixsocket: the path is longer than " +
                    std::to_string(sizeof address.sun_path - 1) + " bytes";
    return false;
  }
  config.unixsocket.copy(address.sun_path, sizeof address.sun_path - 1);
  struct stat status {};
  // Left behind by an earlier server; anything but a socket is not ours to remove.
  if (lstat(address.sun_path, &status) == 0 && S_ISSOCK(status.st_mode)) unlink(address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      (config.unixsocketperm == 0 || chmod(address.sun_path, config.unixsocketperm) == 0) &&
      listen(fd, static_cast<int>(config.tcp_backlog)) == 0) {
    sockets.unix_socket = fd;
    return true;
  }
  sockets.error = "unixsocket " + config.unixsocket + ": " + std::strerror(errno);
  if (fd >= 0) close(fd);
  return false;
}

}  // namespace

ListeningSockets open_listening_sockets(const Config& config) {
  ListeningSockets sockets;
  if (config.port != 0 && !bind_all_tcp(config, sockets)) return sockets;
  if (!config.unixsocket.empty() && !bind_unix(config, sockets)) return sockets;
  if (config.port == 0 && config.unixsocket.empty()) {
    sockets.error = "nothing to listen on: port is 0 and there is no unixsocket";
  }
  return sockets;
}

}  // namespace iris::server
