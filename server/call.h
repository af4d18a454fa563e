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
// hint only: it counts while the keyspace is as it was then, for the database it was made for.
struct PlannedWork {
  Value* value = nullptr;
  std::span<const filters::ItemHash> hashes = {};
  uint64_t generation = 0;
  uint32_t db = 0;
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
  const PlannedWork& planned;

  size_t member = 0;
  int64_t now_ms = 0;
  bool exclusive = false;
  bool failed = false;

  // What the key at args[1] holds, if that was planned and still holds; null: look it up.
  Value* planned_value() const { return plan_holds() ? planned.value : nullptr; }
  // Hashes of the first items of the request; empty if there are none to rely on.
  std::span<const filters::ItemHash> planned_hashes() const {
    return plan_holds() ? planned.hashes : std::span<const filters::ItemHash>();
  }

  // Answers an error and counts it.
  void fail(std::string_view error);
  void fail_syntax() { fail("ERR syntax error"); }
  void fail_arity();

  // Whether finding a key is a use of it (OBJECT IDLETIME). kUnlessUnwanted: CLIENT NO-TOUCH.
  enum class Touch : uint8_t { kNever, kUnlessUnwanted, kAlways };
  // The key as this call's database has it now; null if missing or expired. Counts a hit or miss
  // and the access.
  Entry* find(std::string_view key, Touch touch = Touch::kUnlessUnwanted) {
    return find(Database::hashed(key), touch);
  }
  Entry* find(HashedKey key, Touch touch = Touch::kUnlessUnwanted);
  // The same without counting anything: for commands that tell about a key instead of using it.
  Entry* peek(std::string_view key) {
    return engine.keyspace.find(session.db, Database::hashed(key), now_ms);
  }

  // For long commands, every thousand items or so: lets a waiting exclusive step go first. True if
  // it did, and then everything must be looked up again.
  bool yield();

  // Refuses (with the OOM error) what would pass `maxmemory`; otherwise announces the bytes.
  bool allow_memory(uint64_t bytes);
  // What `maxmemory` and `filter-max-memory` leave for a filter whose size a client's data tells.
  uint64_t memory_left_for_a_filter() const;

  // Takes over many booleans ('1' and '0') and the error that may follow them, to be rendered piece
  // by piece as the client takes them: a byte an item instead of four. False: there are few, or
  // their place is inside another reply, so the caller renders them.
  bool reply_compactly(std::string& booleans, std::string_view error);

 private:
  bool plan_holds() const {
    return planned.value != nullptr && planned.generation == engine.keyspace.generation() &&
           planned.db == session.db;
  }
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

// Outside of the world lock for a scope, so that nobody waits for a handler that waits for a disk
// or a clock. Nothing that was looked up before is valid after it, and nothing shared may be
// touched inside. EXEC is one step: within it the scope changes nothing.
class OutsideStep {
 public:
  explicit OutsideStep(Call& call) : call_(call) {
    if (!call_.exclusive) call_.engine.world.leave(call_.member);
  }
  ~OutsideStep() {
    if (!call_.exclusive) call_.engine.world.enter(call_.member);
  }
  OutsideStep(const OutsideStep&) = delete;
  OutsideStep& operator=(const OutsideStep&) = delete;

 private:
  Call& call_;
};

}  // namespace iris::server
