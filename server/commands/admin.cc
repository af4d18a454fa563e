// The server as a whole: its clock, its size and its end.

#include <string>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/text.h"

namespace iris::server {

namespace {

void time(Call& call) {
  const int64_t now_us = call.engine.clock.wall_us();
  call.reply.array(2);
  call.reply.bulk(std::to_string(now_us / 1'000'000));
  call.reply.bulk(std::to_string(now_us % 1'000'000));
}

void dbsize(Call& call) {
  call.reply.integer(static_cast<int64_t>(call.engine.keyspace.database(call.session.db).size()));
}

struct ShutdownOptions {
  bool save = false;
  bool nosave = false;
  bool now = false;    // nobody is waited for: the same without replicas
  bool force = false;  // errors of the last snapshot do not matter
  bool abort = false;

  bool contradict() const {
    return (abort && (save || nosave || now || force)) || (save && nosave);
  }
};

// False: a word is none of the options.
bool read_options(std::span<const std::string_view> words, ShutdownOptions& options) {
  for (const std::string_view word : words) {
    if (equal_ignoring_case(word, "save")) {
      options.save = true;
    } else if (equal_ignoring_case(word, "nosave")) {
      options.nosave = true;
    } else if (equal_ignoring_case(word, "now")) {
      options.now = true;
    } else if (equal_ignoring_case(word, "force")) {
      options.force = true;
    } else if (equal_ignoring_case(word, "abort")) {
      options.abort = true;
    } else {
      return false;
    }
  }
  return true;
}

// There is no answer to a shutdown but the end of the connection.
void shutdown(Call& call) {
  ShutdownOptions options;
  if (!read_options(call.args.subspan(1), options) || options.contradict()) {
    call.fail_syntax();
  } else if (options.abort) {
    // One that was begun goes through before another command is read.
    call.fail("ERR No shutdown in progress.");
  } else {
    call.engine.control.shut_down(options.save     ? ShutdownSave::kYes
                                  : options.nosave ? ShutdownSave::kNo
                                                   : ShutdownSave::kByRules);
    call.session.close_after_reply = true;
  }
}

const CommandSpec kCommands[] = {
    {"time",
     1,
     kLoading | kStale | kFast,
     {},
     "server",
     "2.6.0",
     "O(1)",
     "Returns the server's time: seconds since 1970, and microseconds",
     "",
     time},
    {"dbsize",
     1,
     kReadonly | kFast,
     {},
     "server",
     "1.0.0",
     "O(1)",
     "Returns the number of keys in the database",
     "",
     dbsize},
    {"shutdown",
     -1,
     kAdmin | kNoScript | kLoading | kStale | kNoMulti,
     {},
     "server",
     "1.0.0",
     "O(1)",
     "Ends the server after the running commands",
     "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
     shutdown},
};

}  // namespace

std::span<const CommandSpec> admin_commands() {
  return kCommands;
}

}  // namespace iris::server
