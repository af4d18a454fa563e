#include "server/commands/bloom_key.h"

#include <utility>
#include <variant>

#include "server/bloom_value.h"

namespace iris::server {

using filters::BloomFilter;
using filters::BloomParams;
using filters::BloomParamsError;

BloomKey find_bloom(Call& call, std::string_view key) {
  Value* value = find_value(call, key);
  if (value == nullptr) return {};
  switch (value->kind()) {
    case ValueKind::kBloom:
      return {BloomState::kFound, &static_cast<BloomValue*>(value)->filter()};
    case ValueKind::kBloomLoading:
      return {BloomState::kLoading, nullptr};
    default:
      return {BloomState::kOtherType, nullptr};
  }
}

BloomFilter* require_bloom(Call& call, std::string_view key, std::string_view missing) {
  const BloomKey found = find_bloom(call, key);
  switch (found.state) {
    case BloomState::kFound:
      return found.filter;
    case BloomState::kMissing:
      call.fail(missing);
      return nullptr;
    case BloomState::kOtherType:
      call.fail(kWrongType);
      return nullptr;
    case BloomState::kLoading:
      call.fail(kStillLoading);
      return nullptr;
  }
  return nullptr;
}

std::string_view error_text(BloomParamsError error) {
  switch (error) {
    case BloomParamsError::kRateOutOfRange:
      return "ERR error rate must be in the range (0.000000, 1.000000)";
    case BloomParamsError::kRateTooSmall:
      return "ERR error rate must be in the range [0.000000000001, 1.000000)";
    case BloomParamsError::kCapacityOutOfRange:
      return "ERR capacity must be in the range [1, 1099511627776]";
    case BloomParamsError::kExpansionOutOfRange:
      return "ERR expansion must be in the range [0, 32768]";
    case BloomParamsError::kNonscalingCannotExpand:
      return "Nonscaling filters cannot expand";
    case BloomParamsError::kBitsOutOfRange:
      return "ERR bits must be in the range [1, 70368744177664]";
    case BloomParamsError::kHashesOutOfRange:
      return "ERR hashes must be in the range [1, 256]";
    case BloomParamsError::kTooLarge:
      return kNoMemoryToCreate;
  }
  return "ERR bad parameters";
}

BloomFilter* create_bloom(Call& call, std::string_view key, const BloomParams& params) {
  if (!allow_new_filter(call, params.memory_bytes())) return nullptr;
  auto filter = BloomFilter::create(params, call.engine.keyspace.next_id(), call.engine.hash_seed);
  if (filter == nullptr) {
    call.fail(kNoMemoryToCreate);
    return nullptr;
  }
  BloomFilter* made = filter.get();
  put_new_filter(call, key, std::make_unique<BloomValue>(std::move(filter)));
  return made;
}

filters::BloomRequest default_bloom_request(const Config& config) {
  filters::BloomRequest request;
  request.rate = config.bf_error_rate;
  request.capacity = static_cast<int64_t>(config.bf_initial_size);
  request.default_expansion = config.bf_expansion_factor;
  request.layout = static_cast<filters::LayoutChoice>(config.bf_layout);
  return request;
}

std::string_view grow_bloom(Call& call, std::string_view key) {
  ExclusiveStep alone(call);
  const BloomKey found = find_bloom(call, key);
  // Somebody else may have made room, or taken the key away: the caller looks again.
  if (found.state != BloomState::kFound || !found.filter->layers().back().full()) return {};
  BloomFilter& filter = *found.filter;
  const auto bytes = filter.next_layer_bytes();
  if (!bytes) return "ERR Maximum expansions reached";
  if (!allow_growth(call, filter.memory_bytes(), *bytes)) return kNoMemoryToGrow;
  if (filter.grow() != filters::GrowError::kNone) return kNoMemoryToGrow;
  call.engine.journal.layer_added(filter);
  return {};
}

}  // namespace iris::server
