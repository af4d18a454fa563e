// BF.SCANDUMP and BF.LOADCHUNK: a filter in pieces, out and in.

#include <algorithm>
#include <utility>
#include <variant>

#include "filters/bloom_dump.h"
#include "filters/bloom_loader.h"
#include "server/bloom_value.h"
#include "server/call.h"
#include "server/commands/bloom_key.h"
#include "server/commands/families.h"
#include "server/text.h"

namespace iris::server {

namespace {

using filters::LoadError;

constexpr std::string_view kBadIterator = "Second argument must be numeric";
constexpr int64_t kHeaderIterator = 1;

std::string_view error_text(LoadError error) {
  switch (error) {
    case LoadError::kNone:
      break;
    case LoadError::kBadData:
      return "ERR received bad data";
    case LoadError::kTooLarge:
      return kNoMemoryToCreate;
    case LoadError::kNoSuchOffset:
      return "ERR invalid offset - no link found";
    case LoadError::kPieceTooBig:
      return "ERR invalid chunk - Too big for current filter";
  }
  return "ERR received bad data";
}

void scandump(Call& call) {
  const filters::BloomFilter* filter = require_bloom(call, call.args[1], kNotFound);
  if (filter == nullptr) return;
  const auto iterator = parse_integer(call.args[2]);
  if (!iterator) {
    call.fail(kBadIterator);
    return;
  }
  const filters::DumpStep step = filters::dump_step(*filter, *iterator);
  call.reply.array(2);
  call.reply.integer(static_cast<int64_t>(step.next_iterator));
  call.reply.bulk(step.data);
}

// The header starts a load. A load that was broken off may be started again.
void start_loading(Call& call, std::string_view header) {
  const BloomState state = find_bloom(call, call.args[1]).state;
  if (state == BloomState::kFound || state == BloomState::kOtherType) {
    call.fail(state == BloomState::kFound ? kItemExists : kWrongType);
    return;
  }
  const uint64_t filter_id = call.engine.keyspace.next_id();
  auto started = filters::BloomLoader::start(header, filter_id, call.memory_left_for_a_filter());
  if (const auto* error = std::get_if<LoadError>(&started)) {
    call.fail(error_text(*error));
    return;
  }
  auto value = std::make_unique<LoadingBloomValue>(
      std::move(std::get<std::unique_ptr<filters::BloomLoader>>(started)),
      call.engine.keyspace.next_id());
  call.engine.memory.announce(value->memory_bytes());
  put_new_filter(call, call.args[1], std::move(value),
                 {Birth::Kind::kLoading, header, {&filter_id, 1}});
  call.reply.ok();
}

void load_piece(Call& call, int64_t iterator, std::string_view data) {
  Entry* entry = call.find(call.args[1]);
  if (entry == nullptr) {
    call.fail(kNotFound);
    return;
  }
  if (entry->value->kind() != ValueKind::kBloomLoading) {
    call.fail(entry->value->kind() == ValueKind::kBloom ? error_text(LoadError::kBadData)
                                                        : kWrongType);
    return;
  }
  filters::BloomLoader& loader = static_cast<LoadingBloomValue&>(*entry->value).loader();
  if (const LoadError error = loader.load(iterator, data); error != LoadError::kNone) {
    call.fail(error_text(error));
    return;
  }
  call.engine.journal.loaded_piece(*entry->value, iterator, data);
  if (loader.complete()) {
    const uint64_t loading_id = entry->value->id();
    call.engine.keyspace.put(call.session.db, Database::hashed(call.args[1]),
                             std::make_unique<BloomValue>(loader.take()), entry->expire_at_ms,
                             call.now_ms, {Birth::Kind::kLoaded, {}, {&loading_id, 1}});
  }
  call.reply.ok();
}

void loadchunk(Call& call) {
  const auto iterator = parse_integer(call.args[2]);
  if (!iterator) {
    call.fail(kBadIterator);
  } else if (*iterator == kHeaderIterator) {
    start_loading(call, call.args[3]);
  } else {
    load_piece(call, *iterator, call.args[3]);
  }
}

const CommandSpec kCommands[] = {
    {"bf.scandump",
     3,
     kReadonly,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(n), where n is the size of the piece, 16 MiB at most",
     "Returns the next piece of a Bloom filter",
     "key iterator:integer",
     scandump},
    {"bf.loadchunk",
     4,
     kWrite | kDenyOom | kExclusive,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(n), where n is the size of the piece",
     "Loads a piece of a Bloom filter that BF.SCANDUMP returned",
     "key iterator:integer data",
     loadchunk},
};

}  // namespace

std::span<const CommandSpec> bloom_dump_commands() {
  return kCommands;
}

}  // namespace iris::server
