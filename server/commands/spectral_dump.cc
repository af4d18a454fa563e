// CF.SCANDUMP and CF.LOADCHUNK: a spectral filter in pieces, out and in.

#include "filters/spectral_dump.h"

#include <memory>
#include <utility>
#include <variant>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/commands/spectral_key.h"
#include "server/spectral_value.h"
#include "server/text.h"

namespace iris::server {

namespace {

using filters::LoadError;

constexpr std::string_view kBadPosition = "Invalid position";
constexpr int64_t kHeaderPosition = 1;

void scandump(Call& call) {
  const auto position = parse_integer(call.args[2]);
  if (!position || *position < 0) {
    call.fail(kBadPosition);
    return;
  }
  const filters::SpectralFilter* filter = require_spectral(call, call.args[1], kNotFound);
  if (filter == nullptr) return;
  const filters::DumpStep step = filters::dump_step(*filter, *position, call.engine.stripes);
  call.reply.array(2);
  call.reply.integer(as_integer(step.next_iterator));
  if (step.next_iterator == 0) {
    call.reply.null();
  } else {
    call.reply.bulk(step.data);
  }
}

// The header starts a load. A load that was broken off may be started again.
void start_loading(Call& call, std::string_view header) {
  const SpectralState state = find_spectral(call, call.args[1]).state;
  if (state == SpectralState::kFound || state == SpectralState::kOtherType) {
    call.fail(state == SpectralState::kFound ? kItemExists : kWrongType);
    return;
  }
  const uint64_t filter_id = call.engine.keyspace.next_id();
  auto started = filters::SpectralLoader::start(header, filter_id, call.memory_left_for_a_filter());
  if (const auto* error = std::get_if<LoadError>(&started)) {
    call.fail(*error == LoadError::kTooLarge ? "Couldn't create filter!" : "Invalid header");
    return;
  }
  auto value = std::make_unique<LoadingSpectralValue>(
      std::move(std::get<std::unique_ptr<filters::SpectralLoader>>(started)),
      call.engine.keyspace.next_id());
  call.engine.memory.announce(value->memory_bytes());
  put_new_filter(call, call.args[1], std::move(value),
                 {Birth::Kind::kLoading, header, {&filter_id, 1}});
  call.reply.ok();
}

void load_piece(Call& call, int64_t position, std::string_view data) {
  constexpr std::string_view kNotLoaded = "Couldn't load chunk!";
  Entry* entry = call.find(call.args[1]);
  if (entry == nullptr) {
    call.fail(kNotFound);
    return;
  }
  if (entry->value->kind() != ValueKind::kSpectralLoading) {
    call.fail(entry->value->kind() == ValueKind::kSpectral ? kNotLoaded : kWrongType);
    return;
  }
  filters::SpectralLoader& loader = static_cast<LoadingSpectralValue&>(*entry->value).loader();
  if (loader.load(position, data) != LoadError::kNone) {
    call.fail(kNotLoaded);
    return;
  }
  call.engine.journal.loaded_piece(*entry->value, position, data);
  if (loader.complete()) {
    const uint64_t loading_id = entry->value->id();
    call.engine.keyspace.put(call.session.db, Database::hashed(call.args[1]),
                             std::make_unique<SpectralValue>(loader.take()), entry->expire_at_ms,
                             call.now_ms, {Birth::Kind::kLoaded, {}, {&loading_id, 1}});
  }
  call.reply.ok();
}

void loadchunk(Call& call) {
  const auto position = parse_integer(call.args[2]);
  if (!position || *position < kHeaderPosition) {
    call.fail(kBadPosition);
  } else if (*position == kHeaderPosition) {
    start_loading(call, call.args[3]);
  } else {
    load_piece(call, *position, call.args[3]);
  }
}

const CommandSpec kCommands[] = {
    {"cf.scandump",
     3,
     kReadonly,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(n), where n is the size of the piece",
     "Returns the next piece of a spectral filter",
     "key position:integer",
     scandump},
    {"cf.loadchunk",
     4,
     kWrite | kDenyOom | kExclusive,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(n), where n is the size of the piece",
     "Loads a piece of a spectral filter that CF.SCANDUMP returned",
     "key position:integer data",
     loadchunk},
};

}  // namespace

std::span<const CommandSpec> spectral_dump_commands() {
  return kCommands;
}

}  // namespace iris::server
