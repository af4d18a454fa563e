// Commands of many items work in slices: hash a slice and prefetch its blocks, then do it. So the
// waits for memory overlap, whether or not the request was planned ahead. Between turns of slices
// they let an exclusive step go first, and look the key up again if there was one.
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

constexpr size_t kSliceItems = 32;
// Items after which an exclusive step may go first.
constexpr size_t kItemsPerTurn = 1024;

using Items = std::span<const std::string_view>;

// Hashes of a slice of items, taken from the plan as far as that goes. `first` is the slice's place
// among the items of the request.
class HashedSlice {
 public:
  template <typename Filter>
  HashedSlice(const Call& call, const Filter& filter, Items items, size_t first) {
    const std::span<const filters::ItemHash> planned = call.planned_hashes();
    if (planned.size() >= first + items.size()) {
      hashes_ = planned.data() + first;
      return;
    }
    for (size_t i = 0; i < items.size(); i++) {
      own_[i] = filter.hash(items[i]);
      filter.prefetch(own_[i]);
    }
    hashes_ = own_.data();
  }
  const filters::ItemHash& operator[](size_t i) const { return hashes_[i]; }

 private:
  const filters::ItemHash* hashes_;
  std::array<filters::ItemHash, kSliceItems> own_;
};

// Looks up the items of a request that is nothing but key and items: `look(i, filter, hash)` for
// each one, unless `find(call, key)` finds no filter. False after an error reply.
template <typename Find, typename Look>
bool look_up_items(Call& call, Find find, std::string_view still_loading, Look look) {
  const Items items = call.args.subspan(2);
  for (size_t done = 0; done < items.size();) {
    const auto found = find(call, call.args[1]);
    if (found.state == FilterState::kLoading) {
      call.fail(still_loading);
      return false;
    }
    const size_t turn_end = std::min(items.size(), done + kItemsPerTurn);
    if (found.state != FilterState::kFound) done = turn_end;
    while (done < turn_end) {
      const Items slice = items.subspan(done, std::min(kSliceItems, turn_end - done));
      const HashedSlice hashes(call, *found.filter, slice, done);
      for (size_t i = 0; i < slice.size(); i++) look(done + i, *found.filter, hashes[i]);
      done += slice.size();
    }
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
  for (const char answer : results.answers) call.reply.boolean(answer == '1');
  if (!results.error.empty()) call.fail(results.error);
}

}  // namespace iris::server
