#pragma once

namespace iris::server {

extern const char* const kVersion;
// What clients gate features on.
extern const char* const kRedisVersion;

}  // namespace iris::server
