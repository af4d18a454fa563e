// The kinds of change that the log knows: the first word of each. Written by journal.cc, read by
// replay.cc, explained in docs/persistence.md. They are in files: never give one another meaning.
#pragma once

#include <string_view>

namespace iris::server::change {

// On a filter, found by its id.
inline constexpr std::string_view kBloomAdd = "bf.add";          // id layer item
inline constexpr std::string_view kBloomLayer = "bf.layer";      // id header
inline constexpr std::string_view kSpectralAdd = "cf.add";       // id (layer by items item)...
inline constexpr std::string_view kSpectralSubtract = "cf.sub";  // id (layer by items item)...
inline constexpr std::string_view kSpectralRaise = "cf.raise";   // id (layer to sum items item)...
inline constexpr std::string_view kSpectralLayer = "cf.layer";   // id header

// On keys. `expire` is a time in ms, or -1.
inline constexpr std::string_view kNew = "key.new";          // db key expire id kind header
inline constexpr std::string_view kRestore = "key.restore";  // db key expire id kind text
inline constexpr std::string_view kCopy = "key.copy";        // db key expire id source
inline constexpr std::string_view kMerge = "key.merge";      // db key expire id source...
inline constexpr std::string_view kBegin = "key.begin";      // db key expire id filter kind header
inline constexpr std::string_view kLoad = "key.load";        // id iterator piece
inline constexpr std::string_view kLoaded = "key.loaded";    // db key expire id loading
inline constexpr std::string_view kDelete = "key.del";       // db key
inline constexpr std::string_view kExpire = "key.expire";    // db key expire
inline constexpr std::string_view kMove = "key.move";        // db key db key
inline constexpr std::string_view kFlush = "db.flush";       // db
inline constexpr std::string_view kSwap = "db.swap";         // db db

// Kinds of value.
inline constexpr std::string_view kBloom = "bloom";
inline constexpr std::string_view kSpectral = "spectral";

}  // namespace iris::server::change
