// Preloaded into a server: whatever it does with the log takes for ever as long as the file that
// IRIS_TEST_HOLD names exists. For the tests of slow_disk_test.cc.
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_log(int fd) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, path, sizeof path - 1);
  if (size < 4) return false;
  path[size] = 0;
  return std::strcmp(path + size - 4, ".log") == 0;
}

void wait_while_held(int fd) {
  const char* hold = std::getenv("IRIS_TEST_HOLD");
  struct stat status {};
  if (hold == nullptr || !is_log(fd)) return;
  while (::stat(hold, &status) == 0) ::usleep(2000);
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
  wait_while_held(fd);
  return next(fd, bytes, size);
}

extern "C" ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  wait_while_held(fd);
  return next(fd, bytes, size, offset);
}

extern "C" ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  static const auto next = real<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  wait_while_held(fd);
  return next(fd, bytes, size, offset);
}

extern "C" int fdatasync(int fd) {
  static const auto next = real<int (*)(int)>("fdatasync");
  wait_while_held(fd);
  return next(fd);
}
