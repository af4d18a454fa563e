// SAVE, BGSAVE, BGREWRITEAOF, LASTSAVE: all make one and the same snapshot, which also replaces the
// log up to there.

#include <string>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/storage.h"
#include "server/text.h"

namespace iris::server {

namespace {

// Answers when the snapshot is on disk. Nobody else waits: only this connection.
void save(Call& call) {
  const StorageStatus status = call.engine.storage->status();
  if (status.snapshot_running) {
    call.fail("ERR Background save already in progress");
    return;
  }
  call.session.waits_for_answer = true;
  Control& control = call.engine.control;
  call.engine.storage->request_snapshot(
      SnapshotReason::kSave, [&control, client = call.session.record](const std::string& error) {
        control.answer_client(*client, error.empty() ? "+OK\r\n" : "-ERR " + error + "\r\n");
      });
}

void bgsave(Call& call) {
  const bool schedule = call.args.size() == 2 && equal_ignoring_case(call.args[1], "schedule");
  if (call.args.size() > 1 && !schedule) {
    call.fail_syntax();
    return;
  }
  const StorageStatus status = call.engine.storage->status();
  if (status.snapshot_running) {
    call.fail("ERR Background save already in progress");
  } else if (status.rewrite_running && !schedule) {
    call.fail(
        "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE "
        "in order to schedule a BGSAVE whenever possible.");
  } else {
    call.engine.storage->request_snapshot(SnapshotReason::kSave);
    call.reply.simple(status.rewrite_running ? "Background saving scheduled"
                                             : "Background saving started");
  }
}

void bgrewriteaof(Call& call) {
  const StorageStatus status = call.engine.storage->status();
  if (status.rewrite_running) {
    call.fail("ERR Background append only file rewriting already in progress");
    return;
  }
  call.engine.storage->request_snapshot(SnapshotReason::kRewrite);
  call.reply.simple(status.snapshot_running ? "Background append only file rewriting scheduled"
                                            : "Background append only file rewriting started");
}

void lastsave(Call& call) {
  call.reply.integer(call.engine.storage->status().last_save_ms / 1000);
}

constexpr uint32_t kFiles = kAdmin | kNoScript;

const CommandSpec kCommands[] = {
    {"save",
     1,
     kFiles | kNoMulti | kAnsweredLater,
     {},
     "server",
     "1.0.0",
     "O(N), where N is the data set",
     "Makes a snapshot and answers when it is on disk",
     "",
     save},
    {"bgsave",
     -1,
     kFiles,
     {},
     "server",
     "1.0.0",
     "O(1)",
     "Starts making a snapshot",
     "[SCHEDULE]",
     bgsave},
    {"bgrewriteaof",
     1,
     kFiles,
     {},
     "server",
     "1.0.0",
     "O(1)",
     "Starts making a snapshot that replaces the log",
     "",
     bgrewriteaof},
    {"lastsave",
     1,
     kLoading | kStale | kFast,
     {},
     "server",
     "1.0.0",
     "O(1)",
     "Returns when the last snapshot was made, in seconds since 1970",
     "",
     lastsave,
     Plan::kNone,
     "@dangerous"},
};

}  // namespace

std::span<const CommandSpec> snapshot_commands() {
  return kCommands;
}

}  // namespace iris::server
