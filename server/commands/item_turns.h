// Commands of many items hash them and prefetch their blocks some items before they use them, so
// that the waits for memory overlap with work, whether or not the request was planned ahead. They
// work in turns: between two of them an exclusive step may go first, and then the key is looked up
// again.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "filters/item_hash.h"
#include "server/call.h"
#include "server/commands/filter_key.h"

namespace iris::server {

// Items after which an exclusive step may go first.
constexpr size_t kItemsPerTurn = 1024;

using Items = std::span<const std::string_view>;
using Hashes = std::span<const filters::ItemHash>;

// The items of one turn from `first` on, of all that the request has.
inline Items turn_of(Items all, size_t first) {
  return all.subspan(first, std::min(kItemsPerTurn, all.size() - first));
}

// The hashes of a turn's items, some at a time, from the plan if that has all of them. `first` is
// the turn's place among the items of the request.
//
// Eight are hashed, then eight prefetched, while the eight before them are used. In a row, because
// a prefetch holds up what follows until its address is translated, and several walk the page
// tables side by side: one between any two items took a fifth longer. Not many more, because they
// need a place each among the core's misses.
template <typename Filter>
class HashesAhead {
 public:
  HashesAhead(const Call& call, const Filter& filter, Items turn, size_t first)
      : filter_(filter), items_(turn) {
    const std::span<const filters::ItemHash> planned = call.planned_hashes();
    if (planned.size() >= first + turn.size()) {
      planned_ = planned.data() + first;
      return;
    }
    prepare(0);
  }

  // Of the next items, at most kMostTaken; none if there are no more.
  Hashes take() {
    const size_t first = next_;
    next_ = std::min(first + (planned_ != nullptr ? kMostTaken : kTogether), items_.size());
    if (planned_ != nullptr) return {planned_ + first, next_ - first};
    prepare(next_);
    return {own_.data() + first % own_.size(), next_ - first};
  }

 private:
  static constexpr size_t kTogether = 8;
  static constexpr size_t kMostTaken = 32;  // as many as a filter looks up side by side

  // Those from `first` on.
  void prepare(size_t first) {
    const size_t end = std::min(first + kTogether, items_.size());
    for (size_t i = first; i < end; i++) own_[i % own_.size()] = filter_.hash(items_[i]);
    for (size_t i = first; i < end; i++) filter_.prefetch(own_[i % own_.size()]);
  }

  const Filter& filter_;
  const Items items_;
  size_t next_ = 0;
  const filters::ItemHash* planned_ = nullptr;
  std::array<filters::ItemHash, 2 * kTogether> own_;
};

// Looks up the items of a request that is nothing but key and items: `look(first, filter, hashes)`
// for some at a time, `first` being the place of the first one, unless `find(call, key)` finds no
// filter. False after an error reply.
template <typename Find, typename Look>
bool look_up_items(Call& call, Find find, std::string_view still_loading, Look look) {
  const Items items = call.args.subspan(2);
  for (size_t done = 0; done < items.size();) {
    const auto found = find(call, call.args[1]);
    if (found.state == FilterState::kLoading) {
      call.fail(still_loading);
      return false;
    }
    const Items turn = turn_of(items, done);
    if (found.state == FilterState::kFound) {
      HashesAhead hashes(call, *found.filter, turn, done);
      size_t first = done;
      for (Hashes some = hashes.take(); !some.empty(); some = hashes.take()) {
        look(first, *found.filter, some);
        first += some.size();
      }
    }
    done += turn.size();
    call.yield();
  }
  return true;
}

template <typename Filter>
filters::ItemHash hash_of_single_item(const Call& call, const Filter& filter) {
  const std::span<const filters::ItemHash> planned = call.planned_hashes();
  return planned.empty() ? filter.hash(call.args[2]) : planned[0];
}

// The results of a command of many items: a byte each, and perhaps an error that ended it early.
struct ItemResults {
  std::string answers;  // '1' or '0'
  std::string_view error;
};

inline void reply_with(Call& call, ItemResults results) {
  const size_t count = results.answers.size() + (results.error.empty() ? 0 : 1);
  call.reply.array(count);
  if (call.reply_compactly(results.answers, results.error)) return;
  call.reply.booleans(results.answers);
  if (!results.error.empty()) call.fail(results.error);
}

}  // namespace iris::server
