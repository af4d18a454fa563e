// The log: what the server says of itself, through spdlog's default logger.
//
//   4711:M 16 Nov 2026 03:10:23.123 * Ready to accept connections
//   pid                               . debug  - verbose  * notice  # warning
//
//   log_warning("Cannot write the pid file {}", path);
//
// spdlog itself is included by log.cc only: its headers cost each file that includes them five
// seconds of compiling, fmt's core a tenth of that.
#pragma once

#include <string>

#include <fmt/core.h>

#include "server/config.h"

namespace iris::server {

// Writes to `logfile`, or to standard output if that is empty. An error's text, empty if all is
// well.
std::string open_log(const Config& config);
void set_log_level(LogLevel level);
void silence_log();

void write_log(LogLevel level, fmt::string_view format, fmt::format_args arguments);

template <typename... Arguments>
void log_debug(fmt::format_string<Arguments...> format, const Arguments&... arguments) {
  write_log(LogLevel::kDebug, format, fmt::make_format_args(arguments...));
}

template <typename... Arguments>
void log_verbose(fmt::format_string<Arguments...> format, const Arguments&... arguments) {
  write_log(LogLevel::kVerbose, format, fmt::make_format_args(arguments...));
}

template <typename... Arguments>
void log_notice(fmt::format_string<Arguments...> format, const Arguments&... arguments) {
  write_log(LogLevel::kNotice, format, fmt::make_format_args(arguments...));
}

template <typename... Arguments>
void log_warning(fmt::format_string<Arguments...> format, const Arguments&... arguments) {
  write_log(LogLevel::kWarning, format, fmt::make_format_args(arguments...));
}

}  // namespace iris::server
