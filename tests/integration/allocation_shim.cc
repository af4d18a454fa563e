// Preloaded into a server: counts what its workers allocate, in the file that IRIS_TEST_ALLOCATIONS
// names. For the tests of hot_path_test.cc. What takes memory from the kernel itself (mmap) is not
// counted.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<uint64_t>* open_count() {
  const char* path = std::getenv("IRIS_TEST_ALLOCATIONS");
  const int fd = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) std::abort();
  void* memory =
      ::mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<std::atomic<uint64_t>*>(memory);
}

void count_one() {
  static std::atomic<uint64_t>* const count = open_count();
  constexpr char kWorker[] = "iris-worker";
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  if (std::strncmp(name, kWorker, sizeof kWorker - 1) == 0) count->fetch_add(1);
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" void* malloc(size_t size) {
  static const auto next = real<void* (*)(size_t)>("malloc");
  count_one();
  return next(size);
}

extern "C" void* calloc(size_t number, size_t size) {
  static const auto next = real<void* (*)(size_t, size_t)>("calloc");
  count_one();
  return next(number, size);
}

extern "C" void* realloc(void* memory, size_t size) {
  static const auto next = real<void* (*)(void*, size_t)>("realloc");
  count_one();
  return next(memory, size);
}

extern "C" void* aligned_alloc(size_t alignment, size_t size) {
  static const auto next = real<void* (*)(size_t, size_t)>("aligned_alloc");
  count_one();
  return next(alignment, size);
}

extern "C" int posix_memalign(void** memory, size_t alignment, size_t size) {
  static const auto next = real<int (*)(void**, size_t, size_t)>("posix_memalign");
  count_one();
  return next(memory, alignment, size);
}

// The allocator of the server has operators of its own, which do not go through malloc().
void* operator new(size_t size) {
  static const auto next = real<void* (*)(size_t)>("_Znwm");
  count_one();
  return next(size);
}

void* operator new[](size_t size) {
  static const auto next = real<void* (*)(size_t)>("_Znam");
  count_one();
  return next(size);
}

void* operator new(size_t size, const std::nothrow_t& tag) noexcept {
  static const auto next = real<void* (*)(size_t, const std::nothrow_t&)>("_ZnwmRKSt9nothrow_t");
  count_one();
  return next(size, tag);
}

void* operator new[](size_t size, const std::nothrow_t& tag) noexcept {
  static const auto next = real<void* (*)(size_t, const std::nothrow_t&)>("_ZnamRKSt9nothrow_t");
  count_one();
  return next(size, tag);
}

void* operator new(size_t size, std::align_val_t alignment) {
  static const auto next = real<void* (*)(size_t, std::align_val_t)>("_ZnwmSt11align_val_t");
  count_one();
  return next(size, alignment);
}

void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t& tag) noexcept {
  static const auto next = real<void* (*)(size_t, std::align_val_t, const std::nothrow_t&)>(
      "_ZnwmSt11align_val_tRKSt9nothrow_t");
  count_one();
  return next(size, alignment, tag);
}
