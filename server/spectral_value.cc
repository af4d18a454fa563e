#include "server/spectral_value.h"

#include <cstring>

namespace iris::server {

std::string_view layout_name(filters::SpectralLayout layout) {
  switch (layout) {
    case filters::SpectralLayout::kBlocked:
      return "blocked";
    case filters::SpectralLayout::kClassic:
      return "classic";
  }
  return "unknown";
}

std::string_view SpectralValue::encoding() const {
  return layout_name(filter_->params().first_layer().layout);
}

Value::Digest SpectralValue::digest() const {
  const filters::ContentDigest content = filter_->digest();
  Digest digest{};
  std::memcpy(digest.data(), &content.low, sizeof content.low);
  std::memcpy(digest.data() + sizeof content.low, &content.high, sizeof content.high);
  return digest;
}

std::string SpectralValue::serialize() const {
  return filters::serialize(*filter_);
}

std::unique_ptr<Value> SpectralValue::copy(uint64_t id) const {
  std::unique_ptr<filters::SpectralFilter> filter = filter_->clone(id);
  return filter == nullptr ? nullptr : std::make_unique<SpectralValue>(std::move(filter));
}

}  // namespace iris::server
