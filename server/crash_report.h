// What is left behind when the process dies of SIGSEGV, SIGABRT and their like: the signal and a
// stack trace in the log, written with nothing but async-signal-safe calls.
#pragma once

#include <string>

namespace iris::server {

// `logfile` empty: standard output.
void install_crash_report(const std::string& logfile);

}  // namespace iris::server
