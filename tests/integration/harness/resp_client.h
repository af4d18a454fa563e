// A blocking client over a plain socket that can also misbehave: send any bytes in any pieces, not
// read, half close. hiredis is used where a test wants a real library; this one is for everything
// that a real library would never do.
//
//   RespClient client = server().connect();
//   EXPECT_EQ(client.call("ECHO", "hi"), bulk("hi"));
//   client.send("*1\r\n$4\r\nPI");                 raw bytes, also parts of a request
//   client.send_command({"PING"});                 pipelined: the reply is read later
//   EXPECT_EQ(client.read(), simple("PONG"));
//
// Nothing here throws or blocks for ever: what cannot be had within timeout_ms is a kNone reply,
// which is equal to nothing that a test expects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/harness/reply.h"

namespace iris::harness {

// How long a test waits for something that must happen. Generous: sanitizers are slow, and a test
// that passes never waits for it.
inline constexpr int kPatienceMs = 20'000;

// The request as RESP.
std::string encode(const std::vector<std::string_view>& args);

class RespClient {
 public:
  // `host` is an IPv4 or IPv6 address. A client that could not connect has connected() == false.
  static RespClient to_tcp(const std::string& host, int port);
  static RespClient to_unix(const std::string& path);

  RespClient() = default;
  ~RespClient();
  RespClient(RespClient&& other) noexcept;
  RespClient& operator=(RespClient&& other) noexcept;

  bool connected() const { return fd_ >= 0; }
  // The errno of a failed connect.
  int connect_error() const { return connect_error_; }
  int fd() const { return fd_; }
  void set_timeout_ms(int timeout_ms) { timeout_ms_ = timeout_ms; }

  template <typename... Args>
  Reply call(const Args&... args) {
    return call_args({std::string_view(args)...});
  }
  Reply call_args(const std::vector<std::string_view>& args);
  // The words of `line`, cut at spaces: command("CONFIG GET port").
  Reply command(std::string_view line);

  // False if not all of it could be sent (connection closed, or the peer does not read).
  bool send(std::string_view bytes);
  bool send_command(const std::vector<std::string_view>& args) { return send(encode(args)); }
  // As much as the socket takes at once without blocking; how many bytes that were.
  size_t send_some(std::string_view bytes);

  Reply read();
  std::vector<Reply> read_replies(size_t count);
  // Everything until the peer closes; starts with "<still open>" if it does not within timeout_ms.
  std::string read_until_closed();
  // True if the peer closes within timeout_ms; whatever comes before that is dropped.
  bool closed_by_peer();
  // True if bytes arrive within wait_ms; for tests that expect silence.
  bool readable_within(int wait_ms);

  void close();
  // FIN to the peer, while replies can still be read.
  void shutdown_write();
  // Makes close() send RST.
  void reset_on_close();

 private:
  enum class Fill : uint8_t { kGotBytes, kClosed, kTimeout };

  Fill fill(int timeout_ms);
  bool read_line(std::string& line, std::string& why);
  bool read_bytes(size_t count, std::string& bytes, std::string& why);
  Reply read_value(int depth);
  Reply read_aggregate(Reply::Type type, int64_t elements, int depth);

  int fd_ = -1;
  int connect_error_ = 0;
  int timeout_ms_ = kPatienceMs;
  std::string buffer_;
  size_t position_ = 0;
};

}  // namespace iris::harness
