// One command being run: its arguments, its session, where its reply goes, and how it reaches the
// shared state. Handlers get nothing else.
//
// A handler runs inside the world lock, in one of two ways:
//   - concurrent: it may look keys up and work on the filters it finds. To change the keyspace it
//     takes an ExclusiveStep, after which everything must be looked up again.
//   - exclusive (commands flagged kExclusive, and everything inside EXEC): it is alone already.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "filters/item_hash.h"
#include "protocol/reply_writer.h"
#include "server/command.h"
#include "server/engine.h"
#include "server/session.h"

namespace iris::server {

class Dispatcher;

// Work done ahead for a request: its key was looked up and its items hashed when it was parsed. A
// hint only: it counts while the keyspace's generation is the one it was made under.
struct PlannedWork {
  Value* value = nullptr;
  const filters::ItemHash* hashes = nullptr;
  uint64_t generation = 0;
};

struct Call {
  Dispatcher& dispatcher;
  Engine& engine;
  MemberStats& stats;
  Session& session;
  const Command& command;
  // The command's name is args[0]; a subcommand's args[1].
  std::span<const std::string_view> args;
  protocol::ReplyWriter& reply;

  size_t member = 0;
  int64_t now_ms = 0;
  bool exclusive = false;
  bool failed = false;
  PlannedWork planned = {};

  // Answers an error and counts it.
  void fail(std::string_view error);
  void fail_syntax() { fail("ERR syntax error"); }
  void fail_arity();

  // The key as this call's database has it now; null if missing or expired. Counts a hit or miss
  // and the access.
  Entry* find(std::string_view key) { return find(Database::hashed(key)); }
  Entry* find(HashedKey key);

  // For long commands, every thousand items or so: lets a waiting exclusive step go first. True if
  // it did, and then everything must be looked up again.
  bool yield();

  // Refuses (with the OOM error) what would pass `maxmemory`; otherwise announces the bytes.
  bool allow_memory(uint64_t bytes);
};

// The exclusive state for a scope, taken by a concurrent handler when it must change the keyspace.
// Nothing that was looked up before is valid inside or after it.
class ExclusiveStep {
 public:
  explicit ExclusiveStep(Call& call);
  ~ExclusiveStep();
  ExclusiveStep(const ExclusiveStep&) = delete;
  ExclusiveStep& operator=(const ExclusiveStep&) = delete;

 private:
  Call& call_;
  const bool taken_;
};

}  // namespace iris::server
