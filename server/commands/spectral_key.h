// Finding, making and growing the spectral filter of a key: what all CF commands begin with.
#pragma once

#include <optional>
#include <string_view>

#include "filters/spectral_filter.h"
#include "server/commands/filter_key.h"

namespace iris::server {

using SpectralState = FilterState;

struct SpectralKey {
  SpectralState state = SpectralState::kMissing;
  filters::SpectralFilter* filter = nullptr;
};

// Looks the key up, or takes what was planned for args[1].
SpectralKey find_spectral(Call& call, std::string_view key);

// The filter, or null after an error reply: WRONGTYPE, still loading, or `missing`.
filters::SpectralFilter* require_spectral(Call& call, std::string_view key,
                                          std::string_view missing);

// What is wrong with a request, as RESP error text.
std::string_view error_text(filters::SpectralParamsError error);
// Why an item could not be counted, as RESP error text.
std::string_view error_text(filters::SpectralStatus status);

// Makes the filter of a key that is missing, in the exclusive state. Null after an error reply.
filters::SpectralFilter* create_spectral(Call& call, std::string_view key,
                                         const filters::SpectralParams& params);

// The filter of args[1], made with `request` if it is missing. Null after an error reply.
filters::SpectralFilter* find_or_create_spectral(Call& call,
                                                 const filters::SpectralRequest& request);

// Parameters of a filter that is made without CF.RESERVE, from the configuration.
filters::SpectralRequest default_spectral_request(const Config& config);

// Makes room for `new_items` in the filter of args[1], which answered kNeedsLayer. `filter` is not
// valid afterwards: look it up again. kOk if it is worth another try, otherwise why not.
filters::SpectralStatus grow_spectral(Call& call, const filters::SpectralFilter& filter,
                                      uint64_t new_items);

// What tells the journal of a change, for the operations of a filter to call.
inline auto recorder(Call& call, const filters::SpectralFilter& filter, ItemList items) {
  return [&call, &filter, items](std::span<const filters::SpectralChange> changes) {
    call.engine.journal.spectral_changed(call.member, filter, changes, items);
  };
}

// What the operations of a filter ask before the extensions of its counters take `more` bytes,
// which the filter counts already.
inline auto extension_limit(Call& call, const filters::SpectralFilter& filter) {
  return [&call, &filter](uint64_t more) {
    return allow_growth(call, filter.memory_bytes() - more, more);
  };
}

// Does `step(filter)` on the filter of args[1], which is made as the configuration says if it is
// missing, and grows as often as the step asks for it. Nothing after an error reply; otherwise the
// result is kOk or kPresent.
template <typename Step>
std::optional<filters::SpectralResult> change_spectral(Call& call, Step step) {
  using filters::SpectralStatus;
  while (true) {
    const SpectralKey found = find_spectral(call, call.args[1]);
    filters::SpectralFilter* filter = found.filter;
    if (found.state != SpectralState::kFound) {
      filter = find_or_create_spectral(call, default_spectral_request(call.engine.config));
      if (filter == nullptr) return std::nullopt;
    }
    const filters::SpectralResult result = step(*filter);
    SpectralStatus status = result.status;
    if (status == SpectralStatus::kOk || status == SpectralStatus::kPresent) return result;
    if (status == SpectralStatus::kNeedsLayer) {
      status = grow_spectral(call, *filter, result.count);
      if (status == SpectralStatus::kOk) continue;
    }
    call.fail(error_text(status));
    return std::nullopt;
  }
}

constexpr std::string_view kSpectralStillLoading =
    "ERR not found: the filter is still being loaded, CF.LOADCHUNK has not brought all of it";

}  // namespace iris::server
