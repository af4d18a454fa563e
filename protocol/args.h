// The arguments of requests: views of the bytes that they came in.
#pragma once

#include <string_view>

#include "protocol/large_array.h"

namespace iris::protocol {

using Args = LargeArray<std::string_view>;

}  // namespace iris::protocol
