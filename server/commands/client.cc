// CLIENT: what a connection says of itself, and what it may know of and do to the others.
//
// Others belong to other workers: they are read through their records, and killed by a message to
// their worker. So a killed client may live a moment longer; it is marked, and from then on nobody
// sees it.

#include <algorithm>
#include <string>
#include <utility>

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/client_filter.h"
#include "server/commands/families.h"
#include "server/info_clients.h"
#include "server/text.h"

namespace iris::server {

namespace {

constexpr size_t kShownBytes = 128;

void id(Call& call) {
  call.reply.integer(static_cast<int64_t>(call.session.record->id));
}

void getname(Call& call) {
  const std::string name = call.session.record->names().name;
  if (name.empty()) {
    call.reply.null();
  } else {
    call.reply.bulk(name);
  }
}

void setname(Call& call) {
  if (!valid_client_name(call.args[2])) {
    call.fail("ERR Client names cannot contain spaces, newlines or special characters.");
    return;
  }
  ClientNames names = call.session.record->names();
  names.name = call.args[2];
  call.session.record->set_names(std::move(names));
  call.reply.ok();
}

void setinfo(Call& call) {
  const std::string option(call.args[2].substr(0, kShownBytes));
  ClientNames names = call.session.record->names();
  std::string* name = nullptr;
  if (equal_ignoring_case(option, "lib-name")) name = &names.library;
  if (equal_ignoring_case(option, "lib-ver")) name = &names.library_version;
  if (name == nullptr) {
    call.fail("ERR Unrecognized option '" + option + "'");
  } else if (!valid_client_name(call.args[3])) {
    call.fail("ERR " + option + " cannot contain spaces, newlines or special characters.");
  } else {
    *name = call.args[3];
    call.session.record->set_names(std::move(names));
    call.reply.ok();
  }
}

void info(Call& call) {
  call.reply.verbatim("txt", client_line(*call.session.record, call.now_ms));
}

void reply_with_clients_by_id(Call& call) {
  // Looked up in one list, so that many ids do not lock the registry as many times.
  const auto clients = call.engine.clients.list();
  std::string lines;
  for (const std::string_view word : call.args.subspan(3)) {
    const auto asked = parse_integer(word);
    if (!asked) {
      call.fail("ERR Invalid client ID");
      return;
    }
    const auto found = std::lower_bound(clients.begin(), clients.end(), *asked,
                                        [](const auto& client, int64_t wanted) {
                                          return static_cast<int64_t>(client->id) < wanted;
                                        });
    if (found == clients.end() || static_cast<int64_t>((*found)->id) != *asked) continue;
    if (!is_leaving(**found)) lines += client_line(**found, call.now_ms);
  }
  call.reply.verbatim("txt", lines);
}

void list(Call& call) {
  bool normal = true;
  if (call.args.size() == 4 && equal_ignoring_case(call.args[2], "type")) {
    const auto meant = means_normal_clients(call.args[3]);
    if (!meant) {
      call.fail(unknown_client_type(call.args[3]));
      return;
    }
    normal = *meant;
  } else if (call.args.size() > 3 && equal_ignoring_case(call.args[2], "id")) {
    reply_with_clients_by_id(call);
    return;
  } else if (call.args.size() != 2) {
    call.fail_syntax();
    return;
  }
  std::string lines;
  if (normal) {
    for (const auto& client : call.engine.clients.list()) {
      if (!is_leaving(*client)) lines += client_line(*client, call.now_ms);
    }
  }
  call.reply.verbatim("txt", lines);
}

// Returns how many were killed. Oneself is answered first.
int64_t kill_matching(Call& call, const ClientFilter& filter) {
  const uint64_t my_id = call.session.record->id;
  int64_t killed = 0;
  for (const auto& client : call.engine.clients.list()) {
    if (is_leaving(*client) || !filter.matches(*client, my_id, call.now_ms)) continue;
    killed++;
    if (client->id == my_id) {
      call.session.close_after_reply = true;
    } else {
      client->set_flag(kClientCloseSoon, true);
      call.engine.control.kill_client(*client);
    }
  }
  return killed;
}

void kill(Call& call) {
  ClientFilter filter;
  const std::string error = read_client_filter(call.args.subspan(2), filter);
  if (!error.empty()) {
    call.fail(error);
    return;
  }
  const int64_t killed = kill_matching(call, filter);
  const bool old_form = call.args.size() == 3;
  if (!old_form) {
    call.reply.integer(killed);
  } else if (killed == 0) {
    call.fail("ERR No such client");
  } else {
    call.reply.ok();
  }
}

void set_flag_on_or_off(Call& call, uint32_t flag) {
  const bool on = equal_ignoring_case(call.args[2], "on");
  if (!on && !equal_ignoring_case(call.args[2], "off")) {
    call.fail_syntax();
    return;
  }
  call.session.record->set_flag(flag, on);
  call.reply.ok();
}

// There is no eviction of clients; the flag is kept and shown.
void no_evict(Call& call) {
  set_flag_on_or_off(call, kClientNoEvict);
}

void no_touch(Call& call) {
  set_flag_on_or_off(call, kClientNoTouch);
}

// The dispatcher drops the replies.
void reply(Call& call) {
  ReplyMode& mode = call.session.reply_mode;
  if (equal_ignoring_case(call.args[2], "on")) {
    mode = ReplyMode::kOn;
    call.reply.ok();
  } else if (equal_ignoring_case(call.args[2], "off")) {
    mode = ReplyMode::kOff;
  } else if (equal_ignoring_case(call.args[2], "skip")) {
    if (mode != ReplyMode::kOff) mode = ReplyMode::kSkipNext;
  } else {
    call.fail_syntax();
  }
}

constexpr uint32_t kPlain = kLoading | kStale | kNoScript;
constexpr uint32_t kOverOthers = kPlain | kAdmin;
constexpr std::string_view kGroup = "connection";
constexpr std::string_view kPerClient = "O(N), where N is the number of clients";

const CommandSpec kSubcommands[] = {
    {"getname",
     2,
     kPlain,
     {},
     kGroup,
     "2.6.9",
     "O(1)",
     "Tells the name of the connection",
     "",
     getname},
    {"id", 2, kPlain, {}, kGroup, "5.0.0", "O(1)", "Tells the id of the connection", "", id},
    {"info", 2, kPlain, {}, kGroup, "6.2.0", "O(1)", "Tells about the connection", "", info},
    {"kill",
     -3,
     kOverOthers,
     {},
     kGroup,
     "2.4.0",
     kPerClient,
     "Closes connections",
     "(addr | [ID client-id:integer] [TYPE (NORMAL | MASTER | REPLICA | PUBSUB)] [USER username] "
     "[ADDR addr] [LADDR laddr] [SKIPME (YES | NO)] [MAXAGE seconds:integer])",
     kill},
    {"list",
     -2,
     kOverOthers,
     {},
     kGroup,
     "2.4.0",
     kPerClient,
     "Lists the connections",
     "[TYPE (NORMAL | MASTER | REPLICA | PUBSUB)] [ID client-id:integer [client-id ...]]",
     list},
    {"no-evict",
     3,
     kOverOthers,
     {},
     kGroup,
     "7.0.0",
     "O(1)",
     "Spares the connection when clients are evicted",
     "(ON | OFF)",
     no_evict},
    {"no-touch",
     3,
     kPlain,
     {},
     kGroup,
     "7.2.0",
     "O(1)",
     "Makes accesses by the connection leave no trace on keys",
     "(ON | OFF)",
     no_touch},
    {"reply",
     3,
     kPlain,
     {},
     kGroup,
     "3.2.0",
     "O(1)",
     "Says whether commands are answered",
     "(ON | OFF | SKIP)",
     reply},
    {"setinfo",
     4,
     kPlain,
     {},
     kGroup,
     "7.2.0",
     "O(1)",
     "Names the client library of the connection, or its version",
     "(LIB-NAME libname | LIB-VER libver)",
     setinfo},
    {"setname",
     3,
     kPlain,
     {},
     kGroup,
     "2.6.9",
     "O(1)",
     "Names the connection",
     "connection-name",
     setname},
    {"help",
     2,
     kLoading | kStale,
     {},
     kGroup,
     "5.0.0",
     "O(1)",
     "Shows this help",
     "",
     reply_with_help},
};

const CommandSpec kCommands[] = {
    {"client",
     -2,
     0,
     {},
     kGroup,
     "2.4.0",
     "Depends on the subcommand",
     "A container for commands on connections",
     "",
     nullptr,
     Plan::kNone,
     {},
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> client_commands() {
  return kCommands;
}

}  // namespace iris::server
