// MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//
// EXEC runs its whole queue in the exclusive state: nobody sees half of it. WATCH remembers what a
// key was (its stamp and change count); EXEC refuses if any watched key is something else by then.
// So a watched key costs the commands that change it nothing.

#include <string>
#include <utility>
#include <vector>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/commands/transaction_state.h"
#include "server/dispatcher.h"
#include "server/storage.h"

namespace iris::server {

void discard_transaction(Session& session) {
  session.transaction.reset();
  session.record->queued_commands.store(-1, std::memory_order_relaxed);
  session.record->queued_bytes.store(0, std::memory_order_relaxed);
  session.record->set_flag(kClientMulti, false);
}

void unwatch_all(Session& session) {
  session.watched.clear();
  session.record->watched_keys.store(0, std::memory_order_relaxed);
}

namespace {

void multi(Call& call) {
  Session& session = call.session;
  if (session.transaction != nullptr) {
    call.fail("ERR MULTI calls can not be nested");
    return;
  }
  session.transaction = std::make_unique<Transaction>();
  session.record->queued_commands.store(0, std::memory_order_relaxed);
  session.record->set_flag(kClientMulti, true);
  call.reply.ok();
}

bool watched_key_changed(Call& call) {
  for (const WatchedKey& watched : call.session.watched) {
    if (call.engine.keyspace.version(watched.db, watched.key, call.now_ms) != watched.version) {
      return true;
    }
  }
  return false;
}

void exec(Call& call) {
  Session& session = call.session;
  if (session.transaction == nullptr) {
    call.fail("ERR EXEC without MULTI");
    return;
  }
  const std::unique_ptr<Transaction> transaction = std::move(session.transaction);
  const bool changed = watched_key_changed(call);
  discard_transaction(session);
  unwatch_all(session);
  if (transaction->broken) {
    call.fail("EXECABORT Transaction discarded because of previous errors.");
    return;
  }
  if (changed) {
    call.reply.null_array();
    return;
  }
  if (const std::string why = transaction->writes ? call.dispatcher.write_refusal() : "";
      !why.empty()) {
    call.fail("EXECABORT Transaction discarded because of: " + why);
    return;
  }
  call.reply.array(transaction->queue.size());
  for (const QueuedCommand& queued : transaction->queue) {
    const std::vector<std::string_view> args(queued.args.begin(), queued.args.end());
    call.dispatcher.run_queued(call, *queued.command, args);
  }
}

void discard(Call& call) {
  if (call.session.transaction == nullptr) {
    call.fail("ERR DISCARD without MULTI");
    return;
  }
  discard_transaction(call.session);
  unwatch_all(call.session);
  call.reply.ok();
}

void watch(Call& call) {
  Session& session = call.session;
  if (session.transaction != nullptr) {
    call.fail("ERR WATCH inside MULTI is not allowed");
    return;
  }
  for (const std::string_view key : call.args.subspan(1)) {
    bool known = false;
    for (const WatchedKey& watched : session.watched) {
      known = known || (watched.db == session.db && watched.key == key);
    }
    if (known) continue;
    session.watched.push_back(
        {session.db, std::string(key), call.engine.keyspace.version(session.db, key, call.now_ms)});
  }
  session.record->watched_keys.store(static_cast<uint32_t>(session.watched.size()),
                                     std::memory_order_relaxed);
  call.reply.ok();
}

void unwatch(Call& call) {
  unwatch_all(call.session);
  call.reply.ok();
}

constexpr uint32_t kControl = kFast | kLoading | kStale | kNoScript;

const CommandSpec kCommands[] = {
    {"multi",
     1,
     kControl | kImmediate,
     {},
     "transactions",
     "1.2.0",
     "O(1)",
     "Starts a transaction: commands are queued until EXEC",
     "",
     multi},
    {"exec",
     1,
     kLoading | kStale | kNoScript | kImmediate | kExclusive | kSkipSlowlog,
     {},
     "transactions",
     "1.2.0",
     "Depends on the commands in the transaction",
     "Runs all commands of the transaction as one",
     "",
     exec},
    {"discard",
     1,
     kControl | kImmediate,
     {},
     "transactions",
     "2.0.0",
     "O(N), where N is the number of queued commands",
     "Forgets the transaction",
     "",
     discard},
    {"watch",
     -2,
     kControl | kImmediate,
     {1, -1, 1},
     "transactions",
     "2.2.0",
     "O(1) for every key",
     "Makes EXEC conditional on these keys being unchanged",
     "key [key ...]",
     watch},
    {"unwatch",
     1,
     kControl,
     {},
     "transactions",
     "2.2.0",
     "O(1)",
     "Forgets all watched keys",
     "",
     unwatch},
};

}  // namespace

std::span<const CommandSpec> transaction_commands() {
  return kCommands;
}

}  // namespace iris::server
