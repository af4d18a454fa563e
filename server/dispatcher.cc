#include "server/dispatcher.h"

#include <algorithm>
#include <string>

#include "server/command_help.h"
#include "server/log.h"
#include "server/storage.h"
#include "server/text.h"

namespace iris::server {

namespace {

// More arguments than this and a fast command is slow enough to be timed on its own.
constexpr size_t kTimedAloneArgs = 64;
// Thresholds below this ask about times that a batch average would hide.
constexpr int64_t kFineThresholdUs = 1000;
// How much of an unknown command its error shows, as in Redis.
constexpr size_t kShownBytes = 128;

constexpr const char* kLogFails = "MISCONF Errors writing to the AOF file: ";
constexpr const char* kSnapshotsFail =
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
    "disk. Commands that may modify the data set are disabled, because this instance is configured "
    "to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error "
    "option). Please check the Redis logs for details about the RDB error.";
constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";

}  // namespace

Dispatcher::Dispatcher(Engine& engine, size_t member)
    : engine_(engine), stats_(engine.stats.member(member)), member_(member) {}

void Dispatcher::begin_batch(int64_t now_ms) {
  now_ms_ = now_ms;
  ran_flags_ = 0;
  const persistence::Log* log = engine_.journal.log();
  const Config& config = engine_.config;
  log_fails_ = log != nullptr && config.appendonly && log->failing();
  snapshots_fail_ = engine_.last_snapshot_failed.load(std::memory_order_relaxed) &&
                    config.stop_writes_on_bgsave_error && !config.save.empty();
  obstructed_ = log_fails_ || snapshots_fail_ || engine_.loading.load(std::memory_order_relaxed);
  pending_since_ns_ = engine_.clock.monotonic_ns();
}

void Dispatcher::end_batch() {
  if (!pending_.empty()) share_out_time(engine_.clock.monotonic_ns());
}

void Dispatcher::execute(Session& session, std::span<const std::string_view> args,
                         const Command* command, const PlannedWork& planned,
                         protocol::ReplyBuffer& out) {
  const size_t start = out.size();
  protocol::ReplyWriter reply(out, session.version);
  if (admits_at_once(session, args.size(), command)) {
    session.record->last_command.store(command, std::memory_order_relaxed);
  } else {
    command = admit(session, args, command, reply);
  }
  if (command != nullptr) {
    if (session.transaction != nullptr && !command->has(kImmediate)) {
      queue(session, *command, args, reply);
    } else {
      Call call{*this, engine_, stats_, session, *command, args, reply, planned, member_, now_ms_};
      run(call);
    }
  }
  if (session.reply_mode != ReplyMode::kOn) apply_reply_mode(session, out, start);
}

// Whether admit() would let it pass without a subcommand to find, told by a few comparisons. It may
// say no to what admit() takes, never the other way round.
inline bool Dispatcher::admits_at_once(const Session& session, size_t argc,
                                       const Command* command) const {
  return command != nullptr && command->arity_fits(argc) && command->subcommands.empty() &&
         session.is_ordinary() && !obstructed_ && (!command->has(kDenyOom) || !memory_is_short());
}

// The command to run, with its subcommand resolved; null: refused, and the error is written.
const Command* Dispatcher::admit(Session& session, std::span<const std::string_view> args,
                                 const Command* command, protocol::ReplyWriter& reply) {
  if (command == nullptr) {
    refuse_unknown(session, args, reply);
    return nullptr;
  }
  if (!command->subcommands.empty() && args.size() > 1) {
    const Command* subcommand = find_subcommand(*command, args[1]);
    if (subcommand == nullptr) {
      refuse(session, command, reply,
             "ERR unknown subcommand '" + std::string(args[1].substr(0, kShownBytes)) + "'. Try " +
                 upper_case_name(*command) + " HELP.");
      return nullptr;
    }
    command = subcommand;
  }
  session.record->last_command.store(command, std::memory_order_relaxed);
  if (!command->arity_fits(args.size())) {
    refuse(session, command, reply,
           "ERR wrong number of arguments for '" + command->full_name + "' command");
    return nullptr;
  }
  if (!session.authenticated && !command->has(kNoAuth)) {
    refuse(session, command, reply, "NOAUTH Authentication required.");
    return nullptr;
  }
  if (command->has(kDenyOom) && memory_is_short()) {
    refuse(session, command, reply, kOutOfMemory);
    return nullptr;
  }
  if (engine_.loading.load(std::memory_order_relaxed) && !command->has(kLoading)) {
    refuse(session, command, reply, "LOADING Redis is loading the dataset in memory");
    return nullptr;
  }
  if (const std::string why = command->has(kWrite) ? write_refusal() : ""; !why.empty()) {
    refuse(session, command, reply, why);
    return nullptr;
  }
  if (session.transaction != nullptr && command->has(kNoMulti)) {
    refuse(session, command, reply, "ERR Command not allowed inside a transaction");
    return nullptr;
  }
  return command;
}

std::string Dispatcher::write_refusal() const {
  if (log_fails_) return kLogFails + engine_.storage->log()->failure();
  return snapshots_fail_ ? kSnapshotsFail : "";
}

void Dispatcher::refuse(Session& session, const Command* command, protocol::ReplyWriter& reply,
                        std::string_view error) {
  if (session.transaction != nullptr) session.transaction->broken = true;
  if (command != nullptr) stats_.commands[command->id].rejected.add();
  stats_.count_error(error);
  reply.error(error);
}

void Dispatcher::refuse_unknown(Session& session, std::span<const std::string_view> args,
                                protocol::ReplyWriter& reply) {
  // A web page can make a browser send an HTTP request here, whose lines would be read as inline
  // commands: end it at the first sign.
  if (equal_ignoring_case(args[0], "post") || equal_ignoring_case(args[0], "host:")) {
    log_warning(
        "Possible SECURITY ATTACK detected: {} sends HTTP requests (POST or Host: commands). "
        "Connection closed.",
        session.record->address);
    session.close_after_reply = true;
    return;
  }
  std::string error = "ERR unknown command '" + std::string(args[0].substr(0, kShownBytes)) +
                      "', with args beginning with: ";
  const size_t limit = error.size() + kShownBytes;
  for (size_t i = 1; i < args.size() && error.size() < limit; i++) {
    const size_t shown = limit - error.size();
    error.append("'").append(args[i].substr(0, shown)).append("' ");
  }
  refuse(session, nullptr, reply, error);
}

void Dispatcher::queue(Session& session, const Command& command,
                       std::span<const std::string_view> args, protocol::ReplyWriter& reply) {
  Transaction& transaction = *session.transaction;
  QueuedCommand queued{&command, {args.begin(), args.end()}};
  for (std::string_view arg : args) transaction.queued_bytes += arg.size() + sizeof(std::string);
  if (transaction.queued_bytes > engine_.config.client_query_buffer_bytes) {
    refuse(session, &command, reply,
           "ERR the commands queued by MULTI exceed client-query-buffer-limit");
    session.close_after_reply = true;
    return;
  }
  transaction.writes = transaction.writes || command.has(kWrite);
  transaction.queue.push_back(std::move(queued));
  session.record->queued_commands.store(static_cast<int32_t>(transaction.queue.size()),
                                        std::memory_order_relaxed);
  session.record->queued_bytes.store(transaction.queued_bytes, std::memory_order_relaxed);
  reply.raw("+QUEUED\r\n");
}

void Dispatcher::run_queued(Call& exec, const Command& command,
                            std::span<const std::string_view> args) {
  static constexpr PlannedWork kNotPlanned;
  Call call{*this, engine_,    stats_,      exec.session, command,
            args,  exec.reply, kNotPlanned, member_,      now_ms_};
  call.exclusive = true;
  run(call);
}

// Every command comes through here. What few of them need is not inlined: it would make each save
// more registers and clear a larger frame.
void Dispatcher::run(Call& call) {
  const Command& command = call.command;
  ran_flags_ |= command.flags;
  if (!engine_.monitors.empty()) show_to_monitors(call);
  stats_.commands_processed.add();
  if (timed_alone(call)) {
    run_timed(call);
  } else {
    command.handler(call);
    count_call(command.id);
  }
  if (call.failed) stats_.commands[command.id].failed.add();
}

[[gnu::noinline]] void Dispatcher::show_to_monitors(const Call& call) {
  // As in Redis, what administrators say is nobody else's business: CONFIG SET has passwords.
  if (call.command.has(kSkipMonitor | kAdmin)) return;
  engine_.monitors.show(engine_.control, engine_.clock.wall_us(), call.session.db,
                        call.session.record->address, call.args);
}

[[gnu::noinline]] void Dispatcher::run_timed(Call& call) {
  const int64_t begin_ns = engine_.clock.monotonic_ns();
  if (!pending_.empty()) share_out_time(begin_ns);
  pending_since_ns_ = begin_ns;
  if (call.command.has(kExclusive)) {
    ExclusiveStep alone(call);
    call.command.handler(call);
  } else {
    call.command.handler(call);
  }
  const int64_t end_ns = engine_.clock.monotonic_ns();
  // EXEC has run others inside; they share its time.
  if (!pending_.empty()) share_out_time(end_ns);
  pending_since_ns_ = end_ns;
  note_duration(call, end_ns - begin_ns);
}

void Dispatcher::note_duration(const Call& call, int64_t duration_ns) {
  const Config& config = engine_.config;
  stats_.commands[call.command.id].add_time(static_cast<uint64_t>(duration_ns), 1,
                                            config.latency_tracking);
  const int64_t duration_us = duration_ns / 1000;
  const int64_t now_s = now_ms_ / 1000;
  if (config.slowlog_log_slower_than_us >= 0 && duration_us >= config.slowlog_log_slower_than_us &&
      !call.command.has(kSkipSlowlog)) {
    engine_.slow_log.add(call.args, now_s, duration_us, call.session.record->address,
                         call.session.record->names().name, config.slowlog_max_len);
  }
  const int64_t threshold_ms = config.latency_monitor_threshold_ms;
  if (threshold_ms > 0 && duration_us >= threshold_ms * 1000) {
    engine_.latency.add(call.command.has(kFast) ? "fast-command" : "command", now_s,
                        duration_us / 1000);
  }
}

inline bool Dispatcher::timed_alone(const Call& call) const {
  const Config& config = engine_.config;
  return (call.command.flags & (kFast | kExclusive)) != kFast ||
         call.args.size() > kTimedAloneArgs ||
         (config.slowlog_log_slower_than_us >= 0 &&
          config.slowlog_log_slower_than_us < kFineThresholdUs) ||
         config.latency_monitor_threshold_ms == 1;
}

inline void Dispatcher::count_call(uint32_t command_id) {
  if (!pending_.empty() && pending_.back().command_id == command_id) {
    pending_.back().calls++;
  } else {
    add_pending(command_id);
  }
}

[[gnu::noinline]] void Dispatcher::add_pending(uint32_t command_id) {
  pending_.push_back({command_id, 1});
}

void Dispatcher::share_out_time(int64_t now_ns) {
  uint64_t calls = 0;
  for (const CallCount& count : pending_) calls += count.calls;
  const uint64_t per_call_ns = static_cast<uint64_t>(now_ns - pending_since_ns_) / calls;
  for (const CallCount& count : pending_) {
    stats_.commands[count.command_id].add_time(per_call_ns, count.calls,
                                               engine_.config.latency_tracking);
  }
  pending_.clear();
  pending_since_ns_ = now_ns;
}

void Dispatcher::apply_reply_mode(Session& session, protocol::ReplyBuffer& out, size_t start) {
  out.truncate(start);
  session.compact_reply.reset();
  session.answer_is_unwanted = session.waits_for_answer;
  if (session.reply_mode == ReplyMode::kSkipNext) {
    session.reply_mode = ReplyMode::kSkip;
  } else if (session.reply_mode == ReplyMode::kSkip) {
    session.reply_mode = ReplyMode::kOn;
  }
}

}  // namespace iris::server
