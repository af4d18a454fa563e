#include "tests/integration/harness/server_test.h"

#include <charconv>

namespace iris::harness {

void ServerTest::start(std::vector<std::string> directives, uint64_t max_files) {
  server_ = std::make_unique<ServerProcess>(ServerOptions{
      .directives = std::move(directives), .threads = GetParam(), .max_files = max_files});
  // What the test would say about a server that is not there helps nobody.
  if (!server_->start()) {
    server_.reset();
    std::exit(1);
  }
  client_ = RespClient::to_tcp("127.0.0.1", server_->port());
  if (!client_.connected()) client_ = RespClient::to_unix(server_->unix_socket());
}

RespClient ServerTest::connect_resp3() {
  RespClient client = connect();
  EXPECT_EQ(client.call("HELLO", "3").type, Reply::Type::kMap);
  return client;
}

Reply make_key(RespClient& client, std::string_view key) {
  if (is_reference())
    return client.call("SETBIT", key, "800", "0").is_error() ? no_reply("") : ok();
  return client.call("BF.RESERVE", key, "0.01", "100");
}

std::string_view made_type() {
  return is_reference() ? "string" : "bloom";
}

Reply touch_content(RespClient& client, std::string_view key, std::string_view item) {
  if (is_reference()) return client.call("APPEND", key, item);
  return client.call("BF.ADD", key, item);
}

std::string info(RespClient& client, std::string_view section, std::string_view field) {
  const std::string text(client.call("INFO", section).string());
  const std::string start = std::string(field) + ":";
  size_t at = text.starts_with(start) ? 0 : text.find("\n" + start);
  if (at == std::string::npos) return "";
  at = text.find(':', at) + 1;
  return text.substr(at, text.find('\r', at) - at);
}

int64_t info_integer(RespClient& client, std::string_view section, std::string_view field) {
  const std::string text = info(client, section, field);
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_TRUE(code == std::errc{} && end == text.data() + text.size())
      << "INFO " << section << " has " << field << ":" << text;
  return value;
}

std::string config(RespClient& client, std::string_view parameter) {
  const Reply reply = client.call("CONFIG", "GET", parameter);
  return reply.size() == 2 ? reply[1].text : "<none>";
}

}  // namespace iris::harness
