// CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX, CF.EXISTS, CF.MEXISTS, CF.DEL: a spectral filter by the
// names that clients know from RedisBloom's cuckoo filter. To add is to count once, to be there is
// to have a count above 0.

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/commands/item_turns.h"
#include "server/commands/spectral_key.h"
#include "server/text.h"

namespace iris::server {

namespace {

using filters::ItemHash;
using filters::SpectralFilter;
using filters::SpectralResult;
using filters::SpectralStatus;

// Whether an item that is there is counted once more or left alone.
enum class AddMode : uint8_t { kAlways, kIfAbsent };

SpectralResult add_item(Call& call, SpectralFilter& filter, const ItemHash& hash,
                        const std::string_view& item, AddMode mode) {
  const auto record = recorder(call, filter, {&item, 1});
  const auto limit = extension_limit(call, filter);
  return mode == AddMode::kAlways ? filter.increment(hash, 1, call.engine.stripes, record, limit)
                                  : filter.add_if_absent(hash, call.engine.stripes, record, limit);
}

void add_one(Call& call, AddMode mode) {
  const auto result = change_spectral(call, [&](SpectralFilter& filter) {
    return add_item(call, filter, hash_of_single_item(call, filter), call.args[2], mode);
  });
  if (result) call.reply.boolean(result->status == SpectralStatus::kOk);
}

void add(Call& call) {
  add_one(call, AddMode::kAlways);
}

void addnx(Call& call) {
  add_one(call, AddMode::kIfAbsent);
}

// --- lookups ---

void exists(Call& call) {
  const SpectralKey found = find_spectral(call, call.args[1]);
  if (found.state == SpectralState::kLoading) {
    call.fail(kSpectralStillLoading);
  } else if (found.state != SpectralState::kFound) {
    call.reply.boolean(false);
  } else {
    const ItemHash hash = hash_of_single_item(call, *found.filter);
    call.reply.boolean(found.filter->count(hash, call.engine.stripes) > 0);
  }
}

void mexists(Call& call) {
  ItemResults results{std::string(call.args.size() - 2, '0'), {}};
  const auto look = [&](size_t i, const SpectralFilter& filter, Hashes hashes) {
    for (const ItemHash& hash : hashes) {
      results.answers[i++] = filter.count(hash, call.engine.stripes) > 0 ? '1' : '0';
    }
  };
  if (!look_up_items(call, find_spectral, kSpectralStillLoading, look)) return;
  reply_with(call, std::move(results));
}

void del(Call& call) {
  SpectralFilter* filter = require_spectral(call, call.args[1], "Not found");
  if (filter == nullptr) return;
  const SpectralResult result =
      filter->decrement(hash_of_single_item(call, *filter), 1, call.engine.stripes,
                        recorder(call, *filter, {&call.args[2], 1}));
  if (result.status == SpectralStatus::kOk || result.status == SpectralStatus::kAbsent) {
    call.reply.boolean(result.status == SpectralStatus::kOk);
  } else {
    call.fail(error_text(result.status));
  }
}

// --- CF.INSERT and CF.INSERTNX ---

// Among the answers: there is no place for this item. The command goes on, since the items after it
// may be known already.
constexpr char kNoPlace = '-';

struct InsertOptions {
  filters::SpectralRequest request;
  AddMode mode = AddMode::kAlways;
  bool create = true;
  size_t first_item = 0;
};

bool is_full(SpectralStatus status) {
  return status == SpectralStatus::kFull || status == SpectralStatus::kMaxExpansions;
}

// Notes what became of the next item. False if that ends the command.
bool note(SpectralStatus status, ItemResults& results) {
  if (status == SpectralStatus::kOk) {
    results.answers += '1';
  } else if (status == SpectralStatus::kPresent) {
    results.answers += '0';
  } else if (is_full(status)) {
    results.answers += kNoPlace;
  } else {
    results.error = error_text(status);
  }
  return results.error.empty();
}

// Adds the items from `results` on, one turn of them. True if it stopped because the filter must
// grow first.
bool insert_turn(Call& call, SpectralFilter& filter, Items items, AddMode mode,
                 ItemResults& results) {
  const size_t first = results.answers.size();
  HashesAhead hashes(call, filter, turn_of(items, first), first);
  for (Hashes some = hashes.take(); !some.empty(); some = hashes.take()) {
    for (const ItemHash& hash : some) {
      const std::string_view& item = items[results.answers.size()];
      const SpectralStatus status = add_item(call, filter, hash, item, mode).status;
      if (status == SpectralStatus::kNeedsLayer) return true;
      if (!note(status, results)) return false;
    }
  }
  return false;
}

// RESP3 has booleans for CF.INSERT, with false for "no place", and RedisBloom's integers for
// CF.INSERTNX.
void reply_to_insert(Call& call, ItemResults results, AddMode mode) {
  const bool resp3 = call.reply.version() == protocol::Version::kResp3;
  if (resp3 && mode == AddMode::kAlways) {
    std::replace(results.answers.begin(), results.answers.end(), kNoPlace, '0');
    reply_with(call, std::move(results));
    return;
  }
  if (!resp3 && results.answers.find(kNoPlace) == std::string::npos) {
    reply_with(call, std::move(results));
    return;
  }
  call.reply.array(results.answers.size() + (results.error.empty() ? 0 : 1));
  for (const char answer : results.answers) {
    call.reply.integer(answer == kNoPlace ? -1 : answer - '0');
  }
  if (!results.error.empty()) call.fail(results.error);
}

void insert_items(Call& call, const InsertOptions& options) {
  const Items items = call.args.subspan(options.first_item);
  ItemResults results;
  results.answers.reserve(items.size());
  while (results.error.empty() && results.answers.size() < items.size()) {
    SpectralFilter* filter = options.create ? find_or_create_spectral(call, options.request)
                                            : require_spectral(call, call.args[1], kNotFound);
    if (filter == nullptr) return;
    if (!insert_turn(call, *filter, items, options.mode, results)) {
      call.yield();
      continue;
    }
    const SpectralStatus status = grow_spectral(call, *filter, 1);
    if (is_full(status)) {
      results.answers += kNoPlace;
    } else if (status != SpectralStatus::kOk) {
      results.error = error_text(status);
    }
  }
  reply_to_insert(call, std::move(results), options.mode);
}

bool parse_insert(Call& call, InsertOptions& options) {
  for (size_t i = 2; i < call.args.size() && options.first_item == 0; i++) {
    const std::string_view word = call.args[i];
    if (equal_ignoring_case(word, "items")) {
      options.first_item = i + 1;
    } else if (equal_ignoring_case(word, "nocreate")) {
      options.create = false;
    } else if (!equal_ignoring_case(word, "capacity")) {
      call.fail("Unknown argument received");
      return false;
    } else if (++i == call.args.size()) {
      break;
    } else if (const auto capacity = parse_integer(call.args[i])) {
      options.request.capacity = *capacity;
    } else {
      call.fail("Bad capacity");
      return false;
    }
  }
  if (options.first_item == 0 || options.first_item >= call.args.size()) {
    call.fail_arity();
    return false;
  }
  return true;
}

void insert_with(Call& call, AddMode mode) {
  InsertOptions options{default_spectral_request(call.engine.config), mode};
  if (!parse_insert(call, options)) return;
  // A bad capacity is refused even when the key exists and it would be ignored.
  const auto params = filters::SpectralParams::make(options.request);
  if (const auto* error = std::get_if<filters::SpectralParamsError>(&params)) {
    call.fail(error_text(*error));
    return;
  }
  insert_items(call, options);
}

void insert(Call& call) {
  insert_with(call, AddMode::kAlways);
}

void insertnx(Call& call) {
  insert_with(call, AddMode::kIfAbsent);
}

constexpr uint32_t kAddFlags = kWrite | kDenyOom | kFast;

const CommandSpec kCommands[] = {
    {"cf.add",
     3,
     kAddFlags,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k), where k is the number of hashes",
     "Counts an item once in a spectral filter; makes the filter if there is none",
     "key item",
     add,
     Plan::kKeyItem},
    {"cf.addnx",
     3,
     kAddFlags,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k), where k is the number of hashes",
     "Adds an item to a spectral filter if it is not there; makes the filter if there is none",
     "key item",
     addnx,
     Plan::kKeyItem},
    {"cf.insert",
     -4,
     kAddFlags,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k * n), where k is the number of hashes and n of items",
     "Counts items once in a spectral filter; makes the filter if there is none",
     "key [CAPACITY capacity:integer] [NOCREATE] ITEMS item [item ...]",
     insert},
    {"cf.insertnx",
     -4,
     kAddFlags,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k * n), where k is the number of hashes and n of items",
     "Adds the items that are not there to a spectral filter; makes the filter if there is none",
     "key [CAPACITY capacity:integer] [NOCREATE] ITEMS item [item ...]",
     insertnx},
    {"cf.exists",
     3,
     kReadonly | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k), where k is the number of hashes",
     "Tells whether an item is in a spectral filter",
     "key item",
     exists,
     Plan::kKeyItem},
    {"cf.mexists",
     -3,
     kReadonly | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k * n), where k is the number of hashes and n of items",
     "Tells which items are in a spectral filter",
     "key item [item ...]",
     mexists,
     Plan::kKeyItems},
    {"cf.del",
     3,
     kWrite | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k), where k is the number of hashes",
     "Takes one from the count of an item in a spectral filter",
     "key item",
     del,
     Plan::kKeyItem},
};

}  // namespace

std::span<const CommandSpec> spectral_item_commands() {
  return kCommands;
}

}  // namespace iris::server
