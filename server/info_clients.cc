#include "server/info_clients.h"

#include <algorithm>
#include <string_view>

#include "server/command.h"
#include "server/connection.h"
#include "server/info_sections.h"

namespace iris::server {

namespace {

template <class Number>
Number now(const std::atomic<Number>& value) {
  return value.load(std::memory_order_relaxed);
}

int64_t whole_seconds(int64_t since_ms, int64_t now_ms) {
  return std::max<int64_t>(0, now_ms - since_ms) / 1000;
}

// "name=value" words in a row.
class ClientLine {
 public:
  void add(std::string_view name, std::string_view value) {
    if (!line_.empty()) line_ += ' ';
    line_.append(name).append("=").append(value);
  }
  template <std::integral Number>
  void add(std::string_view name, Number value) {
    add(name, std::to_string(value));
  }
  std::string finished() && { return std::move(line_) + "\n"; }

 private:
  std::string line_;
};

}  // namespace

bool is_leaving(const ClientRecord& client) {
  return client.has_flag(kClientCloseSoon);
}

std::string client_flags(const ClientRecord& client) {
  struct Letter {
    uint32_t flag;
    char letter;
  };
  // In the order of Redis.
  constexpr Letter kLetters[] = {
      {kClientMonitor, 'O'},         {kClientMulti, 'x'},     {kClientBlocked, 'b'},
      {kClientCloseAfterReply, 'c'}, {kClientCloseSoon, 'A'}, {kClientUnix, 'U'},
      {kClientNoEvict, 'e'},         {kClientNoTouch, 'T'},
  };
  std::string flags;
  for (const Letter& letter : kLetters) {
    if (client.has_flag(letter.flag)) flags += letter.letter;
  }
  return flags.empty() ? "N" : flags;
}

uint64_t client_memory_bytes(const ClientRecord& client) {
  return sizeof(Connection) + sizeof(ClientRecord) + now(client.input_bytes) +
         now(client.output_bytes) + now(client.queued_bytes);
}

std::string client_line(const ClientRecord& client, int64_t now_ms) {
  const ClientNames names = client.names();
  const Command* command = now(client.last_command);
  const uint64_t output_bytes = now(client.output_bytes);
  ClientLine line;
  line.add("id", client.id);
  line.add("addr", client.address);
  line.add("laddr", client.local_address);
  line.add("fd", client.fd);
  line.add("name", names.name);
  line.add("age", whole_seconds(client.connected_ms, now_ms));
  line.add("idle", whole_seconds(now(client.active_ms), now_ms));
  line.add("flags", client_flags(client));
  line.add("db", now(client.db));
  line.add("sub", 0);
  line.add("psub", 0);
  line.add("ssub", 0);
  line.add("multi", now(client.queued_commands));
  line.add("watch", now(client.watched_keys));
  line.add("qbuf", now(client.input_bytes));
  line.add("qbuf-free", 0);
  line.add("argv-mem", 0);  // arguments are views into the worker's own buffer
  line.add("multi-mem", now(client.queued_bytes));
  line.add("rbs", 0);  // replies are rendered into a buffer of the worker, too
  line.add("rbp", 0);
  line.add("obl", 0);
  line.add("oll", now(client.output_chunks));
  line.add("omem", output_bytes);
  line.add("tot-mem", client_memory_bytes(client));
  line.add("events", output_bytes > 0 ? "rw" : "r");
  line.add("cmd", command == nullptr ? "NULL" : std::string_view(command->full_name));
  line.add("user", "default");
  line.add("redir", -1);
  line.add("resp", now(client.version));
  line.add("lib-name", names.library);
  line.add("lib-ver", names.library_version);
  return std::move(line).finished();
}

void clients_section(const InfoContext& context, InfoText& text) {
  uint64_t most_input = 0;
  uint64_t most_output = 0;
  for (const auto& client : context.engine.clients.list()) {
    most_input = std::max(most_input, now(client->input_bytes));
    most_output = std::max(most_output, now(client->output_bytes));
  }
  text.section("Clients");
  text.field("connected_clients", context.engine.clients.size());
  text.field("cluster_connections", 0);
  text.field("maxclients", context.engine.config.maxclients);
  text.field("client_recent_max_input_buffer", most_input);
  text.field("client_recent_max_output_buffer", most_output);
  text.field("blocked_clients", 0);
  text.field("tracking_clients", 0);
  text.field("clients_in_timeout_table", 0);
  text.field("total_blocking_keys", 0);
  text.field("total_blocking_keys_on_nokey", 0);
}

}  // namespace iris::server
