#include "tests/unit/server/storage_support.h"

#include <chrono>
#include <future>
#include <utility>

#include "server/commands/debug_digest.h"
#include "server/log.h"

namespace iris::server {

namespace {

constexpr auto kPatience = std::chrono::seconds(60);
// News may come without a call: a snapshot's, for one.
constexpr auto kLookAgain = std::chrono::milliseconds(5);
constexpr uint32_t kTestDatabases = 3;

RunFacts facts_of(uint32_t clients) {
  RunFacts facts;
  facts.threads = clients;
  return facts;
}

Config test_config() {
  // What recovery repairs is looked at in the data, not in the server's log.
  silence_log();
  Config config;
  config.databases = kTestDatabases;
  return config;
}

}  // namespace

void LogNews::log_advanced() {
  { const std::lock_guard guard(mutex_); }
  news_.notify_all();
}

bool LogNews::wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::unique_lock lock(mutex_);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    news_.wait_for(lock, kLookAgain);
  }
  return true;
}

Config logging_config(AppendFsync fsync) {
  Config config = test_config();
  config.appendonly = true;
  config.appendfsync = fsync;
  return config;
}

Config snapshots_only_config() {
  Config config = test_config();
  config.appendonly = false;
  return config;
}

// --- server ---

TestServer::TestServer(persistence::FileSystem& files, Config config, uint32_t clients)
    : engine(std::move(config), facts_of(clients), clock, control),
      storage(engine, files, kTestDirectory, clients + 1) {
  engine.hash_seed = kTestHashSeed;
  engine.storage = &storage;
}

TestServer::~TestServer() {
  if (started_) stop();
}

std::string TestServer::start() {
  std::promise<std::string> loaded;
  started_ = true;
  storage.start([&loaded](const std::string& error) { loaded.set_value(error); });
  return loaded.get_future().get();
}

bool TestServer::stop(bool save) {
  started_ = false;
  return storage.stop(save);
}

std::string TestServer::digest() {
  engine.world.lock_exclusive();
  std::string digest = digest_of(engine);
  engine.world.unlock_exclusive();
  return digest;
}

void TestServer::expire_keys() {
  constexpr int64_t kBudgetUs = 60'000'000;
  ActiveExpiry(engine, engine.facts.threads).run(kBudgetUs);
}

bool TestServer::wait_until_durable() {
  const persistence::Lsn end = log().end();
  log().hurry();
  const bool ended = control.wait_until([&] { return log().durable() >= end || log().failing(); });
  return ended && log().durable() >= end;
}

bool TestServer::wait_for_snapshots(uint64_t count) {
  return control.wait_until([&] { return storage.status().snapshots >= count; });
}

std::string TestServer::snapshot() {
  std::promise<std::string> taken;
  storage.request_snapshot(SnapshotReason::kSave,
                           [&taken](const std::string& error) { taken.set_value(error); });
  return taken.get_future().get();
}

// --- client ---

TestClient::TestClient(TestServer& server, size_t member)
    : server_(server), member_(member), dispatcher_(server.engine, member) {
  session_.record = server.engine.clients.add(1, 0, "127.0.0.1:5", "127.0.0.1:6379", 0);
  session_.record->set_flag(kClientLocal, true);
  session_.authenticated = true;
}

std::string TestClient::run(const std::vector<std::string>& words) {
  const std::vector<std::string_view> args(words.begin(), words.end());
  protocol::ReplyBuffer out;
  const InsideWorld inside(server_.engine.world, member_);
  dispatcher_.begin_batch(server_.clock.wall_ms());
  dispatcher_.execute(session_, args, server_.engine.commands.find(args[0]), {}, out);
  dispatcher_.end_batch();
  return std::string(out.view());
}

std::string last_bulk(const std::string& reply) {
  // $<length>\r\n<bytes>\r\n, where the bytes may hold anything: so from the front.
  size_t at = 0;
  std::string bulk;
  while (at < reply.size()) {
    const size_t line_end = reply.find("\r\n", at);
    if (line_end == std::string::npos) break;
    const char type = reply[at];
    const int64_t number = type == '$' ? std::stoll(reply.substr(at + 1, line_end - at - 1)) : -1;
    at = line_end + 2;
    if (number < 0) continue;
    bulk = reply.substr(at, static_cast<size_t>(number));
    at += static_cast<size_t>(number) + 2;
  }
  return bulk;
}

// --- recovery ---

std::string digest_of(Engine& engine) {
  DataDigest digest;
  for (size_t db = 0; db < engine.keyspace.databases(); db++) {
    engine.keyspace.database(db).visit_all([&](std::string_view name, const Entry& entry) {
      digest.add(db, name, entry.expire_at_ms, entry.value->digest());
    });
  }
  return digest.hex();
}

RecoveredState recovered_state(persistence::FileSystem& files) {
  TurnedClock clock;
  LogNews control;
  Engine engine(test_config(), facts_of(TestServer::kClients), clock, control);
  LoadProgress progress;
  const RecoveryResult result = recover(engine, files, kTestDirectory, progress);
  RecoveredState state;
  state.error = result.error;
  state.last_lsn = result.last_lsn;
  if (result.error.empty()) state.digest = digest_of(engine);
  return state;
}

}  // namespace iris::server
