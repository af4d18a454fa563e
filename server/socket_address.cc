#include "server/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace iris::server {

namespace {

union AnyAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_un local;
  sockaddr_storage storage;
};

using Getter = int (*)(int, sockaddr*, socklen_t*);

bool get_address(Getter getter, int fd, AnyAddress& address) {
  address = {};
  socklen_t size = sizeof address;
  return getter(fd, &address.any, &size) == 0;
}

std::string printed(const AnyAddress& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.any.sa_family == AF_INET) {
    inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(address.v4.sin_port));
  }
  if (address.any.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(address.v6.sin6_port));
  }
  return "?:0";
}

// A client of a Unix socket has no name of its own: it is shown by the path it connected to.
std::string unix_path(int fd) {
  AnyAddress address;
  if (!get_address(getsockname, fd, address) || address.any.sa_family != AF_UNIX) return "?:0";
  return std::string(address.local.sun_path) + ":0";
}

}  // namespace

std::string peer_address(int fd) {
  AnyAddress address;
  if (!get_address(getpeername, fd, address)) return "?:0";
  return address.any.sa_family == AF_UNIX ? unix_path(fd) : printed(address);
}

std::string local_address(int fd) {
  AnyAddress address;
  if (!get_address(getsockname, fd, address)) return "?:0";
  return address.any.sa_family == AF_UNIX ? unix_path(fd) : printed(address);
}

bool peer_is_local(int fd) {
  AnyAddress address;
  if (!get_address(getpeername, fd, address)) return false;
  return address.any.sa_family == AF_UNIX || is_loopback(address.any);
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return v6.sin6_addr.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
  }
  return false;
}

}  // namespace iris::server
