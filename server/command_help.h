// HELP of a container command (CONFIG HELP, CLIENT HELP ...), made from the table.
#pragma once

#include <string>

#include "server/call.h"

namespace iris::server {

// "config" -> "CONFIG".
std::string upper_case_name(const Command& command);

// The handler of every HELP subcommand.
void reply_with_help(Call& call);

}  // namespace iris::server
