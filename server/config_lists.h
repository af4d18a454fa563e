// The directives whose values have a syntax of their own: several words, or a word that is either
// a number or a name. See config_kinds.h for what a kind is.
#pragma once

#include "server/config_kinds.h"

namespace iris::server {

extern const ValueKind kBindKind;                     // 127.0.0.1 -::1
extern const ValueKind kClientOutputBufferLimitKind;  // normal 64mb 0 0 [<class> ...]
extern const ValueKind kPercentilesKind;              // 50 99 99.9
extern const ValueKind kSaveKind;                     // 3600 1 300 100
extern const ValueKind kThreadsKind;                  // auto, or a number
extern const ValueKind kUnixSocketPermKind;           // octal

}  // namespace iris::server
