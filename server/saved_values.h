// Values out of saved bytes: what a snapshot, or a record of the log, says that a key held.
//
// They go through the same constructors as those of RESERVE, LOADCHUNK and RESTORE, so bytes that
// are not valid make no value. Memory is not limited: a server must be able to load what it saved,
// whatever the limits are by now.
//
// `kind` is one of the kinds of value in change_words.h. Null means that the bytes are wrong, or
// that the memory cannot be had.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "server/value.h"

namespace iris::server {

// A filter with what its header says, and empty cells.
std::unique_ptr<Value> value_from_header(std::string_view kind, std::string_view header,
                                         uint64_t id);
// A whole filter, from what serialize() made.
std::unique_ptr<Value> value_from_text(std::string_view kind, std::string_view text, uint64_t id);
// Stands for what was deleted before it was saved.
std::unique_ptr<Value> hollow_value(uint64_t id);

// A load as LOADCHUNK does it. The loading value has an id of its own; the filter that it will
// become has `filter_id`.
std::unique_ptr<Value> start_of_load(std::string_view kind, std::string_view header, uint64_t id,
                                     uint64_t filter_id);
// False: the piece does not fit, or `value` is no load.
[[nodiscard]] bool load(Value& value, int64_t iterator, std::string_view piece);
// The filter of a load that is complete; null if it is not.
std::unique_ptr<Value> loaded_filter(Value& value);

}  // namespace iris::server
