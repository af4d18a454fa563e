// The directives whose values have a syntax of their own: several words, or a word that is either
// a number or a name. See config_kinds.h for what a kind is.
#pragma once

#include "server/config_kinds.h"

namespace iris::server {

extern const DirectiveKind kBindKind;                     // 127.0.0.1 -::1
extern const DirectiveKind kClientOutputBufferLimitKind;  // normal 64mb 0 0 [<class> ...]
extern const DirectiveKind kPercentilesKind;              // 50 99 99.9
extern const DirectiveKind kSaveKind;                     // 3600 1 300 100
extern const DirectiveKind kThreadsKind;                  // auto, or a number
extern const DirectiveKind kUnixSocketPermKind;           // octal

}  // namespace iris::server
