#include "server/bloom_value.h"

#include <cstring>

#include "filters/bloom_dump.h"

namespace iris::server {

std::string_view layout_name(filters::BloomLayout layout) {
  switch (layout) {
    case filters::BloomLayout::kBlocked:
      return "blocked";
    case filters::BloomLayout::kPaged:
      return "paged";
    case filters::BloomLayout::kClassic:
      return "classic";
    case filters::BloomLayout::kExplicit:
      return "explicit";
  }
  return "unknown";
}

std::string_view BloomValue::encoding() const {
  return layout_name(filter_->layers().back().geometry().layout);
}

Value::Digest BloomValue::digest() const {
  const filters::ContentDigest content = filter_->digest();
  Digest digest{};
  std::memcpy(digest.data(), &content.low, sizeof content.low);
  std::memcpy(digest.data() + sizeof content.low, &content.high, sizeof content.high);
  return digest;
}

std::string BloomValue::serialize() const {
  return filters::serialize(*filter_);
}

std::unique_ptr<Value> BloomValue::copy(uint64_t id) const {
  std::unique_ptr<filters::BloomFilter> filter = filter_->clone(id);
  return filter == nullptr ? nullptr : std::make_unique<BloomValue>(std::move(filter));
}

}  // namespace iris::server
