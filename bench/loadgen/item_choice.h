// Which items a run asks for. Items are numbers; item_bytes.h makes the bytes of them.
//
//   uniform      each of the `items` equally often
//   Zipf         the lower its number, the more popular (the server hashes items: order is nothing)
//   sequential   each number once, counting up: what fills a filter
//
// Each thread has a choice of its own. Sequential ones interleave, thread t of T taking t, t+T, ...
#pragma once

#include <cstdint>
#include <optional>

#include "bench/loadgen/random.h"
#include "bench/loadgen/zipf.h"

namespace iris::loadgen {

enum class ItemOrder : uint8_t { kUniform, kZipf, kSequential };

struct ItemSpan {
  ItemOrder order = ItemOrder::kUniform;
  uint64_t first = 0;
  uint64_t items = 1'000'000;
  double exponent = 1;  // of Zipf
};

class ItemChoice {
 public:
  ItemChoice(const ItemSpan& span, uint32_t thread, uint32_t threads, uint64_t seed)
      : span_(span), random_(seed), next_(thread), stride_(threads) {
    if (span.order == ItemOrder::kZipf) zipf_.emplace(span.items, span.exponent);
  }

  uint64_t next() {
    if (span_.order == ItemOrder::kUniform) return span_.first + random_.below(span_.items);
    if (span_.order == ItemOrder::kZipf) return span_.first + zipf_->draw(random_) - 1;
    const uint64_t number = span_.first + next_;
    next_ += stride_;
    return number;
  }

 private:
  const ItemSpan span_;
  Random random_;
  std::optional<Zipf> zipf_;
  uint64_t next_;
  const uint64_t stride_;
};

}  // namespace iris::loadgen
