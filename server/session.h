// What a connection has said of itself so far: its database, protocol, identity, transaction. It is
// touched only by the connection's worker; what other threads may see of it is in its ClientRecord.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protocol/reply_writer.h"
#include "server/client_registry.h"
#include "server/keyspace.h"

namespace iris::server {

struct Command;

struct QueuedCommand {
  const Command* command;
  std::vector<std::string> args;
};

struct Transaction {
  std::vector<QueuedCommand> queue;
  size_t queued_bytes = 0;
  bool writes = false;  // one of them changes something
  bool broken = false;  // a command could not be queued: EXEC will refuse
};

struct WatchedKey {
  uint32_t db;
  std::string key;
  KeyVersion version;
};

enum class ReplyMode : uint8_t {
  kOn,
  kOff,       // CLIENT REPLY OFF
  kSkipNext,  // CLIENT REPLY SKIP was just said
  kSkip,      // this one is not answered, the next one is
};

// A long array of booleans whose header has been written already; see Call::reply_compactly().
struct CompactReply {
  protocol::Version version;  // of the request; HELLO may come before all of it is sent
  std::string booleans;       // '1' and '0'
  std::string error;          // the last element, if not empty
};

struct Session {
  std::shared_ptr<ClientRecord> record;
  uint32_t db = 0;
  protocol::Version version = protocol::Version::kResp2;
  bool authenticated = false;
  bool close_after_reply = false;
  // Nothing more is run for it until Control::answer_client().
  bool waits_for_answer = false;
  bool answer_is_unwanted = false;  // CLIENT REPLY said so
  ReplyMode reply_mode = ReplyMode::kOn;
  std::unique_ptr<Transaction> transaction;
  std::vector<WatchedKey> watched;
  std::unique_ptr<CompactReply> compact_reply;

  // Nothing stands between a request and its handler, or a reply and its client.
  bool is_ordinary() const {
    return authenticated && transaction == nullptr && reply_mode == ReplyMode::kOn;
  }
};

}  // namespace iris::server
