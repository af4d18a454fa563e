// A worker: one thread, one libuv loop, its share of the connections. Each turn of the loop is a
// tick in three strides:
//
//   read      libuv hands over bytes; each connection's go into the arena, one after another
//   execute   when every ready socket was read, all requests of the tick run as one batch:
//             parse and plan some (look up, hash, prefetch), run those, and so on
//   write     one write a connection; with `appendfsync always` only when the log is durable up to
//             where it was when the batch had run, since any reply may rest on any change before it
//
//   arena   | conn 7: *3..*3.. | conn 2: *3.. | conn 9: *2..*2..*2.. |    free    |
//   output  | conn 7: :1 :0    | conn 2: :1   | conn 9: ...                       |
//
// A tick ends early when the arena is nearly full, so work and memory of a tick are bounded. The
// rest of a large request is read to where its connection keeps the beginning, and as much of the
// arena is left out.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include <uv.h>

#include "protocol/args.h"
#include "protocol/large_array.h"
#include "protocol/reply_buffer.h"
#include "server/dispatcher.h"
#include "server/engine.h"

namespace iris::server {

class Connection;

class Worker {
 public:
  Worker(Engine& engine, size_t member);
  ~Worker();

  // Starts the thread; stop() asks it to close its connections and end, join() waits for that.
  // `ended` is the last thing the thread calls.
  void start(std::function<void()> ended);
  void stop();
  void join();

  // From any thread: runs the task on this worker's thread, soon.
  void post(std::function<void(Worker&)> task);
  // From any thread: how many connections it has or will have.
  size_t load() const { return load_.load(std::memory_order_relaxed); }

  // From the accepting thread: hands over a connected socket.
  void adopt(int fd, bool is_unix, uint32_t keepalive_s);
  // From the log's thread: replies that wait for it may be free to go, parked writers may go on.
  void log_advanced();
  // From any thread: see Control.
  void go_on_later(uint64_t client_id, Control::Turn turn);
  // On this worker's thread:
  Connection* connection(uint64_t client_id);
  // The reply to a command that is kAnsweredLater.
  void answer(uint64_t client_id, std::string_view reply);

  // For connections, on this worker's thread.
  Engine& engine() { return engine_; }
  MemberStats& stats() { return stats_; }
  uv_loop_t* loop() { return &loop_; }
  size_t member() const { return member_; }
  std::span<char> read_buffer(Connection& connection);
  void bytes_read(Connection& connection, char* data, size_t size);
  void end_of_input(Connection& connection);
  void opened(Connection& connection);
  void not_opened() { load_.fetch_sub(1, std::memory_order_relaxed); }
  void closed(Connection& connection);

 private:
  struct Request {
    Connection* connection;
    const Command* command;
    uint32_t first_arg;
    uint32_t argc;
    PlannedWork planned = {};
  };
  struct Output {
    Connection* connection;
    size_t begin;
    size_t end;
  };

  // Replies of a tick that may only be sent when the log is durable up to `lsn`.
  struct HeldOutputs {
    persistence::Lsn lsn;
    protocol::ReplyBuffer buffer;
    std::vector<Output> outputs;
    std::unique_ptr<CompactReply> compact;  // of the last of the outputs
  };

  void run_loop();
  void run_tasks();
  void tick();
  void mark_ready(Connection& connection);
  void read_requests(Connection& connection);
  char* gathered_input(Connection& connection, size_t& size);
  void keep_unfinished(Connection& connection, const char* rest, size_t size);
  void take_spare(protocol::LargeArray<char>& unfinished);
  void keep_spare(protocol::LargeArray<char>& unfinished);
  void release_idle_memory();
  void plan(Connection& connection, size_t first_arg, const Command* command);
  void plan_items(Request& request);
  void prefetch_planned();
  const Command* find_command(std::string_view name);
  Entry* find_entry(uint32_t db, std::string_view key);
  void run_batch();
  persistence::Lsn lsn_to_wait_for();
  // Who has to wait until the log has room again.
  enum class Wait : uint8_t { kNobody, kWriters, kAll };
  Wait who_must_wait() const;
  static bool must_park(Wait who, const Command* command, char first_byte);
  void park(Connection& connection);
  void resume_parked();
  void go_on(Connection& connection);
  void write_outputs(persistence::Lsn lsn);
  void hold_outputs(persistence::Lsn lsn);
  void send_past_held();
  void send_held();
  void ask_for_sync();
  void send_outputs(const protocol::ReplyBuffer& buffer, const std::vector<Output>& outputs,
                    std::unique_ptr<CompactReply> compact);
  void end_connection(Connection& connection);
  void fail_protocol(Connection& connection, std::string_view error);
  void background_round();
  bool stalls(Connection& connection, int64_t now_ms, int64_t limit_ms);
  void close_all();

  Engine& engine_;
  MemberStats& stats_;
  const size_t member_;
  Dispatcher dispatcher_;

  uv_loop_t loop_;
  uv_check_t after_poll_;
  uv_prepare_t before_poll_;
  uv_async_t wake_;
  uv_timer_t timer_;
  std::thread thread_;

  std::mutex tasks_mutex_;
  std::vector<std::function<void(Worker&)>> tasks_;
  bool stopped_ = false;

  std::unordered_map<uint64_t, Connection*> connections_;
  std::atomic<size_t> load_{0};

  // The tick.
  std::unique_ptr<char[]> arena_;
  size_t arena_used_ = 0;
  // The memory of a large request that is done, for the next one.
  protocol::LargeArray<char> spare_;
  bool spare_was_used_ = false;
  std::vector<Connection*> ready_;
  protocol::Args args_;
  // Neither grows: a batch is run before it is full. Requests look into the hashes.
  std::unique_ptr<Request[]> requests_;
  size_t requests_used_ = 0;
  size_t prefetched_ = 0;  // of them
  std::vector<filters::ItemHash> hashes_;
  size_t prefetched_hashes_ = 0;
  // Clients repeat themselves: the last name as it was spelled, and what it meant.
  std::string last_name_;
  const Command* last_command_ = nullptr;
  // The key that this batch looked up last, and what was there; the name is a view into its bytes.
  std::string_view last_key_;
  uint32_t last_key_db_ = 0;
  Entry* last_entry_ = nullptr;
  protocol::ReplyBuffer output_;
  std::vector<Output> outputs_;
  // Of the request that ran last, to be sent after outputs_.
  std::unique_ptr<CompactReply> compact_;

  // In order; whoever has an output here gets no other one before it.
  std::deque<HeldOutputs> held_;
  size_t held_bytes_ = 0;
  std::vector<Connection*> parked_;
  // Up to where replies wait for the log, and up to where it was asked to be durable.
  persistence::Lsn wanted_lsn_ = 0;
  persistence::Lsn asked_lsn_ = 0;
  int sync_postponed_ = 0;  // so many times
  // The log's thread looks at it before it wakes this one.
  std::atomic<bool> waits_for_log_{false};
};

}  // namespace iris::server
