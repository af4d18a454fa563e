// CHECK: an invariant of our own code, tested in release builds too. It aborts, so it must never
// depend on what a client or a file said: such input is validated and answered with an error.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace iris::filters {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace iris::filters

#define CHECK(condition)                               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::iris::filters::check_failed(#condition, __FILE__, __LINE__))
