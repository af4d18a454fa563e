#include "tests/integration/harness/resp_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace iris::harness {
namespace {

constexpr int kMaxDepth = 64;
// Read replies are dropped from the buffer when they are that many bytes.
constexpr size_t kCompactBytes = 1 << 20;

bool connect_fd(int fd, const void* address, size_t size, int& error) {
  // connect() to a non-blocking socket is not needed: both peers are on this machine.
  if (::connect(fd, static_cast<const sockaddr*>(address), static_cast<socklen_t>(size)) == 0) {
    return true;
  }
  error = errno;
  return false;
}

Reply text_reply(Reply::Type type, std::string text) {
  Reply reply;
  reply.type = type;
  reply.text = std::move(text);
  return reply;
}

bool parse_length(std::string_view line, int64_t& value) {
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), value);
  return code == std::errc{} && end == line.data() + line.size();
}

}  // namespace

std::string encode(const std::vector<std::string_view>& args) {
  std::string request = "*" + std::to_string(args.size()) + "\r\n";
  for (const std::string_view arg : args) {
    request += "$" + std::to_string(arg.size()) + "\r\n";
    request += arg;
    request += "\r\n";
  }
  return request;
}

RespClient RespClient::to_tcp(const std::string& host, int port) {
  RespClient client;
  const bool ipv6 = host.find(':') != std::string::npos;
  const int fd = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    client.connect_error_ = errno;
    return client;
  }
  bool connected = false;
  if (ipv6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<uint16_t>(port));
    ::inet_pton(AF_INET6, host.c_str(), &address.sin6_addr);
    connected = connect_fd(fd, &address, sizeof address, client.connect_error_);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    connected = connect_fd(fd, &address, sizeof address, client.connect_error_);
  }
  if (!connected) {
    ::close(fd);
    return client;
  }
  // Pieces must leave as they were sent, or a test of split requests would test nothing.
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  client.fd_ = fd;
  return client;
}

RespClient RespClient::to_unix(const std::string& path) {
  RespClient client;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    client.connect_error_ = ENAMETOOLONG;
    return client;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    client.connect_error_ = errno;
  } else if (connect_fd(fd, &address, sizeof address, client.connect_error_)) {
    client.fd_ = fd;
  } else {
    ::close(fd);
  }
  return client;
}

RespClient::~RespClient() {
  close();
}

RespClient::RespClient(RespClient&& other) noexcept {
  *this = std::move(other);
}

RespClient& RespClient::operator=(RespClient&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    connect_error_ = other.connect_error_;
    timeout_ms_ = other.timeout_ms_;
    buffer_ = std::move(other.buffer_);
    position_ = std::exchange(other.position_, 0);
  }
  return *this;
}

void RespClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  buffer_.clear();
  position_ = 0;
}

void RespClient::shutdown_write() {
  ::shutdown(fd_, SHUT_WR);
}

void RespClient::reset_on_close() {
  const linger reset{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

Reply RespClient::call_args(const std::vector<std::string_view>& args) {
  // A failed send is not the end: the error that the server sent before it closed can be read.
  send_command(args);
  return read();
}

Reply RespClient::command(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return call_args(words);
}

bool RespClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    pollfd writable{.fd = fd_, .events = POLLOUT, .revents = 0};
    if (::poll(&writable, 1, timeout_ms_) <= 0) return false;
  }
  return true;
}

size_t RespClient::send_some(std::string_view bytes) {
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent > 0 ? static_cast<size_t>(sent) : 0;
}

RespClient::Fill RespClient::fill(int timeout_ms) {
  if (fd_ < 0) return Fill::kClosed;
  if (position_ == buffer_.size() || position_ > kCompactBytes) {
    buffer_.erase(0, position_);
    position_ = 0;
  }
  pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
  if (::poll(&readable, 1, timeout_ms) <= 0) return Fill::kTimeout;
  char chunk[64 * 1024];
  const ssize_t got = ::recv(fd_, chunk, sizeof chunk, 0);
  if (got <= 0) return Fill::kClosed;
  buffer_.append(chunk, static_cast<size_t>(got));
  return Fill::kGotBytes;
}

bool RespClient::readable_within(int wait_ms) {
  if (position_ < buffer_.size()) return true;
  pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
  return ::poll(&readable, 1, wait_ms) > 0;
}

