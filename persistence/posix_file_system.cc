// The machine's own files.
//
//   1. A call that a signal interrupted is made again; nothing else is.
//   2. Descriptors are never inherited by a program that is started (O_CLOEXEC), and what is
//      created belongs to its owner alone (0600): the log holds the salt that makes it unforgeable.
//   3. Appending goes to an end that the file itself keeps, since zeros may be prepared behind it.
//      Nobody else writes to the same file.
//   4. The lock is flock's: it ends with its process, however that dies, and two openings exclude
//      each other even within one process, which fcntl's locks do not.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "persistence/file_system.h"

namespace iris::persistence {

namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr char kZeros[64 * 1024] = {};

template <typename Call>
auto without_interruption(Call&& call) -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

template <typename Result>
int error_or_zero(Result result) {
  return result == -1 ? -errno : 0;
}

class PosixFile : public File {
 public:
  explicit PosixFile(int fd) : fd_(fd) {}
  ~PosixFile() override { ::close(fd_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  int64_t append(std::string_view bytes) override {
    const int64_t taken = write_at(end_, bytes);
    if (taken > 0) end_ += taken;
    return taken;
  }

  int prepare(uint64_t size_bytes) override {
    const auto size = static_cast<off_t>(size_bytes);
    for (off_t at = end_; at < size;) {
      const auto wanted = std::min<off_t>(size - at, sizeof kZeros);
      const int64_t taken = write_at(at, {kZeros, static_cast<size_t>(wanted)});
      if (taken <= 0) return taken == 0 ? -EIO : static_cast<int>(taken);
      at += taken;
    }
    return 0;
  }

  int64_t read(uint64_t offset, std::span<char> out) override {
    set_direct(false);
    const ssize_t count = without_interruption(
        [&] { return ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset)); });
    return count == -1 ? -errno : count;
  }

  // fdatasync writes the length too, and leaves out only times that nobody reads.
  int sync() override {
    return error_or_zero(without_interruption([&] { return ::fdatasync(fd_); }));
  }

  int truncate(uint64_t size_bytes) override {
    const int error = error_or_zero(
        without_interruption([&] { return ::ftruncate(fd_, static_cast<off_t>(size_bytes)); }));
    if (error == 0) end_ = static_cast<off_t>(size_bytes);
    return error;
  }

  int64_t size() override {
    struct stat status;
    return ::fstat(fd_, &status) == -1 ? -errno : static_cast<int64_t>(status.st_size);
  }

  // A hint, but one that Linux takes for pages that are clean.
  void drop_cached() override {
    static_cast<void>(::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED));
  }

  void bypass_cache() override { bypasses_cache_ = true; }

  int take_lock() {
    return error_or_zero(without_interruption([&] { return ::flock(fd_, LOCK_EX | LOCK_NB); }));
  }

 private:
  int64_t write_at(off_t offset, std::string_view bytes) {
    set_direct(bypasses_cache_ && are_whole_blocks(offset, bytes));
    const ssize_t taken =
        without_interruption([&] { return ::pwrite(fd_, bytes.data(), bytes.size(), offset); });
    if (taken == -1 && errno == EINVAL && direct_) {  // the disk has larger blocks
      bypasses_cache_ = false;
      return write_at(offset, bytes);
    }
    return taken == -1 ? -errno : taken;
  }

  static bool are_whole_blocks(off_t offset, std::string_view bytes) {
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    return (address | bytes.size() | static_cast<uint64_t>(offset)) % kBlockBytes == 0;
  }

  // Not every file system can; then all goes through the kernel's memory.
  void set_direct(bool direct) {
    if (direct == direct_) return;
    const int flags = ::fcntl(fd_, F_GETFL);
    if (::fcntl(fd_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0) {
      direct_ = direct;
    } else {
      bypasses_cache_ = false;
    }
  }

  const int fd_;
  off_t end_ = 0;
  bool bypasses_cache_ = false;
  bool direct_ = false;  // what the descriptor is set to
};

int open_descriptor(const std::string& path, int flags) {
  return without_interruption([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kOwnerOnly); });
}

OpenedFile open_file(const std::string& path, int flags) {
  const int fd = open_descriptor(path, flags);
  if (fd == -1) return {.file = nullptr, .error = -errno};
  return {.file = std::make_unique<PosixFile>(fd), .error = 0};
}

class PosixFileSystem : public FileSystem {
 public:
  OpenedFile create(const std::string& path) override {
    return open_file(path, O_RDWR | O_CREAT | O_EXCL);
  }

  OpenedFile open_for_reading(const std::string& path) override {
    return open_file(path, O_RDONLY);
  }

  OpenedFile open_for_repair(const std::string& path) override { return open_file(path, O_RDWR); }

  OpenedFile lock(const std::string& path) override {
    const int fd = open_descriptor(path, O_RDWR | O_CREAT);
    if (fd == -1) return {.file = nullptr, .error = -errno};
    auto file = std::make_unique<PosixFile>(fd);
    if (const int error = file->take_lock(); error != 0) return {.file = nullptr, .error = error};
    return {.file = std::move(file), .error = 0};
  }

  int rename(const std::string& from, const std::string& to) override {
    return error_or_zero(::rename(from.c_str(), to.c_str()));
  }

  int remove(const std::string& path) override { return error_or_zero(::unlink(path.c_str())); }

  int sync_directory(const std::string& path) override {
    const int fd = open_descriptor(path, O_RDONLY | O_DIRECTORY);
    if (fd == -1) return -errno;
    const int error = error_or_zero(without_interruption([&] { return ::fsync(fd); }));
    ::close(fd);
    return error;
  }

  int list(const std::string& directory, std::vector<std::string>& names) override {
    DIR* stream = ::opendir(directory.c_str());
    if (stream == nullptr) return -errno;
    names.clear();
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    const int error = -errno;
    ::closedir(stream);
    return error;
  }
};

}  // namespace

FileSystem& real_file_system() {
  static PosixFileSystem files;
  return files;
}

}  // namespace iris::persistence
