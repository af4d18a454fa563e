// SpectralFilter::increment_all: several items as one step, all or nothing (CF.INCRBY).
//
// All stripes of all items are taken in ascending order. Then everything that could go wrong is
// done first: all new items get their places in the newest layer, every arena that may have to grow
// has its room promised, and the sum of counts is raised by the whole. Only then the record is
// logged and the cells change; from there on nothing can fail.
//
// How much room that is, is guessed first, from above: an entry of full width for every cell of
// every item. Mostly the arenas have as much. Where they do not, the blocks are gone through one by
// one to see what becomes of them: so nothing is refused, or allocated, that is not needed.
//
// An item that comes twice is one item: equal hashes are brought together, they have one home and,
// if new, one place. With policy MI the log wants the value that the cells are raised to, before
// any of them has changed: it is the count as it was, plus the amounts of the item so far. Another
// item of the slice that shares the cells may have raised them further by then; the value is right
// all the same, since it is at least the item's true count.
#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "filters/check.h"
#include "filters/spectral_filter.h"

namespace iris::filters {

class SpectralFilter::Slice {
 public:
  // `total` is the sum of all amounts.
  Slice(SpectralFilter& filter, std::span<const SpectralIncrement> items, uint64_t total)
      : filter_(filter), items_(items), total_(total), changes_(items.size()) {}
  ~Slice() {
    if (expected_ > 0) filter_.layers_.back()->items_have_come(expected_);
  }
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

  StripeSet stripes() {
    StripeSet set;
    for (const SpectralIncrement& item : items_) {
      for (size_t i = 0; i < filter_.layers_.size(); ++i) {
        filter_.layers_[i]->locate(item.hash, cells_);
        set.add(filter_.stripe_of(i, cells_));
      }
    }
    return set;
  }

  // Everything that may be refused. If it is, nothing has changed.
  SpectralResult prepare(const MayGrow& may_grow);
  void commit(std::span<uint64_t> counts, const BeforeSpectralChange& before_change);

 private:
  struct Home {
    uint32_t layer;
    uint64_t count;
  };
  Home home_of(const ItemHash& hash) {
    const auto newest = static_cast<uint32_t>(filter_.layers_.size() - 1);
    for (uint32_t i = 0; i < newest; ++i) {
      filter_.layers_[i]->locate(hash, cells_);
      if (const uint64_t count = filter_.layers_[i]->estimate(cells_); count > 0) return {i, count};
    }
    filter_.layers_[newest]->locate(hash, cells_);
    return {newest, filter_.layers_[newest]->estimate(cells_)};
  }
  uint64_t decide_changes();
  // A block that a change touches, and where.
  struct Touch {
    uint32_t layer;
    uint64_t block;
    CellSet cells;
    const SpectralChange* change;
  };
  std::optional<uint64_t> promise_guess();
  uint64_t promise_blocks();
  uint64_t promise_block(std::span<const Touch> touches);
  bool take_promised();
  void unpromise_all();
  SpectralStatus promise_all(const MayGrow& may_grow);
  void trim_all();
  SpectralLayer& located(const SpectralChange& change) {
    SpectralLayer& layer = *filter_.layers_[change.layer];
    layer.locate(change.hash, cells_);
    return layer;
  }

  // Blocks that a change may touch.
  uint64_t most_groups() const {
    return filter_.params_.explicit_dimensions() ? filter_.params_.first_layer().hashes : 1;
  }
  // Beyond so many touches, 3 MB of them, the guess must do.
  static constexpr uint64_t kMostTouches = 1 << 16;

