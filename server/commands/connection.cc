// Commands of the connection itself: who is there, which protocol, which database.

#include <string>
#include <utility>

#include "server/call.h"
#include "server/commands/bloom_module.h"
#include "server/commands/families.h"
#include "server/commands/transaction_state.h"
#include "server/text.h"
#include "server/version.h"

namespace iris::server {

namespace {

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

void ping(Call& call) {
  if (call.args.size() > 2) {
    call.fail_arity();
  } else if (call.args.size() == 2) {
    call.reply.bulk(call.args[1]);
  } else {
    call.reply.raw("+PONG\r\n");
  }
}

void echo(Call& call) {
  call.reply.bulk(call.args[1]);
}

void quit(Call& call) {
  call.reply.ok();
  call.session.close_after_reply = true;
}

void select(Call& call) {
  const auto index = parse_integer(call.args[1]);
  if (!index) {
    call.fail("ERR value is not an integer or out of range");
  } else if (*index < 0 || static_cast<uint64_t>(*index) >= call.engine.keyspace.databases()) {
    call.fail("ERR DB index is out of range");
  } else {
    call.session.db = static_cast<uint32_t>(*index);
    call.session.record->db.store(call.session.db, std::memory_order_relaxed);
    call.reply.ok();
  }
}

// There is one user, "default", whose password is `requirepass`.
bool authenticate(Call& call, std::string_view user, std::string_view password) {
  const std::string& secret = call.engine.config.requirepass;
  if (user == "default" && (secret.empty() || equal_secrets(secret, password))) {
    call.session.authenticated = true;
    return true;
  }
  call.fail(kWrongPassword);
  return false;
}

void auth(Call& call) {
  if (call.args.size() > 3) {
    call.fail_syntax();
    return;
  }
  if (call.args.size() == 2 && call.engine.config.requirepass.empty()) {
    call.fail(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
    return;
  }
  const bool named = call.args.size() == 3;
  if (authenticate(call, named ? call.args[1] : "default", call.args[named ? 2 : 1])) {
    call.reply.ok();
  }
}

// Options of HELLO after the version. False: an error was answered.
bool hello_options(Call& call, bool& named, std::string_view& name) {
  for (size_t i = 2; i < call.args.size(); i++) {
    const size_t left = call.args.size() - i - 1;
    if (equal_ignoring_case(call.args[i], "auth") && left >= 2) {
      if (!authenticate(call, call.args[i + 1], call.args[i + 2])) return false;
      i += 2;
    } else if (equal_ignoring_case(call.args[i], "setname") && left >= 1) {
      if (!valid_client_name(call.args[i + 1])) {
        call.fail("ERR Client names cannot contain spaces, newlines or special characters.");
        return false;
      }
      named = true;
      name = call.args[++i];
    } else {
      call.fail("ERR Syntax error in HELLO option '" + std::string(call.args[i].substr(0, 128)) +
                "'");
      return false;
    }
  }
  return true;
}

void hello_reply(Call& call) {
  // Already in the protocol that was asked for.
  protocol::ReplyWriter reply(call.reply.buffer(), call.session.version);
  reply.map(7);
  reply.bulk("server");
  reply.bulk("redis");
  reply.bulk("version");
  reply.bulk(kRedisVersion);
  reply.bulk("proto");
  reply.integer(static_cast<int>(call.session.version));
  reply.bulk("id");
  reply.integer(static_cast<int64_t>(call.session.record->id));
  reply.bulk("mode");
  reply.bulk("standalone");
  reply.bulk("role");
  reply.bulk("master");
  reply.bulk("modules");
  reply.array(1);
  reply_with_bloom_module(reply);
}

void set_version(Session& session, protocol::Version version) {
  session.version = version;
  session.record->version.store(static_cast<uint32_t>(version), std::memory_order_relaxed);
}

void hello(Call& call) {
  protocol::Version version = call.session.version;
  if (call.args.size() > 1) {
    const auto asked = parse_integer(call.args[1]);
    if (!asked) {
      call.fail("ERR Protocol version is not an integer or out of range");
      return;
    }
    if (*asked != 2 && *asked != 3) {
      call.fail("NOPROTO unsupported protocol version");
      return;
    }
    version = static_cast<protocol::Version>(*asked);
  }
  bool named = false;
  std::string_view name;
  if (!hello_options(call, named, name)) return;
  if (!call.session.authenticated) {
    call.fail(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
    return;
  }
  if (named) {
    ClientNames names = call.session.record->names();
    names.name = name;
    call.session.record->set_names(std::move(names));
  }
  set_version(call.session, version);
  hello_reply(call);
}

// Back to the state of a new connection.
void reset(Call& call) {
  Session& session = call.session;
  discard_transaction(session);
  unwatch_all(session);
  session.db = 0;
  session.record->db.store(0, std::memory_order_relaxed);
  session.authenticated = call.engine.config.requirepass.empty();
  session.reply_mode = ReplyMode::kOn;
  session.record->set_names({});
  for (const uint32_t flag : {kClientMonitor, kClientNoEvict, kClientNoTouch}) {
    session.record->set_flag(flag, false);
  }
  call.engine.monitors.remove(session.record->id);
  set_version(session, protocol::Version::kResp2);
  call.reply.simple("RESET");
}

constexpr uint32_t kAlways = kFast | kLoading | kStale | kNoScript | kNoAuth;

const CommandSpec kCommands[] = {
    // Unlike Redis's it answers while the data set is loaded: the process is alive.
    {"ping",
     -1,
     kFast | kLoading,
     {},
     "connection",
     "1.0.0",
     "O(1)",
     "Returns PONG, or the message that was given",
     "[message]",
     ping},
    {"echo",
     2,
     kFast | kLoading | kStale,
     {},
     "connection",
     "1.0.0",
     "O(1)",
     "Returns the message",
     "message",
     echo},
    {"quit",
     -1,
     kAlways | kImmediate,
     {},
     "connection",
     "1.0.0",
     "O(1)",
     "Closes the connection",
     "",
     quit},
    {"auth",
     -2,
     kAlways | kSkipMonitor | kSkipSlowlog,
     {},
     "connection",
     "1.0.0",
     "O(1)",
     "Authenticates the connection",
     "[username] password",
     auth},
    {"hello",
     -1,
     kAlways | kSkipMonitor | kSkipSlowlog,
     {},
     "connection",
     "6.0.0",
     "O(1)",
     "Says which protocol the connection speaks, and tells about the server",
     "[protover:integer [AUTH (username password)] [SETNAME clientname]]",
     hello},
    {"select",
     2,
     kFast | kLoading | kStale,
     {},
     "connection",
     "1.0.0",
     "O(1)",
     "Changes the database of the connection",
     "index:integer",
     select},
    {"reset",
     1,
     kAlways | kImmediate,
     {},
     "connection",
     "6.2.0",
     "O(1)",
     "Takes the connection back to the state of a new one",
     "",
     reset},
};

}  // namespace

std::span<const CommandSpec> connection_commands() {
  return kCommands;
}

}  // namespace iris::server