std::string RespClient::read_until_closed() {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(timeout_ms_);
  while (steady_clock::now() < deadline) {
    const Fill result = fill(timeout_ms_);
    if (result == Fill::kClosed) {
      std::string all = buffer_.substr(position_);
      close();
      return all;
    }
  }
  return "<still open> " + buffer_.substr(position_);
}

bool RespClient::closed_by_peer() {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(timeout_ms_);
  do {
    position_ = buffer_.size();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
    if (fill(std::max(0, static_cast<int>(left.count()))) == Fill::kClosed) return true;
  } while (steady_clock::now() < deadline);
  return false;
}

bool RespClient::read_line(std::string& line, std::string& why) {
  size_t searched = 0;  // from position_, since fill() may move the bytes
  for (;;) {
    const size_t end = buffer_.find("\r\n", position_ + searched);
    if (end != std::string::npos) {
      line = buffer_.substr(position_, end - position_);
      position_ = end + 2;
      return true;
    }
    const size_t waiting = buffer_.size() - position_;
    searched = waiting > 0 ? waiting - 1 : 0;
    const Fill result = fill(timeout_ms_);
    if (result == Fill::kGotBytes) continue;
    why = result == Fill::kClosed ? "connection closed" : "timed out";
    if (waiting > 0) why += " inside a reply";
    return false;
  }
}

bool RespClient::read_bytes(size_t count, std::string& bytes, std::string& why) {
  while (buffer_.size() - position_ < count + 2) {
    if (fill(timeout_ms_) != Fill::kGotBytes) {
      why = "connection closed or timed out inside a bulk string";
      return false;
    }
  }
  bytes = buffer_.substr(position_, count);
  if (buffer_.compare(position_ + count, 2, "\r\n") != 0) {
    why = "no CRLF after a bulk string";
    return false;
  }
  position_ += count + 2;
  return true;
}

Reply RespClient::read() {
  return read_value(0);
}

std::vector<Reply> RespClient::read_replies(size_t count) {
  std::vector<Reply> replies;
  replies.reserve(count);
  while (replies.size() < count) {
    replies.push_back(read());
    if (replies.back().type == Reply::Type::kNone) break;
  }
  return replies;
}

Reply RespClient::read_aggregate(Reply::Type type, int64_t elements, int depth) {
  if (depth >= kMaxDepth) return no_reply("nested too deeply");
  Reply reply;
  reply.type = type;
  for (int64_t i = 0; i < elements; ++i) {
    reply.elements.push_back(read_value(depth + 1));
    if (reply.elements.back().type == Reply::Type::kNone) return reply.elements.back();
  }
  return reply;
}

Reply RespClient::read_value(int depth) {
  using Type = Reply::Type;
  std::string line, why;
  if (!read_line(line, why)) return no_reply(why);
  if (line.empty()) return no_reply("an empty line");
  const char kind = line[0];
  line.erase(0, 1);
  int64_t number = 0;
  const bool is_number = parse_length(line, number);
  const std::string malformed = std::string("malformed: ") + kind + line;
  switch (kind) {
    case '+':
      return text_reply(Type::kSimple, line);
    case '-':
      return text_reply(Type::kError, line);
    case '(':
      return text_reply(Type::kBigNumber, line);
    case ':':
      return is_number ? integer(number) : no_reply(malformed);
    case ',':
      return real(std::strtod(line.c_str(), nullptr));
    case '#':
      return line == "t" || line == "f" ? boolean(line == "t") : no_reply(malformed);
    case '_':
      return line.empty() ? null() : no_reply(malformed);
    default:
      break;
  }
  if (!is_number || number < -1) return no_reply(malformed);
  switch (kind) {
    case '$':
    case '=': {
      if (number == -1) return kind == '$' ? nil() : no_reply(malformed);
      std::string bytes;
      if (!read_bytes(static_cast<size_t>(number), bytes, why)) return no_reply(why);
      return text_reply(kind == '$' ? Type::kBulk : Type::kVerbatim, std::move(bytes));
    }
    case '*':
      return number == -1 ? nil_array() : read_aggregate(Type::kArray, number, depth);
    case '~':
      return read_aggregate(Type::kSet, number, depth);
    case '>':
      return read_aggregate(Type::kPush, number, depth);
    case '%':
      return read_aggregate(Type::kMap, 2 * number, depth);
    default:
      return no_reply(malformed);
  }
}

}  // namespace iris::harness
