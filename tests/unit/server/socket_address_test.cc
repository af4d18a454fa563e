#include "server/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace iris::server {
namespace {

bool v4_is_loopback(const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  EXPECT_EQ(inet_pton(AF_INET, text, &address.sin_addr), 1);
  return is_loopback(reinterpret_cast<sockaddr&>(address));
}

bool v6_is_loopback(const char* text) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text, &address.sin6_addr), 1);
  return is_loopback(reinterpret_cast<sockaddr&>(address));
}

TEST(SocketAddress, TheWholeNetwork127IsThisMachine) {
  EXPECT_TRUE(v4_is_loopback("127.0.0.1"));
  EXPECT_TRUE(v4_is_loopback("127.255.3.4"));
  EXPECT_FALSE(v4_is_loopback("128.0.0.1"));
  EXPECT_FALSE(v4_is_loopback("10.0.0.127"));
  EXPECT_FALSE(v4_is_loopback("0.0.0.0"));
}

TEST(SocketAddress, OfIpv6OnlyTheLoopbackAddressIsThisMachine) {
  EXPECT_TRUE(v6_is_loopback("::1"));
  EXPECT_TRUE(v6_is_loopback("::ffff:127.0.0.1"));
  EXPECT_FALSE(v6_is_loopback("::2"));
  EXPECT_FALSE(v6_is_loopback("::ffff:192.0.2.1"));
  EXPECT_FALSE(v6_is_loopback("fe80::1"));
}

TEST(SocketAddress, AUnixSocketIsThisMachine) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_TRUE(peer_is_local(ends[0]));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace iris::server
