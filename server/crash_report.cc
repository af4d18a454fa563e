#include "server/crash_report.h"

#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <initializer_list>

#include "server/version.h"

namespace iris::server {

namespace {

constexpr int kMaxFrames = 64;
constexpr size_t kStackBytes = 64 * 1024;

// The handler has no argument of ours, so what it needs is here, set once at start.
int report_fd = STDOUT_FILENO;
alignas(16) char handler_stack[kStackBytes];

void print(const char* text) {
  if (write(report_fd, text, std::strlen(text)) < 0) return;  // nothing else can be done
}

const char* signal_name(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGABRT:
      return "SIGABRT";
    default:
      return "a signal";
  }
}

void report_crash(int signal) {
  print("\n=== IRIS CRASH REPORT: iris-server ");
  print(kVersion);
  print(" ended by ");
  print(signal_name(signal));
  print(" ===\nStack trace:\n");
  void* frames[kMaxFrames];
  backtrace_symbols_fd(frames, backtrace(frames, kMaxFrames), report_fd);
  print("=== end of the crash report ===\n");
  // SA_RESETHAND has restored the default action: die of the signal itself, with a core dump.
  raise(signal);
}

}  // namespace

void install_crash_report(const std::string& logfile) {
  if (!logfile.empty()) {
    const int fd = open(logfile.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd >= 0) report_fd = fd;
  }
  // The first call loads a library, which a signal handler must not do.
  void* frame = nullptr;
  backtrace(&frame, 1);

  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = report_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace iris::server
