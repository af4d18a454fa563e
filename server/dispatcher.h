// Takes a parsed request to its handler: resolves subcommands, refuses what may not run, queues
// inside MULTI, runs, and keeps the books (statistics, slow log, monitors).
//
// One dispatcher a worker; it is used inside the world lock only.
//
// Time. Reading a clock twice a command would cost as much as the command itself, so fast commands
// are timed together: the time of a batch is shared out equally among them. Commands that may be
// slow are timed one by one, and so is every command while `slowlog-log-slower-than` or the latency
// monitor asks about times below a millisecond or so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_buffer.h"
#include "server/call.h"

namespace iris::server {

class Dispatcher {
 public:
  Dispatcher(Engine& engine, size_t member);

  // A batch runs between these two; `now_ms` is the time for all of it.
  void begin_batch(int64_t now_ms);
  void end_batch();

  // Runs one request and appends its reply. `command` is what the table has for args[0].
  void execute(Session& session, std::span<const std::string_view> args, const Command* command,
               const PlannedWork& planned, protocol::ReplyBuffer& out);

  // Runs a command that was admitted before, in the exclusive state: one of EXEC's queue.
  void run_queued(Call& exec, const Command& command, std::span<const std::string_view> args);

  int64_t now_ms() const { return now_ms_; }
  // The log cannot keep what it is told. In the batch that runs nothing changes then.
  bool log_fails() const { return log_fails_; }
  // Why nothing may be changed in the batch that runs, as an error; empty: it may.
  std::string write_refusal() const;
  // A command that may change something has run in this batch.
  bool ran_writes() const { return (ran_flags_ & kWrite) != 0; }

 private:
  struct CallCount {
    uint32_t command_id;
    uint32_t calls;
  };

  bool admits_at_once(const Session& session, size_t argc, const Command* command) const;
  bool memory_is_short() const {
    const uint64_t limit = engine_.config.maxmemory_bytes;
    return limit != 0 && !engine_.memory.allows(0, limit);
  }
  const Command* admit(Session& session, std::span<const std::string_view> args,
                       const Command* command, protocol::ReplyWriter& reply);
  void refuse(Session& session, const Command* command, protocol::ReplyWriter& reply,
              std::string_view error);
  void refuse_unknown(Session& session, std::span<const std::string_view> args,
                      protocol::ReplyWriter& reply);
  void queue(Session& session, const Command& command, std::span<const std::string_view> args,
             protocol::ReplyWriter& reply);
  void run(Call& call);
  void run_timed(Call& call);
  void note_duration(const Call& call, int64_t duration_ns);
  bool timed_alone(const Call& call) const;
  void show_to_monitors(const Call& call);
  void count_call(uint32_t command_id);
  void add_pending(uint32_t command_id);
  void share_out_time(int64_t now_ns);
  void apply_reply_mode(Session& session, protocol::ReplyBuffer& out, size_t start);

  Engine& engine_;
  MemberStats& stats_;
  const size_t member_;
  int64_t now_ms_ = 0;
  uint32_t ran_flags_ = 0;
  // The log or the last snapshot failed, so nothing may change.
  bool log_fails_ = false;
  bool snapshots_fail_ = false;
  // One of these, or the data set is being loaded.
  bool obstructed_ = false;
  // Since when the calls in `pending_` have been running.
  int64_t pending_since_ns_ = 0;
  std::vector<CallCount> pending_;
};

}  // namespace iris::server
