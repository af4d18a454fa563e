// CF.INCR, CF.DECR, CF.COUNT, CF.INCRBY, CF.MCOUNT: how often an item was counted.

#include <vector>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/commands/item_turns.h"
#include "server/commands/spectral_key.h"
#include "server/text.h"

namespace iris::server {

namespace {

using filters::SpectralFilter;
using filters::SpectralResult;
using filters::SpectralStatus;

constexpr std::string_view kBadAmount = "ERR value is not an integer or out of range";

// Amounts are in [1, 2^63-1]; 0 if it is none.
//
// No std::optional: it is written by parts and read as a whole, for which the core waits until the
// parts are in its cache. That was a twentieth of the time of CF.INCR.
uint64_t parse_amount(std::string_view text) {
  const auto number = parse_integer(text);
  return number && *number >= 1 ? static_cast<uint64_t>(*number) : 0;
}

// The amount of CF.INCR and CF.DECR, 1 if none is given. 0 after an error reply.
uint64_t amount_of(Call& call) {
  if (call.args.size() == 3) return 1;
  if (call.args.size() > 4) {
    call.fail_arity();
    return 0;
  }
  const uint64_t amount = parse_amount(call.args[3]);
  if (amount == 0) call.fail(kBadAmount);
  return amount;
}

void incr(Call& call) {
  const uint64_t amount = amount_of(call);
  if (amount == 0) return;
  const auto result = change_spectral(call, [&](SpectralFilter& filter) {
    return filter.increment(hash_of_single_item(call, filter), amount, call.engine.stripes,
                            recorder(call, filter, {&call.args[2], 1}),
                            extension_limit(call, filter));
  });
  if (result) call.reply.integer(as_integer(result->count));
}

void decr(Call& call) {
  const uint64_t amount = amount_of(call);
  if (amount == 0) return;
  SpectralFilter* filter = require_spectral(call, call.args[1], kNotFound);
  if (filter == nullptr) return;
  const SpectralResult result =
      filter->decrement(hash_of_single_item(call, *filter), amount, call.engine.stripes,
                        recorder(call, *filter, {&call.args[2], 1}));
  if (result.status == SpectralStatus::kOk) {
    call.reply.integer(as_integer(result.count));
  } else if (result.status == SpectralStatus::kAbsent) {
    call.reply.null();
  } else {
    call.fail(error_text(result.status));
  }
}

void count(Call& call) {
  const SpectralKey found = find_spectral(call, call.args[1]);
  if (found.state == SpectralState::kLoading) {
    call.fail(kSpectralStillLoading);
  } else if (found.state != SpectralState::kFound) {
    call.reply.integer(0);
  } else {
    const filters::ItemHash hash = hash_of_single_item(call, *found.filter);
    call.reply.integer(as_integer(found.filter->count(hash, call.engine.stripes)));
  }
}

// All or nothing, so it is one step however many items there are.
void incrby(Call& call) {
  const Items pairs = call.args.subspan(2);
  if (pairs.size() % 2 != 0) {
    call.fail_arity();
    return;
  }
  std::vector<filters::SpectralIncrement> increments(pairs.size() / 2);
  for (size_t i = 0; i < increments.size(); i++) {
    increments[i].amount = parse_amount(pairs[2 * i + 1]);
    if (increments[i].amount == 0) {
      call.fail(kBadAmount);
      return;
    }
  }
  std::vector<uint64_t> counts(increments.size());
  const auto result = change_spectral(call, [&](SpectralFilter& filter) {
    for (size_t i = 0; i < increments.size(); i++) {
      increments[i].hash = filter.hash(pairs[2 * i]);
      filter.prefetch(increments[i].hash);
    }
    return filter.increment_all(increments, counts, call.engine.stripes,
                                recorder(call, filter, {pairs.data(), 2}),
                                extension_limit(call, filter));
  });
  if (!result) return;
  call.reply.array(counts.size());
  for (const uint64_t each : counts) call.reply.integer(as_integer(each));
}

void mcount(Call& call) {
  std::vector<uint64_t> counts(call.args.size() - 2);
  const auto look = [&](size_t i, const SpectralFilter& filter, Hashes hashes) {
    for (const filters::ItemHash& hash : hashes) {
      counts[i++] = filter.count(hash, call.engine.stripes);
    }
  };
  if (!look_up_items(call, find_spectral, kSpectralStillLoading, look)) return;
  call.reply.array(counts.size());
  for (const uint64_t each : counts) call.reply.integer(as_integer(each));
}

constexpr uint32_t kIncrementFlags = kWrite | kDenyOom | kFast;

const CommandSpec kCommands[] = {
    {"cf.incr",
     -3,
     kIncrementFlags,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k), where k is the number of hashes",
     "Counts an item in a spectral filter; makes the filter if there is none",
     "key item [increment:integer]",
     incr,
     Plan::kKeyItem},
    {"cf.decr",
     -3,
     kWrite | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k), where k is the number of hashes",
     "Takes from the count of an item in a spectral filter",
     "key item [decrement:integer]",
     decr,
     Plan::kKeyItem},
    {"cf.count",
     3,
     kReadonly | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k), where k is the number of hashes",
     "Tells the count of an item in a spectral filter",
     "key item",
     count,
     Plan::kKeyItem},
    {"cf.incrby",
     -4,
     kIncrementFlags,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(n * (k + log(n))), where k is the number of hashes and n of items",
     "Counts items in a spectral filter, all or none; makes the filter if there is none",
     "key item increment:integer [item increment:integer ...]",
     incrby},
    {"cf.mcount",
     -3,
     kReadonly | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(k * n), where k is the number of hashes and n of items",
     "Tells the counts of items in a spectral filter",
     "key item [item ...]",
     mcount,
     Plan::kKeyItems},
};

}  // namespace

std::span<const CommandSpec> spectral_commands() {
  return kCommands;
}

}  // namespace iris::server
