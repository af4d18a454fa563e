#include "server/reaper.h"

#include <utility>

namespace iris::server {

Reaper::Reaper() : thread_([this] { run(); }) {}

Reaper::~Reaper() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Reaper::dispose(Garbage garbage) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    heap_.push_back(std::move(garbage));
  }
  wake_.notify_one();
}

size_t Reaper::pending() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return heap_.size();
}

void Reaper::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !heap_.empty(); });
    if (heap_.empty()) return;
    std::vector<Garbage> heap = std::exchange(heap_, {});
    lock.unlock();
    heap.clear();
    lock.lock();
  }
}

}  // namespace iris::server
