// The seam through which every byte of persistence goes to the disk and comes back: one interface,
// so that a test can fail the i-th call, cut the power, or hold writes back.
//
// Errors are values: 0 or a count means success, a negative number is -errno. Nothing is retried
// here and nothing is hidden: a short append is returned as such.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iris::persistence {

class File {
 public:
  virtual ~File() = default;

  // Appends at the end; returns how many bytes were taken, which may be fewer than all, or -errno.
  [[nodiscard]] virtual int64_t append(std::string_view bytes) = 0;
  // Makes the file longer by zeros, but leaves its end, for append(), where it is. What is appended
  // there later changes no length and no map of blocks, and is synced in about half of the time.
  [[nodiscard]] virtual int prepare(uint64_t size_bytes) = 0;
  // Reads from `offset` on; returns how many bytes came (0: the end), or -errno.
  [[nodiscard]] virtual int64_t read(uint64_t offset, std::span<char> out) = 0;
  // The content and the length are on the disk when this returns 0. After an error the kernel may
  // have dropped what was not written: never call it again on the same file.
  [[nodiscard]] virtual int sync() = 0;
  [[nodiscard]] virtual int truncate(uint64_t size_bytes) = 0;
  // With what was prepared.
  [[nodiscard]] virtual int64_t size() = 0;
  // After a sync(): what is read from now on comes from the disk. A file whose sync has once failed
  // may look whole in the kernel's memory, and be so nowhere else.
  virtual void drop_cached() {}
  // From now on whole blocks (kBlockBytes: their size, their address and where they are appended)
  // go to the disk past the kernel's memory, where the machine can do that. Others go as before.
  virtual void bypass_cache() {}

  static constexpr uint64_t kBlockBytes = 4096;
};

struct OpenedFile {
  std::unique_ptr<File> file;  // null on an error
  int error = 0;               // -errno
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // A new file with mode 0600, open for appending and reading; -EEXIST if there is one.
  [[nodiscard]] virtual OpenedFile create(const std::string& path) = 0;
  [[nodiscard]] virtual OpenedFile open_for_reading(const std::string& path) = 0;
  // An existing file, for cutting it; what is appended goes to where it was cut.
  [[nodiscard]] virtual OpenedFile open_for_repair(const std::string& path) = 0;
  // Held as long as the file is open, created if need be; -EWOULDBLOCK if another process has it.
  [[nodiscard]] virtual OpenedFile lock(const std::string& path) = 0;

  [[nodiscard]] virtual int rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual int remove(const std::string& path) = 0;
  // Names created, renamed or removed in the directory are on the disk when this returns 0.
  [[nodiscard]] virtual int sync_directory(const std::string& path) = 0;
  [[nodiscard]] virtual int list(const std::string& directory, std::vector<std::string>& names) = 0;
};

// The machine's own.
FileSystem& real_file_system();

}  // namespace iris::persistence
