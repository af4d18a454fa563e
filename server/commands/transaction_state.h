// Ending a transaction: by EXEC, DISCARD, RESET.
#pragma once

#include "server/session.h"

namespace iris::server {

void discard_transaction(Session& session);
void unwatch_all(Session& session);

}  // namespace iris::server
