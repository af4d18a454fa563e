// BF.ADD, BF.MADD, BF.INSERT, BF.EXISTS, BF.MEXISTS: the hot path.

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <variant>

#include "server/bloom_value.h"
#include "server/call.h"
#include "server/commands/bloom_key.h"
#include "server/commands/families.h"
#include "server/commands/item_turns.h"
#include "server/text.h"

namespace iris::server {

namespace {

using filters::AddOutcome;
using filters::BloomFilter;

constexpr std::string_view kFull = "ERR non scaling filter is full";

// --- lookups ---

void exists(Call& call) {
  const BloomKey found = find_bloom(call, call.args[1]);
  if (found.state == BloomState::kLoading) {
    call.fail(kStillLoading);
  } else if (found.state != BloomState::kFound) {
    call.reply.boolean(false);
  } else {
    call.reply.boolean(found.filter->contains(hash_of_single_item(call, *found.filter)));
  }
}

void mexists(Call& call) {
  ItemResults results{std::string(call.args.size() - 2, '0'), {}};
  const auto look = [&](size_t first, const BloomFilter& filter, Hashes hashes) {
    const uint32_t found = filter.contained(hashes);
    for (size_t i = 0; i < hashes.size(); i++) {
      results.answers[first + i] = static_cast<char>('0' + (found >> i & 1));
    }
  };
  if (!look_up_items(call, find_bloom, kStillLoading, look)) return;
  reply_with(call, std::move(results));
}

// --- additions ---

// The filter of the key, made with `request` if it is missing. Null after an error reply.
BloomFilter* find_or_create(Call& call, const filters::BloomRequest& request) {
  const std::string_view key = call.args[1];
  BloomKey found = find_bloom(call, key);
  if (found.state == BloomState::kMissing) {
    const auto params = filters::BloomParams::make(request);
    if (const auto* error = std::get_if<filters::BloomParamsError>(&params)) {
      call.fail(error_text(*error));
      return nullptr;
    }
    {
      ExclusiveStep alone(call);
      found = find_bloom(call, key);  // another worker may have been first
      if (found.state == BloomState::kMissing &&
          create_bloom(call, key, std::get<filters::BloomParams>(params)) == nullptr) {
        return nullptr;
      }
    }
    found = find_bloom(call, key);
  }
  if (found.state == BloomState::kFound) return found.filter;
  // Gone again already: as if it had been deleted just after this command.
  call.fail(found.state == BloomState::kLoading     ? kStillLoading
            : found.state == BloomState::kOtherType ? kWrongType
                                                    : kNotFound);
  return nullptr;
}

AddOutcome add_item(Call& call, BloomFilter& filter, const filters::ItemHash& hash,
                    std::string_view item) {
  return filter.add(hash, call.engine.stripes,
                    [&] { call.engine.journal.bloom_added(call.member, filter, item); });
}

void add(Call& call) {
  const BloomKey found = find_bloom(call, call.args[1]);
  BloomFilter* filter = found.filter;
  if (found.state != BloomState::kFound) {
    filter = find_or_create(call, default_bloom_request(call.engine.config));
    if (filter == nullptr) return;
  }
  while (true) {
    const AddOutcome outcome =
        add_item(call, *filter, hash_of_single_item(call, *filter), call.args[2]);
    if (outcome == AddOutcome::kFull) {
      call.fail(kFull);
      return;
    }
    if (outcome != AddOutcome::kNeedsLayer) {
      call.reply.boolean(outcome == AddOutcome::kAdded);
      return;
    }
    if (const std::string_view error = grow_bloom(call, call.args[1]); !error.empty()) {
      call.fail(error);
      return;
    }
    filter = find_or_create(call, default_bloom_request(call.engine.config));
    if (filter == nullptr) return;
  }
}

// Adds a turn of the items from `done` on, and moves that. True if it stopped because the filter
// must grow first. An add is made part of the loop: 2 to 4 % less time for a request of ten.
//
// What is known is found out for many at once, without a branch for each, and only the others are
// added, which looks again: one may be in the request twice. A tenth less time where every other
// item is new, a sixth where none is, and no more where nearly all are.
[[gnu::flatten]] bool add_turn(Call& call, BloomFilter& filter, Items items, size_t& done,
                               ItemResults& results) {
  const Items turn = turn_of(items, done);
  HashesAhead hashes(call, filter, turn, done);
  for (Hashes some = hashes.take(); !some.empty(); some = hashes.take()) {
    const uint32_t all = ~uint32_t{0} >> (32 - some.size());
    for (uint32_t rest = all & ~filter.contained(some); rest != 0; rest &= rest - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(rest));
      const AddOutcome outcome = add_item(call, filter, some[i], items[done + i]);
      if (outcome == AddOutcome::kNeedsLayer || outcome == AddOutcome::kFull) {
        done += i;
        if (outcome == AddOutcome::kFull) results.error = kFull;
        return outcome == AddOutcome::kNeedsLayer;
      }
      results.answers[done + i] = outcome == AddOutcome::kAdded ? '1' : '0';
    }
    done += some.size();
  }
  return false;
}

void add_items(Call& call, Items items, const filters::BloomRequest& request, bool create) {
  ItemResults results{std::string(items.size(), '0'), {}};
  size_t done = 0;
  while (results.error.empty() && done < items.size()) {
    BloomFilter* filter =
        create ? find_or_create(call, request) : require_bloom(call, call.args[1], kNotFound);
    if (filter == nullptr) return;
    if (add_turn(call, *filter, items, done, results)) {
      results.error = grow_bloom(call, call.args[1]);
    } else {
      call.yield();
    }
  }
  results.answers.resize(done);
  reply_with(call, std::move(results));
}

void madd(Call& call) {
  add_items(call, call.args.subspan(2), default_bloom_request(call.engine.config), true);
}

// --- BF.INSERT ---

struct InsertOptions {
  filters::BloomRequest request;
  bool create = true;
  size_t first_item = 0;
};

// RedisBloom reads only as much of a word as it needs: any beginning of an option's name will do.
bool abbreviates(std::string_view word, std::string_view option, size_t least) {
  return word.size() >= least && word.size() <= option.size() &&
         equal_ignoring_case(word, option.substr(0, word.size()));
}

// Options with a value. False after an error reply; `known` false if it is no such option.
bool insert_value_option(Call& call, size_t i, InsertOptions& options, bool& known) {
  const std::string_view word = call.args[i];
  const bool is_capacity = abbreviates(word, "capacity", 1);
  const bool is_expansion = abbreviates(word, "expansion", 2);
  const bool is_error = abbreviates(word, "error", 1);
  known = is_capacity || is_expansion || is_error;
  if (!known) return true;
  if (i + 1 >= call.args.size()) {
    call.fail_arity();
    return false;
  }
  const std::string_view value = call.args[i + 1];
  if (is_error) {
    const auto rate = parse_real(value);
    if (!rate) call.fail("Bad error rate");
    if (rate) options.request.rate = *rate;
    return rate.has_value();
  }
  const auto number = parse_integer(value);
  if (!number) {
    call.fail(is_capacity ? "Bad capacity" : "Bad expansion");
    return false;
  }
  if (is_capacity) {
    options.request.capacity = *number;
  } else {
    options.request.expansion = *number;
  }
  return true;
}

bool parse_insert(Call& call, InsertOptions& options) {
  for (size_t i = 2; i < call.args.size(); i++) {
    const std::string_view word = call.args[i];
    if (abbreviates(word, "items", 1)) {
      options.first_item = i + 1;
      break;
    }
    bool known = false;
    if (!insert_value_option(call, i, options, known)) return false;
    if (known) {
      i++;
    } else if (abbreviates(word, "nocreate", 3)) {
      options.create = false;
    } else if (abbreviates(word, "nonscaling", 3)) {
      options.request.nonscaling = true;
    } else {
      call.fail("Unknown argument received");
      return false;
    }
  }
  if (options.first_item == 0 || options.first_item >= call.args.size()) {
    call.fail_arity();
    return false;
  }
  return true;
}

void insert(Call& call) {
  InsertOptions options{default_bloom_request(call.engine.config)};
  if (!parse_insert(call, options)) return;
  // Bad numbers are refused even when the key exists and they would be ignored.
  const auto params = filters::BloomParams::make(options.request);
  if (const auto* error = std::get_if<filters::BloomParamsError>(&params)) {
    call.fail(error_text(*error));
    return;
  }
  add_items(call, call.args.subspan(options.first_item), options.request, options.create);
}

constexpr uint32_t kAddFlags = kWrite | kDenyOom | kFast;

const CommandSpec kCommands[] = {
    {"bf.add",
     3,
     kAddFlags,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(k), where k is the number of hashes",
     "Adds an item to a Bloom filter; makes the filter if there is none",
     "key item",
     add,
     Plan::kKeyItem},
    {"bf.madd",
     -3,
     kAddFlags,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(k * n), where k is the number of hashes and n of items",
     "Adds items to a Bloom filter; makes the filter if there is none",
     "key item [item ...]",
     madd,
     Plan::kKeyItems},
    {"bf.insert",
     -4,
     kAddFlags,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(k * n), where k is the number of hashes and n of items",
     "Adds items to a Bloom filter; makes the filter as described if there is none",
     "key [CAPACITY capacity:integer] [ERROR error:double] [EXPANSION expansion:integer] "
     "[NOCREATE] [NONSCALING] ITEMS item [item ...]",
     insert},
    {"bf.exists",
     3,
     kReadonly | kFast,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(k), where k is the number of hashes",
     "Tells whether an item is in a Bloom filter",
     "key item",
     exists,
     Plan::kKeyItem},
    {"bf.mexists",
     -3,
     kReadonly | kFast,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(k * n), where k is the number of hashes and n of items",
     "Tells which items are in a Bloom filter",
     "key item [item ...]",
     mexists,
     Plan::kKeyItems},
};

}  // namespace

std::span<const CommandSpec> bloom_commands() {
  return kCommands;
}

}  // namespace iris::server
