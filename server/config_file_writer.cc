#include "server/config_file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace iris::server {
namespace {

std::string failure(const char* what) {
  return std::string(what) + ": " + std::generic_category().message(errno);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// mkostemp() made the file with mode 0600; a file that is replaced hands down its own.
bool inherit_mode(int fd, const std::string& path) {
  struct stat old {};
  if (stat(path.c_str(), &old) != 0) return errno == ENOENT;
  // Only root may give files away. An owner that changes is no reason to refuse; the owner comes
  // before the mode because changing it clears bits of the mode.
  if (fchown(fd, old.st_uid, old.st_gid) != 0 && errno != EPERM) return false;
  return fchmod(fd, old.st_mode & 07777) == 0;
}

std::optional<std::string> fill(int fd, const std::string& path, std::string_view text) {
  if (!inherit_mode(fd, path)) return failure("cannot set the mode of the temporary file");
  if (!write_all(fd, text)) return failure("cannot write the temporary file");
  if (fsync(fd) != 0) return failure("cannot sync the temporary file");
  return std::nullopt;
}

std::optional<std::string> sync_folder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  std::optional<std::string> error;
  if (!synced) error = failure("the file was replaced, but its directory could not be synced");
  if (fd >= 0) close(fd);
  return error;
}

}  // namespace

std::optional<std::string> write_config_text(const std::string& path, std::string_view text) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  std::string temporary = path + ".rewrite-XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failure("cannot create a temporary file beside the configuration file");

  auto error = fill(fd, path, text);
  if (close(fd) != 0 && !error) error = failure("cannot close the temporary file");
  if (!error && rename(temporary.c_str(), path.c_str()) != 0) {
    error = failure("cannot rename the temporary file");
  }
  if (error) {
    unlink(temporary.c_str());
    return error;
  }
  return sync_folder(folder);
}

}  // namespace iris::server
