// A whole server without sockets: an engine, its storage on any file system, and clients that run
// commands on threads of the test's choice. What a start, a crash and a recovery do to the data can
// so be tried thousands of times in one process.
//
//   SimulatedDisk disk;
//   TestServer server(disk, logging_config(AppendFsync::kAlways));
//   ASSERT_EQ(server.start(), "");
//   TestClient client(server, 0);
//   client.run({"BF.ADD", "key", "item"});
//   server.wait_until_durable();
//   EXPECT_EQ(recovered_state(*disk.after_power_cut(1)).digest, server.digest());
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/active_expiry.h"
#include "server/dispatcher.h"
#include "server/engine.h"
#include "server/idle_control.h"
#include "server/storage.h"
#include "tests/sanitized.h"
#include "tests/unit/persistence/simulated_disk.h"

namespace iris::server {

inline constexpr const char* kTestDirectory = "data";
// The same for all servers, so that equal commands make equal filters.
inline constexpr uint64_t kTestHashSeed = 0x1234567890abcdef;

// Its wall time stands still until a test turns it: nothing expires by chance.
class TurnedClock : public Clock {
 public:
  int64_t wall_us() const override { return now_us_.load(); }
  void advance_ms(int64_t ms) { now_us_.fetch_add(ms * 1000); }

 private:
  std::atomic<int64_t> now_us_{1'700'000'000'000'000};
};

class LogNews : public IdleControl {
 public:
  void log_advanced() override;
  // Until `condition` holds. It is looked at whenever there is news, and every now and then; false
  // if that takes longer than any test should.
  [[nodiscard]] bool wait_until(const std::function<bool()>& condition);

 private:
  std::mutex mutex_;
  std::condition_variable news_;
};

Config logging_config(AppendFsync fsync);
Config snapshots_only_config();

class TestServer {
 public:
  static constexpr uint32_t kClients = 4;

  TestServer(persistence::FileSystem& files, Config config, uint32_t clients = kClients);
  // Stops without a snapshot if stop() was not called.
  ~TestServer();

  // Loads, and starts the log if it is on. An error's text, empty if all is well.
  [[nodiscard]] std::string start();
  bool stop(bool save = false);

  // Digest of all keys with their values and expiry times, expired ones included. Waits for running
  // commands.
  std::string digest();
  // Removes what has expired, as the server does in the background.
  void expire_keys();
  persistence::Log& log() { return *storage.log(); }
  // Everything that was done so far is durable, or the log fails; true if durable.
  bool wait_until_durable();
  // So many snapshots have been taken since the start. Two that are asked for at once are one.
  [[nodiscard]] bool wait_for_snapshots(uint64_t count);
  // Takes a snapshot and waits for it; an error's text, empty if all is well.
  std::string snapshot();

  TurnedClock clock;
  LogNews control;
  Engine engine;
  Storage storage;

 private:
  bool started_ = false;
};

// One connection, on a member of the world lock that nobody else uses.
class TestClient {
 public:
  TestClient(TestServer& server, size_t member);

  // The reply as RESP.
  std::string run(const std::vector<std::string>& words);
  void select(uint32_t db) { session_.db = db; }

 private:
  TestServer& server_;
  const size_t member_;
  Dispatcher dispatcher_;
  Session session_;
};

// The last bulk string of a reply; empty if there is none.
std::string last_bulk(const std::string& reply);

struct RecoveredState {
  std::string error;
  persistence::Lsn last_lsn = 0;
  std::string digest;
};

// What a server that starts with these files would hold. Repairs them as such a start does.
RecoveredState recovered_state(persistence::FileSystem& files);

std::string digest_of(Engine& engine);

}  // namespace iris::server
