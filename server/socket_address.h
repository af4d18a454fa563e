// Addresses of sockets as CLIENT LIST shows them, and whether a peer is on this machine.
#pragma once

#include <string>

struct sockaddr;

namespace iris::server {

// "127.0.0.1:6379", "[::1]:6379", "/path/of/socket:0"; "?:0" if it cannot be told.
std::string peer_address(int fd);
std::string local_address(int fd);

// The other end is on this machine: a Unix socket, or the loopback interface.
bool peer_is_local(int fd);
bool is_loopback(const sockaddr& address);

}  // namespace iris::server
