// The worker's clients that wait, and how they go on: replies that wait until the log is durable,
// writers that wait until it has room, and commands that are answered later.
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/connection.h"
#include "server/storage.h"
#include "server/worker.h"

namespace iris::server {

namespace {

// Replies that wait for the log, beyond which nobody's requests are run.
constexpr size_t kHeldBytes = 64 << 20;
// Turns of the loop by which a sync may be put off.
constexpr int kSyncPostponed = 4;

}  // namespace

// --- waiting for the log ---

// While the disk fails or is slow, replies that wait for it go on waiting, maybe for long. Whoever
// has none of them and asks what need not wait gets its answer.
void Worker::send_past_held() {
  const auto waits = [](const Output& output) { return output.connection->held_outputs > 0; };
  const bool compact_waits = waits(outputs_.back());
  std::vector<Output> waiting;
  std::copy_if(outputs_.begin(), outputs_.end(), std::back_inserter(waiting), waits);
  std::erase_if(outputs_, waits);
  if (!outputs_.empty()) {
    send_outputs(output_, outputs_, compact_waits ? nullptr : std::move(compact_));
  }
  outputs_ = std::move(waiting);
}

void Worker::hold_outputs(persistence::Lsn lsn) {
  for (const Output& output : outputs_) output.connection->held_outputs++;
  held_bytes_ += output_.size();
  held_.push_back({lsn, std::exchange(output_, {}), std::exchange(outputs_, {}),
                   std::exchange(compact_, nullptr)});
  send_held();
}

void Worker::send_held() {
  if (held_.empty()) return;
  // First say that somebody waits, then look: the log's thread does it the other way round.
  waits_for_log_.exchange(true);
  const persistence::Lsn durable = engine_.storage->log()->durable();
  while (!held_.empty() && held_.front().lsn <= durable) {
    HeldOutputs held = std::move(held_.front());
    held_.pop_front();
    held_bytes_ -= held.buffer.size();
    for (const Output& output : held.outputs) {
      if (output.connection != nullptr) output.connection->held_outputs--;
    }
    send_outputs(held.buffer, held.outputs, std::move(held.compact));
  }
}

// Clients that one sync has served come back one after the other. If the first of them had a sync
// to itself, all others would wait for that and then for theirs. So the next one is asked for when
// the last has been followed up: its replies are sent, and what their clients have sent since has
// run.
void Worker::ask_for_sync() {
  if (wanted_lsn_ == asked_lsn_) return;
  persistence::Log& log = *engine_.storage->log();
  const persistence::Lsn durable = log.durable();
  if (wanted_lsn_ <= durable) return;  // another worker has asked
  if (asked_lsn_ > durable) return;    // log_advanced() will wake this one
  const bool may_wait = sync_postponed_ < kSyncPostponed;
  pollfd sockets{uv_backend_fd(&loop_), POLLIN, 0};
  if (may_wait && ::poll(&sockets, 1, 0) > 0) {
    sync_postponed_++;
    return;
  }
  sync_postponed_ = 0;
  asked_lsn_ = wanted_lsn_;
  log.hurry();
}

void Worker::log_advanced() {
  if (!waits_for_log_.exchange(false)) return;
  post([](Worker& worker) {
    worker.send_held();
    worker.resume_parked();
  });
}

// Nobody waits for the disk while a request runs; so whoever would make more of it waits before.
// Inside the world lock.
Worker::Wait Worker::who_must_wait() const {
  const persistence::Log* log = engine_.journal.log();
  if (log == nullptr) return Wait::kNobody;
  if (held_bytes_ > kHeldBytes) return Wait::kAll;
  return log->backlogged() ? Wait::kWriters : Wait::kNobody;
}

// Inline requests, which people type, do not wait: they were unescaped in place and cannot be
// parsed again.
bool Worker::must_park(Wait who, const Command* command, char first_byte) {
  if (command == nullptr || first_byte != '*') return false;
  return who == Wait::kAll || command->has(kWrite | kImmediate);
}

// The rest of its input stays where it is.
void Worker::park(Connection& connection) {
  connection.parked = true;
  connection.pause_reading();
  connection.session.record->set_flag(kClientBlocked, true);
  parked_.push_back(&connection);
  waits_for_log_.exchange(true);
  // The log may have gone on before it could see that somebody waits.
  if (held_.empty() && !engine_.journal.log()->backlogged()) {
    post([](Worker& worker) { worker.resume_parked(); });
  }
}

void Worker::resume_parked() {
  if (parked_.empty()) return;
  for (Connection* connection : std::exchange(parked_, {})) {
    connection->parked = false;
    go_on(*connection);
  }
  tick();
}

// --- waiting for a snapshot, or the end of a long command ---

void Worker::answer(uint64_t client_id, std::string_view reply) {
  Connection* waiting = connection(client_id);
  if (waiting == nullptr || !waiting->session.waits_for_answer) return;
  waiting->session.waits_for_answer = false;
  if (!std::exchange(waiting->session.answer_is_unwanted, false)) {
    const size_t begin = output_.size();
    output_.append(reply);
    outputs_.push_back({waiting, begin, output_.size()});
  }
  go_on(*waiting);
  tick();
}

// A task that is posted while tasks run waits for the loop's next turn, which looks at all sockets
// first.
void Worker::go_on_later(uint64_t client_id, Control::Turn turn) {
  post([client_id, turn = std::move(turn)](Worker& worker) mutable {
    if (worker.connection(client_id) == nullptr) return;
    std::string reply;
    {
      InsideWorld inside(worker.engine_.world, worker.member_);
      reply = turn();
    }
    if (reply.empty()) {
      worker.go_on_later(client_id, std::move(turn));
    } else {
      worker.answer(client_id, reply);
    }
  });
}

// What it has sent is run in the next tick, or this one.
void Worker::go_on(Connection& connection) {
  connection.session.record->set_flag(kClientBlocked, false);
  connection.go_on_reading();
  mark_ready(connection);
}

}  // namespace iris::server
