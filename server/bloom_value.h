// Bloom filters as values of keys: a filter, and a filter that BF.LOADCHUNK is still bringing in.
#pragma once

#include <memory>
#include <utility>

#include "filters/bloom_filter.h"
#include "filters/bloom_loader.h"
#include "server/value.h"

namespace iris::server {

class BloomValue final : public Value {
 public:
  explicit BloomValue(std::unique_ptr<filters::BloomFilter> filter)
      : Value(ValueKind::kBloom, filter->id()), filter_(std::move(filter)) {}

  filters::BloomFilter& filter() { return *filter_; }
  const filters::BloomFilter& filter() const { return *filter_; }

  std::string_view type_name() const override { return "bloom"; }
  std::string_view encoding() const override;
  uint64_t memory_bytes() const override { return sizeof *this + filter_->memory_bytes(); }
  uint64_t change_count() const override { return filter_->change_count(); }
  Digest digest() const override;
  std::string serialize() const override;
  std::unique_ptr<Value> copy(uint64_t id) const override;

 private:
  std::unique_ptr<filters::BloomFilter> filter_;
};

// The filter of a value; null if that is of another kind, or null itself.
inline filters::BloomFilter* bloom_of(Value* value) {
  return value != nullptr && value->kind() == ValueKind::kBloom
             ? &static_cast<BloomValue*>(value)->filter()
             : nullptr;
}

// Answers no question about membership: it becomes a BloomValue when its last byte has come.
class LoadingBloomValue final : public UnreadableValue {
 public:
  LoadingBloomValue(std::unique_ptr<filters::BloomLoader> loader, uint64_t id)
      : UnreadableValue(ValueKind::kBloomLoading, id), loader_(std::move(loader)) {}

  filters::BloomLoader& loader() { return *loader_; }
  const filters::BloomLoader& loader() const { return *loader_; }

  std::string_view type_name() const override { return "bloom"; }
  std::string_view encoding() const override { return "loading"; }
  uint64_t memory_bytes() const override { return sizeof *this + loader_->memory_bytes(); }

 private:
  std::unique_ptr<filters::BloomLoader> loader_;
};

// "blocked", "paged", "classic" or "explicit".
std::string_view layout_name(filters::BloomLayout layout);

}  // namespace iris::server
