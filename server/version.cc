#include "server/version.h"

namespace iris::server {

const char* const kVersion = IRIS_VERSION;
const char* const kRedisVersion = "7.2.4";

}  // namespace iris::server
