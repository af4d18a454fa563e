#include "server/commands/spectral_key.h"

#include <memory>
#include <utility>
#include <variant>

#include "server/spectral_value.h"

namespace iris::server {

using filters::SpectralFilter;
using filters::SpectralParams;
using filters::SpectralParamsError;
using filters::SpectralStatus;

SpectralKey find_spectral(Call& call, std::string_view key) {
  Value* value = find_value(call, key);
  if (value == nullptr) return {};
  switch (value->kind()) {
    case ValueKind::kSpectral:
      return {SpectralState::kFound, &static_cast<SpectralValue*>(value)->filter()};
    case ValueKind::kSpectralLoading:
      return {SpectralState::kLoading, nullptr};
    default:
      return {SpectralState::kOtherType, nullptr};
  }
}

SpectralFilter* require_spectral(Call& call, std::string_view key, std::string_view missing) {
  const SpectralKey found = find_spectral(call, key);
  switch (found.state) {
    case SpectralState::kFound:
      return found.filter;
    case SpectralState::kMissing:
      call.fail(missing);
      return nullptr;
    case SpectralState::kOtherType:
      call.fail(kWrongType);
      return nullptr;
    case SpectralState::kLoading:
      call.fail(kSpectralStillLoading);
      return nullptr;
  }
  return nullptr;
}

std::string_view error_text(SpectralParamsError error) {
  switch (error) {
    case SpectralParamsError::kMaxIterationsOutOfRange:
      return "MAXITERATIONS: value must be in the range [1, 65535]";
    case SpectralParamsError::kBucketSizeOutOfRange:
      return "BUCKETSIZE: value must be in the range [1, 255]";
    case SpectralParamsError::kExpansionOutOfRange:
      return "EXPANSION: value must be in the range [0, 32768]";
    case SpectralParamsError::kCapacityOutOfRange:
      return "Capacity must be in the range [2 * BUCKETSIZE, 1099511627776]";
    case SpectralParamsError::kRateOutOfRange:
      return "ERR error rate must be in the range (0.000000, 1.000000)";
    case SpectralParamsError::kRateTooSmall:
      return "ERR error rate must be in the range [0.000001, 1.000000)";
    case SpectralParamsError::kMaxExpansionsOutOfRange:
      return "ERR max expansions must be in the range [1, 65535]";
    case SpectralParamsError::kCountersOutOfRange:
      return "ERR counters must be in the range [1, 70368744177664]";
    case SpectralParamsError::kHashesOutOfRange:
      return "ERR hashes must be in the range [1, 256]";
    case SpectralParamsError::kTooLarge:
      return kNoMemoryToCreate;
  }
  return "ERR bad parameters";
}

std::string_view error_text(SpectralStatus status) {
  switch (status) {
    case SpectralStatus::kExceeds:
      return "ERR decrement exceeds the item's count";
    case SpectralStatus::kNoDecrements:
      return "ERR decrements are not supported by a filter with policy MI";
    case SpectralStatus::kOverflow:
      return "ERR increment would overflow";
    case SpectralStatus::kFull:
      return "Filter is full";
    case SpectralStatus::kMaxExpansions:
      return "Maximum expansions reached";
    case SpectralStatus::kNoMemory:
      return kNoMemoryToGrow;
    case SpectralStatus::kOk:
    case SpectralStatus::kPresent:
    case SpectralStatus::kAbsent:
    case SpectralStatus::kNeedsLayer:
      break;  // no errors: the caller deals with them
  }
  return "ERR unexpected result";
}

SpectralFilter* create_spectral(Call& call, std::string_view key, const SpectralParams& params) {
  if (!allow_new_filter(call, params.memory_bytes())) return nullptr;
  auto filter =
      SpectralFilter::create(params, call.engine.keyspace.next_id(), call.engine.hash_seed);
  if (filter == nullptr) {
    call.fail(kNoMemoryToCreate);
    return nullptr;
  }
  SpectralFilter* made = filter.get();
  put_new_filter(call, key, std::make_unique<SpectralValue>(std::move(filter)));
  return made;
}

SpectralFilter* find_or_create_spectral(Call& call, const filters::SpectralRequest& request) {
  const std::string_view key = call.args[1];
  const SpectralKey found = find_spectral(call, key);
  if (found.state == SpectralState::kFound) return found.filter;
  if (found.state == SpectralState::kMissing) {
    const auto params = SpectralParams::make(request);
    if (const auto* error = std::get_if<SpectralParamsError>(&params)) {
      call.fail(error_text(*error));
      return nullptr;
    }
    ExclusiveStep alone(call);
    // Another worker may have been first.
    if (find_spectral(call, key).state == SpectralState::kMissing &&
        create_spectral(call, key, std::get<SpectralParams>(params)) == nullptr) {
      return nullptr;
    }
  }
  // Gone again already: as if it had been deleted just after this command.
  return require_spectral(call, key, kNotFound);
}

filters::SpectralRequest default_spectral_request(const Config& config) {
  filters::SpectralRequest request;
  request.capacity = static_cast<int64_t>(config.cf_initial_size);
  request.rate = config.cf_error_rate;
  request.expansion = config.cf_expansion_factor;
  request.bucket_size = config.cf_bucket_size;
  request.max_iterations = config.cf_max_iterations;
  request.max_expansions = config.cf_max_expansions;
  return request;
}

SpectralStatus grow_spectral(Call& call, const SpectralFilter& filter, uint64_t new_items) {
  const uint64_t id = filter.id();
  const size_t layers = filter.layer_count();
  ExclusiveStep alone(call);
  const SpectralKey found = find_spectral(call, call.args[1]);
  // Somebody else may have made room, or taken the key away: the caller looks again.
  if (found.state != SpectralState::kFound || found.filter->id() != id ||
      found.filter->layer_count() != layers) {
    return SpectralStatus::kOk;
  }
  const auto layer = found.filter->next_layer(new_items);
  if (!layer) return SpectralStatus::kMaxExpansions;
  if (!allow_growth(call, found.filter->memory_bytes(), layer->memory_bytes())) {
    return SpectralStatus::kNoMemory;
  }
  switch (found.filter->grow(new_items)) {
    case filters::GrowError::kNone:
      call.engine.journal.layer_added(*found.filter);
      return SpectralStatus::kOk;
    case filters::GrowError::kTooManyLayers:
      return SpectralStatus::kMaxExpansions;
    default:
      return SpectralStatus::kNoMemory;
  }
}

}  // namespace iris::server
