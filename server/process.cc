#include "server/process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "server/log.h"

namespace iris::server {

namespace {

// Descriptors that are not clients: listeners, loops, the log, files.
constexpr uint32_t kOwnDescriptors = 64;

// Quota in cores, rounded up; 0: none.
uint32_t cgroup_quota() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period) {
    if (quota == "max" || period <= 0) return 0;
  } else {
    std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period) || period <= 0) return 0;
  }
  const double cores = std::atof(quota.c_str()) / period;
  return cores <= 0 ? 0 : static_cast<uint32_t>(cores + 0.999);
}

}  // namespace

void go_into_background() {
  if (fork() != 0) std::exit(0);
  setsid();
  const int null = open("/dev/null", O_RDWR);
  if (null < 0) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  if (null > STDERR_FILENO) close(null);
}

PidFile::PidFile(const Config& config) {
  if (config.pidfile.empty() && !config.daemonize) return;
  path_ = config.pidfile.empty() ? kDefaultPidfile : config.pidfile;
  std::ofstream file(path_);
  file << getpid() << "\n";
  file.close();
  if (!file) {
    log_warning("Cannot write the pid file {}", path_);
    path_.clear();
  }
}

PidFile::~PidFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

void notify_service_manager(Supervised supervised, const char* state) {
  if (supervised == Supervised::kNo) return;
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) {
    if (supervised == Supervised::kSystemd) {
      log_warning("supervised systemd, but NOTIFY_SOCKET is not set");
    }
    return;
  }
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // an abstract socket
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  if (sendto(fd, state, std::strlen(state), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address),
             size) < 0) {
    log_warning("Cannot notify the service manager: {}", std::strerror(errno));
  }
  close(fd);
}

uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint32_t cores = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cores = static_cast<uint32_t>(CPU_COUNT(&set));
  const uint32_t quota = cgroup_quota();
  if (quota > 0) cores = std::min(cores, quota);
  return std::max(cores, 1u);
}

uint32_t reserve_descriptors(uint32_t maxclients) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return maxclients;
  const rlim_t wanted = static_cast<rlim_t>(maxclients) + kOwnDescriptors;
  if (limit.rlim_cur >= wanted) return maxclients;
  rlimit raised{std::min(wanted, limit.rlim_max), limit.rlim_max};
  // The superuser may pass the hard limit too.
  rlimit beyond{wanted, std::max(wanted, limit.rlim_max)};
  if (setrlimit(RLIMIT_NOFILE, &beyond) == 0) return maxclients;
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0) raised.rlim_cur = limit.rlim_cur;
  const rlim_t clients = raised.rlim_cur > kOwnDescriptors ? raised.rlim_cur - kOwnDescriptors : 1;
  const auto fitting = static_cast<uint32_t>(std::min<rlim_t>(clients, maxclients));
  if (fitting < maxclients) {
    log_warning("The limit of open files ({}) allows {} clients only, not maxclients {}",
                raised.rlim_cur, fitting, maxclients);
  }
  return fitting;
}

}  // namespace iris::server
