// The log: spdlog's default logger, set up from the configuration and used directly everywhere.
//
//   4711:M 16 Nov 2026 03:10:23.123 * Ready to accept connections
//   pid                               . debug  - verbose  * notice  # warning
#pragma once

#include <string>

#include "server/config.h"

namespace iris::server {

// Writes to `logfile`, or to standard output if that is empty. An error's text, empty if all is
// well.
std::string open_log(const Config& config);
void set_log_level(LogLevel level);

}  // namespace iris::server
