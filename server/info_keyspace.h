// How long the keys of a database have left, from a sample of them.
#pragma once

#include <cstdint>

#include "server/database.h"

namespace iris::server {

// The average in milliseconds of the time to live of keys that have one; 0 if none has. A key's
// place in the table is its hash, so the first ones found are as good as any.
int64_t average_ttl_ms(const Database& database, int64_t now_ms);

}  // namespace iris::server
