// Spectral filters as values of keys: a filter, and a filter that CF.LOADCHUNK is still bringing
// in.
#pragma once

#include <memory>
#include <utility>

#include "filters/spectral_dump.h"
#include "filters/spectral_filter.h"
#include "server/value.h"

namespace iris::server {

class SpectralValue final : public Value {
 public:
  explicit SpectralValue(std::unique_ptr<filters::SpectralFilter> filter)
      : Value(ValueKind::kSpectral, filter->id()), filter_(std::move(filter)) {}

  filters::SpectralFilter& filter() { return *filter_; }
  const filters::SpectralFilter& filter() const { return *filter_; }

  std::string_view type_name() const override { return "spectral"; }
  std::string_view encoding() const override;
  uint64_t memory_bytes() const override { return sizeof *this + filter_->memory_bytes(); }
  uint64_t change_count() const override { return filter_->change_count(); }
  Digest digest() const override;
  std::string serialize() const override;
  std::unique_ptr<Value> copy(uint64_t id) const override;

 private:
  std::unique_ptr<filters::SpectralFilter> filter_;
};

// The filter of a value; null if that is of another kind, or null itself.
inline filters::SpectralFilter* spectral_of(Value* value) {
  return value != nullptr && value->kind() == ValueKind::kSpectral
             ? &static_cast<SpectralValue*>(value)->filter()
             : nullptr;
}

// Answers no question about counts: it becomes a SpectralValue when its last piece has come.
class LoadingSpectralValue final : public UnreadableValue {
 public:
  LoadingSpectralValue(std::unique_ptr<filters::SpectralLoader> loader, uint64_t id)
      : UnreadableValue(ValueKind::kSpectralLoading, id), loader_(std::move(loader)) {}

  filters::SpectralLoader& loader() { return *loader_; }
  const filters::SpectralLoader& loader() const { return *loader_; }

  std::string_view type_name() const override { return "spectral"; }
  std::string_view encoding() const override { return "loading"; }
  uint64_t memory_bytes() const override { return sizeof *this + loader_->memory_bytes(); }

 private:
  std::unique_ptr<filters::SpectralLoader> loader_;
};

// "blocked" or "classic".
std::string_view layout_name(filters::SpectralLayout layout);

}  // namespace iris::server
