// What `appendfsync always` costs on a machine before a server does anything of its own: this one
// parses nothing and keeps nothing in memory. It answers ":1" to every so many bytes of a
// connection when a record for each has been written to a file and synced.
//
//     sync_floor PORT REQUEST_BYTES FILE
//
// As in Iris, one thread serves the sockets and another the disk; one sync serves all who wait, and
// it begins when no more requests are there to be read. The file is written ahead with zeros, so
// that a sync has no new length to write.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr size_t kRecordBytes = 52;  // of an item of 12 bytes in Iris's log
constexpr off_t kFileBytes = off_t{512} << 20;
constexpr std::string_view kAnswer = ":1\r\n";

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

// Writes and syncs what was asked for, on a thread of its own, and says so through an eventfd.
class Disk {
 public:
  Disk(const char* path, int wake)
      : fd_(::open(path, O_RDWR | O_CREAT | O_TRUNC, 0600)), wake_(wake) {
    if (fd_ == -1) fail(path);
    const std::vector<char> zeros(1 << 20);
    for (off_t at = 0; at < kFileBytes; at += static_cast<off_t>(zeros.size())) {
      if (::pwrite(fd_, zeros.data(), zeros.size(), at) == -1) fail(path);
    }
    if (::fsync(fd_) == -1) fail(path);
    std::thread([this] { run(); }).detach();
  }

  bool busy() const { return asked_ > durable(); }
  uint64_t durable() const { return durable_.load(std::memory_order_acquire); }
  void ask(uint64_t requests) {
    {
      const std::lock_guard guard(mutex_);
      asked_ = requests;
    }
    condition_.notify_one();
  }

 private:
  void run() {
    std::string records;
    for (uint64_t done = 0;;) {
      uint64_t wanted = 0;
      {
        std::unique_lock lock(mutex_);
        condition_.wait(lock, [&] { return asked_ > done; });
        wanted = asked_;
      }
      records.resize((wanted - done) * kRecordBytes, 'x');
      if (end_ + static_cast<off_t>(records.size()) > kFileBytes) end_ = 0;
      if (::pwrite(fd_, records.data(), records.size(), end_) == -1) fail("write");
      if (::fdatasync(fd_) == -1) fail("fdatasync");
      end_ += static_cast<off_t>(records.size());
      done = wanted;
      durable_.store(done, std::memory_order_release);
      const uint64_t one = 1;
      if (::write(wake_, &one, sizeof one) == -1) fail("eventfd");
    }
  }

  const int fd_;
  const int wake_;
  off_t end_ = 0;
  std::mutex mutex_;
  std::condition_variable condition_;
  uint64_t asked_ = 0;  // requests since the start; changed only by the thread of the sockets
  std::atomic<uint64_t> durable_{0};
};

class Server {
 public:
  Server(uint16_t port, size_t request_bytes, const char* path)
      : request_bytes_(request_bytes), disk_(path, wake_), listener_(listening(port)) {
    watch(listener_);
    watch(wake_);
  }

  void run() {
    for (;;) {
      std::array<epoll_event, 256> events;
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < count; i++) serve(events[static_cast<size_t>(i)].data.fd);
      answer();
      epoll_event more;
      if (requests_ > disk_.durable() && !disk_.busy() && ::epoll_wait(epoll_, &more, 1, 0) == 0) {
        disk_.ask(requests_);
      }
    }
  }

 private:
  struct Waiting {
    uint64_t after;  // that many requests are durable
    int fd;
    size_t answers;
  };

  static int listening(uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == -1) fail("bind");
    if (::listen(fd, 511) == -1) fail("listen");
    return fd;
  }

  void watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == -1) fail("epoll_ctl");
  }

  void serve(int fd) {
    if (fd == wake_) {
      uint64_t count = 0;
      if (::read(wake_, &count, sizeof count) == -1) fail("eventfd");
    } else if (fd == listener_) {
      const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
      if (accepted == -1) return;
      const int yes = 1;
      ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      unfinished_[accepted] = 0;
      watch(accepted);
    } else {
      receive(fd);
    }
  }

  void receive(int fd) {
    std::array<char, 64 * 1024> bytes;
    const ssize_t size = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (size <= 0) {
      unfinished_.erase(fd);
      ::close(fd);
      return;
    }
    size_t& unfinished = unfinished_[fd];
    unfinished += static_cast<size_t>(size);
    const size_t requests = unfinished / request_bytes_;
    unfinished %= request_bytes_;
    requests_ += requests;
    if (requests > 0) waiting_.push_back({requests_, fd, requests});
  }

  void answer() {
    std::string text;
    for (; !waiting_.empty() && waiting_.front().after <= disk_.durable(); waiting_.pop_front()) {
      const Waiting& next = waiting_.front();
      text.clear();
      for (size_t i = 0; i < next.answers; i++) text += kAnswer;
      // A client that is gone gets no answer.
      static_cast<void>(::send(next.fd, text.data(), text.size(), MSG_NOSIGNAL));
    }
  }

  const size_t request_bytes_;
  const int epoll_ = ::epoll_create1(0);
  const int wake_ = ::eventfd(0, EFD_NONBLOCK);
  Disk disk_;
  const int listener_;
  uint64_t requests_ = 0;
  std::unordered_map<int, size_t> unfinished_;  // bytes of a request, by connection
  std::deque<Waiting> waiting_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: sync_floor PORT REQUEST_BYTES FILE\n");
    return 2;
  }
  const int port = std::atoi(argv[1]);
  const int request_bytes = std::atoi(argv[2]);
  if (port < 1 || port > 65535 || request_bytes < 1) {
    std::fprintf(stderr, "sync_floor: allowed are ports from 1 to 65535 and 1 byte or more\n");
    return 2;
  }
  Server(static_cast<uint16_t>(port), static_cast<size_t>(request_bytes), argv[3]).run();
}
