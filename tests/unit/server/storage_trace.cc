#include "tests/unit/server/storage_trace.h"

#include <algorithm>

namespace iris::server {

namespace {

constexpr uint32_t kDatabases = 3;
constexpr uint64_t kKeysOfAKind = 4;
const std::vector<std::string> kLayouts = {"BLOCKED", "PAGED", "CLASSIC"};

bool is_error(const std::string& reply) {
  return reply.starts_with('-') || reply == "*-1\r\n";
}

}  // namespace

// Kinds: b Bloom, s spectral, B and S the same with room enough never to grow, so that they can be
// merged.
std::string Trace::key(char kind) {
  return kind + std::to_string(below(kKeysOfAKind));
}

std::string Trace::run(const std::vector<std::string>& words) {
  std::string reply = client_.run(words);
  if (!is_error(reply)) done_[words[0]]++;
  return reply;
}

std::string Trace::step() {
  if (steps_++ < 4 * kKeysOfAKind) return make_key();
  client_.select(static_cast<uint32_t>(below(3) == 0 ? below(kDatabases) : 0));
  const uint64_t choice = below(100);
  if (choice < 34) return run(simple_command());
  if (choice < 60) return run(spectral_command());
  if (choice < 76) return run(keyspace_command());
  if (choice < 82) return transaction();
  if (choice < 86) return restore();
  if (choice < 89) return begin_load();
  if (choice < 95) return go_on_loading();
  return let_time_pass();
}

// So that there is something to work on from the start.
std::string Trace::make_key() {
  const uint64_t number = (steps_ - 1) / 4;
  const std::string digit = std::to_string(number);
  switch (steps_ % 4) {
    case 0:
      return run({"BF.RESERVE", "b" + digit, "0.01", "10", "LAYOUT", kLayouts[number % 3]});
    case 1:
      return run({"BF.RESERVE", "B" + digit, "0.01", "500"});
    case 2:
      return run({"CF.RESERVE", "s" + digit, "10", "POLICY", number == 3 ? "MI" : "MS"});
    default:
      return run({"CF.RESERVE", "S" + digit, "300"});
  }
}

std::vector<std::string> Trace::simple_command() {
  switch (below(9)) {
    case 0:
      return {"BF.RESERVE", key('b'),          "0.01", std::to_string(8 + below(20)),
              "LAYOUT",     kLayouts[below(3)]};
    case 1:
      return {"BF.RESERVE", key('B'), "0.01", "500"};
    case 2:
      return {"BF.MADD", key('b'), item(), item(), item(), item(), item()};
    case 3:
      return {"BF.INSERT", key('b'), "CAPACITY", "10", "ITEMS", item(), item(), item()};
    case 4:
      return {"BF.MADD", key('B'), item(), item(), item()};
    case 5:
      return {"BF.MERGE", key('B'), key('B'), key('B')};
    case 6:
      return {"BF.INITBYDIM", key('b'), "4096", "3"};
    default:
      return {"BF.ADD", key('b'), item()};
  }
}

std::vector<std::string> Trace::spectral_command() {
  static const std::vector<std::string> kAmounts = {"1", "2", "7", "8", "300", "5000000000"};
  const std::string amount = kAmounts[below(kAmounts.size())];
  const char kind = below(4) == 0 ? 'S' : 's';
  switch (below(13)) {
    case 0:
      return {"CF.RESERVE", key('s'), std::to_string(8 + below(20)), "POLICY",
              below(3) == 0 ? "MI" : "MS"};
    case 1:
      return {"CF.RESERVE", key('S'), "300"};
    case 2:
      return {"CF.INCRBY", key(kind), item(), "1", item(), amount, item(), "3"};
    case 3:
      return {"CF.DECR", key(kind), item()};
    case 4:
      return {"CF.DECR", key(kind), item(), amount};
    case 5:
      return {"CF.DEL", key(kind), item()};
    case 6:
      return {"CF.ADD", key(kind), item()};
    case 7:
      return {"CF.ADDNX", key(kind), item()};
    case 8:
      return {"CF.INSERT", key(kind), "CAPACITY", "12", "ITEMS", item(), item(), item(), item()};
    case 9:
      return {"CF.INSERTNX", key(kind), "ITEMS", item(), item(), item()};
    case 10:
      return {"CF.MERGE", key('S'), key('S'), key('S')};
    case 11:
      return {"CF.COMPACT", key(kind)};
    default:
      return {"CF.INCR", key(kind), item(), amount};
  }
}

std::vector<std::string> Trace::keyspace_command() {
  static const std::string kKinds = "bsBS";
  const char kind = kKinds[below(4)];
  const std::string db = std::to_string(below(kDatabases));
  switch (below(12)) {
    case 0:
    case 1:
      return {"COPY", key(kind), key(kind), "DB", db, "REPLACE"};
    case 2:
      return {"RENAME", key(kind), key(kind)};
    case 3:
      return {"RENAMENX", key(kind), key(kind)};
    case 4:
      return {"MOVE", key(kind), db};
    case 5:
      return {"SWAPDB", std::to_string(below(kDatabases)), db};
    case 6:
      return {"DEL", key(kind), key(kind)};
    case 7:
      return {"UNLINK", key(kind)};
    case 8:
      return {"PERSIST", key(kind)};
    case 9:
      return below(6) == 0 ? std::vector<std::string>{"FLUSHDB"}
                           : std::vector<std::string>{"DEL", key(kind)};
    default:
      return {"PEXPIRE", key(kind), std::to_string(500 + below(4000))};
  }
}

std::string Trace::transaction() {
  run({"MULTI"});
  for (int i = 0; i < 4; i++) {
    const uint64_t choice = below(3);
    client_.run(choice == 0   ? simple_command()
                : choice == 1 ? spectral_command()
                              : keyspace_command());
  }
  return run({"EXEC"});
}

std::string Trace::restore() {
  const char kind = below(2) == 0 ? 'b' : 's';
  const std::string payload = last_bulk(client_.run({"DUMP", key(kind)}));
  if (payload.empty()) return "";
  const std::string ttl = below(2) == 0 ? "0" : std::to_string(1000 + below(3000));
  return run({"RESTORE", key(kind), ttl, payload, "REPLACE"});
}

std::string Trace::begin_load() {
  const bool bloom = below(2) == 0;
  const std::string source = key(bloom ? 'b' : 's');
  Load load;
  load.db = static_cast<uint32_t>(below(kDatabases));
  load.command = bloom ? "BF.LOADCHUNK" : "CF.LOADCHUNK";
  load.key = "load" + std::to_string(below(kKeysOfAKind));
  for (int64_t iterator = 0;;) {
    const std::string reply =
        client_.run({bloom ? "BF.SCANDUMP" : "CF.SCANDUMP", source, std::to_string(iterator)});
    if (!reply.starts_with("*2\r\n:")) break;
    iterator = std::stoll(reply.substr(5));
    if (iterator == 0) break;
    load.pieces.emplace_back(iterator, last_bulk(reply));
  }
  if (load.pieces.empty()) return "";
  client_.select(load.db);
  if (below(2) == 0) run({"DEL", load.key});
  loads_.push_back(std::move(load));
  return go_on_loading();
}

std::string Trace::go_on_loading() {
  if (loads_.empty()) return "";
  const size_t chosen = below(loads_.size());
  Load& load = loads_[chosen];
  client_.select(load.db);
  const auto& [iterator, data] = load.pieces[load.next++];
  std::string reply = run({load.command, load.key, std::to_string(iterator), data});
  // Some come twice, and some loads are left unfinished.
  if (below(6) == 0) load.next--;
  if (load.next == load.pieces.size() || below(12) == 0) {
    loads_.erase(loads_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return reply;
}

std::string Trace::let_time_pass() {
  server_.clock.advance_ms(static_cast<int64_t>(100 + below(900)));
  if (below(2) == 0) {
    server_.expire_keys();
    done_["expiry"]++;
  }
  return "";
}

}  // namespace iris::server