  SpectralFilter& filter_;
  std::span<const SpectralIncrement> items_;
  const uint64_t total_;
  std::vector<SpectralChange> changes_;  // in the order of the items
  size_t first_new_ = 0;                 // carries the change of the number of items
  uint64_t expected_ = 0;                // of the newest layer: items whose cells come later
  ItemCells cells_;
};

// Fills changes_; returns how many of the items are new.
uint64_t SpectralFilter::Slice::decide_changes() {
  std::vector<uint32_t> order(items_.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [this](uint32_t i) {
    return std::tuple(items_[i].hash.low, items_[i].hash.high, i);
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  const bool raise = filter_.params_.policy() == SpectralPolicy::kMinimalIncrease;
  uint64_t new_items = 0;
  Home home{};
  for (size_t n = 0; n < order.size(); ++n) {
    const SpectralIncrement& item = items_[order[n]];
    const bool again = n > 0 && items_[order[n - 1]].hash.low == item.hash.low &&
                       items_[order[n - 1]].hash.high == item.hash.high;
    if (!again) {
      home = home_of(item.hash);
      if (home.count == 0 && new_items++ == 0) first_new_ = order[n];
    }
    home.count += item.amount;
    const SpectralEdit edit = raise ? SpectralEdit{SpectralEditKind::kRaise, home.count}
                                    : SpectralEdit{SpectralEditKind::kAdd, item.amount};
    changes_[order[n]] = {item.hash, home.layer, edit, item.amount, 0};
  }
  return new_items;
}

// The bytes that the guess misses. Nothing if a counter would leave its range: impossible while the
// sum is right; asked all the same, so that a wrong one which came from a file is an error and not
// the end.
std::optional<uint64_t> SpectralFilter::Slice::promise_guess() {
  const uint64_t largest = std::min(filter_.sum() + total_, kMaxSpectralCount);
  uint64_t more = 0;
  CellPlan plan;
  for (const SpectralChange& change : changes_) {
    SpectralLayer& layer = located(change);
    layer.plan(cells_, {SpectralEditKind::kAdd, total_}, plan);
    if (!plan.possible) return std::nullopt;
    more += layer.promise(cells_, largest);
  }
  return more;
}

// The bytes that are really missing.
uint64_t SpectralFilter::Slice::promise_blocks() {
  std::vector<Touch> touches;
  for (const SpectralChange& change : changes_) {
    located(change);
    for (uint32_t g = 0; g < cells_.count; ++g) {
      touches.push_back({change.layer, cells_.groups[g].block, cells_.groups[g].cells, &change});
    }
  }
  const auto place = [](const Touch& touch) { return std::pair(touch.layer, touch.block); };
  std::sort(touches.begin(), touches.end(),
            [&](const Touch& a, const Touch& b) { return place(a) < place(b); });
  uint64_t more = 0;
  for (auto first = touches.begin(); first != touches.end();) {
    const auto end = std::find_if(
        first, touches.end(), [&](const Touch& touch) { return place(touch) != place(*first); });
    more += promise_block({first, end});
    first = end;
  }
  return more;
}

// All of them in one block. In whichever order: they add, or they raise.
uint64_t SpectralFilter::Slice::promise_block(std::span<const Touch> touches) {
  SpectralLayer& layer = *filter_.layers_[touches[0].layer];
  const uint64_t block = touches[0].block;
  CellSet cells = CellSet::none();
  SpectralLayer::BlockValues values;
  for (const Touch& touch : touches) {
    layer.read_cells(block, touch.cells - cells, values);
    cells = cells | touch.cells;
    const SpectralEdit& edit = touch.change->edit;
    const bool raise = edit.kind == SpectralEditKind::kRaise;
    touch.cells.for_each([&](uint32_t cell) {
      values[cell] = raise ? std::max(values[cell], edit.amount) : values[cell] + edit.amount;
    });
  }
  return layer.promise_block(block, cells, values);
}

bool SpectralFilter::Slice::take_promised() {
  return std::all_of(changes_.begin(), changes_.end(), [this](const SpectralChange& change) {
    return located(change).take_promised(cells_);
  });
}

SpectralStatus SpectralFilter::Slice::promise_all(const MayGrow& may_grow) {
  std::optional<uint64_t> more = promise_guess();
  if (more && *more != 0 && changes_.size() * most_groups() <= kMostTouches) {
    unpromise_all();
    more = promise_blocks();
  }
  if (more && (*more == 0 || (may_grow(*more) && take_promised()))) return SpectralStatus::kOk;
  unpromise_all();
  return more ? SpectralStatus::kNoMemory : SpectralStatus::kOverflow;
}

void SpectralFilter::Slice::unpromise_all() {
  for (const SpectralChange& change : changes_) located(change).unpromise(cells_);
}

void SpectralFilter::Slice::trim_all() {
  for (const SpectralChange& change : changes_) located(change).trim(cells_);
}

SpectralResult SpectralFilter::Slice::prepare(const MayGrow& may_grow) {
  const uint64_t new_items = decide_changes();
  SpectralLayer& newest = *filter_.layers_.back();
  if (new_items > 0) {
    const auto added = newest.try_add_items(new_items, std::nullopt, filter_.drifting());
    if (!added) return filter_.no_place(new_items);
    expected_ = new_items;
    changes_[first_new_].items = *added;
  }
  SpectralStatus status = promise_all(may_grow);
  if (status == SpectralStatus::kOk && !filter_.raise_sum(total_)) {
    trim_all();
    status = SpectralStatus::kOverflow;
  }
  if (status != SpectralStatus::kOk && new_items > 0) {
    newest.change_items(-changes_[first_new_].items);
  }
  return {status, 0};
}

void SpectralFilter::Slice::commit(std::span<uint64_t> counts,
                                   const BeforeSpectralChange& before_change) {
  before_change(changes_);
  CellPlan plan;
  for (size_t i = 0; i < changes_.size(); ++i) {
    SpectralLayer& layer = located(changes_[i]);
    layer.plan(cells_, changes_[i].edit, plan);
    CHECK(plan.possible);
    layer.change_nonzero(plan.nonzero_change);
    layer.apply(cells_, plan);
    counts[i] = plan.after;
  }
  trim_all();
}

SpectralResult SpectralFilter::increment_all(std::span<const SpectralIncrement> items,
                                             std::span<uint64_t> counts, StripeTable& stripes,
                                             const BeforeSpectralChange& before_change,
                                             const MayGrow& may_grow) {
  CHECK(counts.size() >= items.size());
  if (items.empty()) return {SpectralStatus::kOk, 0};
  uint64_t total = 0;
  for (const SpectralIncrement& item : items) {
    total += item.amount;  // at most 2^64 - 2: both are below 2^63
    if (total > kMaxSpectralCount) return {SpectralStatus::kOverflow, 0};
  }
  return gathering(total, stripes, [&] {
    Slice slice(*this, items, total);
    StripeSetGuard guard(stripes, slice.stripes());
    const SpectralResult result = slice.prepare(may_grow);
    if (result.status == SpectralStatus::kOk) slice.commit(counts, before_change);
    return result;
  });
}

}  // namespace iris::filters
