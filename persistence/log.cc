// The log's thread, and when it does what.
//
//     append()  --- first record pending, or 1 MB ---> wake
//     hurry(), cut(), covered_by_snapshot(), stop() -> wake
//
//     the thread:  sleep until something is due, then one step():
//       write   1 MB is pending, the oldest pending record is 10 ms old, somebody hurries, or a cut
//               waits. After a failed write: a second later, or when a cut or the end wants it
//       sync    always: after each write. everysec: the oldest unsynced record is 900 ms old, or
//               somebody hurries. never: only where a segment ends
//       tell    publish the numbers, call the listener if there is news
//
// Invariants
//   1. No wake-up is lost. `sleeping_` is set before the thread looks at what is due for the last
//      time; who makes something due does that before looking at `sleeping_`. Either the thread
//      sees it or it is seen sleeping. (For append() the buffer's lock orders the two.)
//   2. The writer belongs to the thread alone while it runs. Others leave requests under mutex_ and
//      wait for done_; what they read are atomics, or texts under mutex_.
//   3. durable_ never goes back.
#include "persistence/log.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "filters/check.h"
#include "persistence/log_writer.h"
#include "persistence/old_segments.h"

namespace iris::persistence {

namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1000 * kMillisecond;
// Long enough that a stream of small writes is gathered, short against a second.
constexpr int64_t kGatherTime = 10 * kMillisecond;
// Leaves a sync 100 ms until the promise of one second is broken.
constexpr int64_t kSyncAge = 900 * kMillisecond;
constexpr int64_t kLateAge = kSecond;
constexpr int64_t kRetryTime = kSecond;
// With kAlways append() wakes nobody, since a hurry() follows. Should none follow (an expired key
// that no client asked for), the thread looks by itself.
constexpr int64_t kLookTime = 100 * kMillisecond;
constexpr int64_t kFarAway = INT64_MAX;

const LogClock& machine_clock() {
  static const LogClock clock;
  return clock;
}

}  // namespace

class Log::Impl {
 public:
  Impl(FileSystem& files, std::string directory, uint64_t hash_seed, Lsn last_lsn,
       LogListener& listener, LogOptions options)
      : options_(options),
        clock_(options.clock != nullptr ? *options.clock : machine_clock()),
        listener_(listener),
        buffer_(clock_, last_lsn),
        old_segments_(files, directory),
        writer_(files, std::move(directory), hash_seed, last_lsn, buffer_, old_segments_),
        durable_(last_lsn) {}

  ~Impl() {
    if (thread_.joinable()) end_thread();
  }

  std::string start(SyncPolicy policy, LogBase base);
  std::string stop();
  void set_policy(SyncPolicy policy);

  bool recording() const { return recording_.load(std::memory_order_acquire); }
  Lsn append(std::string_view record);
  Lsn end() const { return buffer_.end(); }
  Lsn durable() const { return durable_.load(std::memory_order_acquire); }
  bool backlogged() const;
  void hurry();
  bool sync_is_late() const;

  bool failing() const { return failing_.load(std::memory_order_acquire); }
  std::string failure() const;
  bool needs_snapshot() const { return needs_snapshot_.load(std::memory_order_acquire); }

  Lsn cut();
  std::string wait_for_cut();
  void covered_by_snapshot(Lsn lsn);
  LogStatus status() const;

  void step();

 private:
  void run();
  void end_thread();
  void wake();
  int64_t next_due(int64_t now);
  bool write_is_due(int64_t now);
  bool sync_is_due(int64_t now) const;
  void timed_sync();
  void take_requests();
  void publish();
  bool news();
  SyncPolicy policy() const { return policy_.load(std::memory_order_relaxed); }

  const LogOptions options_;
  const LogClock& clock_;
  LogListener& listener_;
  LogBuffer buffer_;
  OldSegments old_segments_;

  // Of the log's thread (invariant 2).
  LogWriter writer_;
  int64_t retry_at_ = 0;
  bool hurried_ = false;  // a sync is wanted and has not been made yet

  std::thread thread_;
  bool started_before_ = false;
  std::atomic<bool> recording_{false};
  std::atomic<SyncPolicy> policy_{SyncPolicy::kEverySecond};

  std::atomic<bool> sleeping_{false};
  std::atomic<bool> hurry_{false};
  std::atomic<bool> quit_{false};
  mutable std::atomic<bool> parked_{false};  // somebody was told of a backlog

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Lsn covered_wanted_ = 0;
  uint64_t covered_requests_ = 0;
  uint64_t covered_done_ = 0;
  uint64_t cuts_finished_ = 0;
  std::string cut_error_;
  std::string failure_;

  std::atomic<Lsn> durable_;
  std::atomic<bool> failing_{false};
  std::atomic<bool> needs_snapshot_{false};
  std::atomic<int64_t> not_durable_since_ns_{0};
  std::atomic<Lsn> segment_first_{0};
  std::atomic<uint64_t> segment_bytes_{0};
  std::atomic<uint64_t> delayed_syncs_{0};
  std::atomic<int64_t> last_sync_us_{0};
};

std::string Log::Impl::start(SyncPolicy policy, LogBase base) {
  CHECK(!recording());
  policy_.store(policy, std::memory_order_relaxed);
  const bool unrecorded = started_before_ || base == LogBase::kUnrecordedChanges;
  if (!started_before_) {
    if (const int error = old_segments_.find(end()); error != 0) {
      return disk_error_text("listing the log", error, "data directory");
    }
  }
  if (unrecorded) buffer_.skip();
  if (std::string error = writer_.open(end(), unrecorded); !error.empty()) return error;
  started_before_ = true;
  quit_.store(false);
  publish();
  recording_.store(true, std::memory_order_release);
  if (options_.own_thread) thread_ = std::thread([this] { run(); });
  return {};
}

std::string Log::Impl::stop() {
  if (!recording()) return {};
  if (thread_.joinable()) end_thread();
  recording_.store(false, std::memory_order_release);
  // The thread is gone: its work is ours.
  writer_.take(buffer_.take());
  writer_.write(false);
  std::string text = writer_.close();
  publish();
  return text;
}

void Log::Impl::end_thread() {
  quit_.store(true);
  wake();
  thread_.join();
  const std::lock_guard guard(mutex_);
  done_.notify_all();
}

void Log::Impl::set_policy(SyncPolicy policy) {
  policy_.store(policy, std::memory_order_relaxed);
  hurry_.store(true);  // whoever waited under the old one
  wake();
}

Lsn Log::Impl::append(std::string_view record) {
  const LogBuffer::Appended appended = buffer_.append(record);
  if (appended.full || (appended.first && policy() != SyncPolicy::kAlways)) wake();
  return appended.lsn;
}

bool Log::Impl::backlogged() const {
  if (buffer_.buffered_bytes() <= options_.backlog_bytes) return false;
  // Whoever is told so wants to hear of the end of it: note that first, then look again.
  parked_.store(true);
  return buffer_.buffered_bytes() > options_.backlog_bytes;
}

void Log::Impl::hurry() {
  if (durable() >= end() || hurry_.exchange(true)) return;
  wake();
}

bool Log::Impl::sync_is_late() const {
  if (policy() != SyncPolicy::kEverySecond || durable() >= end()) return false;
  int64_t since = not_durable_since_ns_.load(std::memory_order_relaxed);
  if (since == 0) since = buffer_.pending_since_ns();
  return since != 0 && clock_.now_ns() - since > kLateAge;
}

std::string Log::Impl::failure() const {
  const std::lock_guard guard(mutex_);
  return failure_;
}

Lsn Log::Impl::cut() {
  const Lsn lsn = buffer_.cut();
  wake();
  return lsn;
}

std::string Log::Impl::wait_for_cut() {
  if (!recording()) return "The log is not recording";
  if (!options_.own_thread) step();
  const uint64_t wanted = buffer_.cuts();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return cuts_finished_ >= wanted || quit_.load(); });
  return cuts_finished_ >= wanted ? cut_error_ : "The log has ended";
}

void Log::Impl::covered_by_snapshot(Lsn lsn) {
  std::unique_lock lock(mutex_);
  covered_wanted_ = std::max(covered_wanted_, lsn);
  const uint64_t request = ++covered_requests_;
  lock.unlock();
  if (recording() && options_.own_thread) {
    wake();
    lock.lock();
    done_.wait(lock, [&] { return covered_done_ >= request || quit_.load(); });
    lock.unlock();
  } else {
    take_requests();
    publish();
  }
  old_segments_.remove_covered(lsn);
}

LogStatus Log::Impl::status() const {
  LogStatus status;
  status.segment_first_lsn = segment_first_.load(std::memory_order_relaxed);
  status.segment_bytes = segment_bytes_.load(std::memory_order_relaxed);
  status.total_bytes = old_segments_.total_bytes() + status.segment_bytes;
  status.buffered_bytes = buffer_.buffered_bytes();
  status.memory_bytes = buffer_.memory_bytes();
  status.delayed_syncs = delayed_syncs_.load(std::memory_order_relaxed);
  status.last_sync_us = last_sync_us_.load(std::memory_order_relaxed);
  return status;
}

// --- the log's thread ---

void Log::Impl::wake() {
  if (!sleeping_.load()) return;
  { const std::lock_guard guard(mutex_); }  // the thread is now either waiting or awake
  wake_.notify_one();
}

void Log::Impl::run() {
  pthread_setname_np(pthread_self(), "iris-log");
  while (!quit_.load()) {
    {
      std::unique_lock lock(mutex_);
      sleeping_.store(true);
      const int64_t now = clock_.now_ns();
      const int64_t due = next_due(now);  // invariant 1
      if (due == kFarAway) {
        wake_.wait(lock);
      } else if (due > now) {
        wake_.wait_for(lock, std::chrono::nanoseconds(due - now));
      }
      sleeping_.store(false);
    }
    step();
  }
}

// Under mutex_.
int64_t Log::Impl::next_due(int64_t now) {
  const LogBuffer::Pending pending = buffer_.pending();
  if (quit_.load() || hurry_.load() || pending.cut || covered_requests_ != covered_done_)
    return now;
  int64_t due = policy() == SyncPolicy::kAlways ? now + kLookTime : kFarAway;
  if (writer_.write_failing()) {
    due = retry_at_;
  } else if (pending.since_ns != 0) {
    due = pending.bytes >= LogBlock::kBytes ? now : pending.since_ns + kGatherTime;
  }
  if (writer_.must_sync() && policy() == SyncPolicy::kEverySecond) {
    due = std::min(due, writer_.unsynced_since_ns() + kSyncAge);
  }
  return due;
}

void Log::Impl::step() {
  if (hurry_.exchange(false)) hurried_ = true;
  take_requests();
  const int64_t now = clock_.now_ns();
  if (write_is_due(now)) {
    // Before they leave the buffer, which knows their age: the sync may take long.
    if (not_durable_since_ns_.load(std::memory_order_relaxed) == 0) {
      not_durable_since_ns_.store(buffer_.pending_since_ns(), std::memory_order_relaxed);
    }
    writer_.take(buffer_.take());
    writer_.write(policy() == SyncPolicy::kAlways);
    if (writer_.write_failing()) retry_at_ = now + kRetryTime;
  }
  if (sync_is_due(now)) timed_sync();
  if (!writer_.write_failing()) hurried_ = false;
  publish();
}

bool Log::Impl::write_is_due(int64_t now) {
  const LogBuffer::Pending pending = buffer_.pending();
  if (pending.cut) return true;
  if (writer_.write_failing()) return now >= retry_at_;
  if (pending.since_ns == 0) return false;
  return hurried_ || pending.bytes >= LogBlock::kBytes || now - pending.since_ns >= kGatherTime;
}

bool Log::Impl::sync_is_due(int64_t now) const {
  if (!writer_.must_sync()) return false;
  switch (policy()) {
    case SyncPolicy::kAlways:
      return true;
    case SyncPolicy::kEverySecond:
      return hurried_ || now - writer_.unsynced_since_ns() >= kSyncAge;
    case SyncPolicy::kNever:
      return false;
  }
  return false;
}

void Log::Impl::timed_sync() {
  const int64_t begin = clock_.now_ns();
  writer_.sync();
  const int64_t took = clock_.now_ns() - begin;
  last_sync_us_.store(took / 1000, std::memory_order_relaxed);
  if (took > kSecond) delayed_syncs_.fetch_add(1, std::memory_order_relaxed);
}

void Log::Impl::take_requests() {
  Lsn covered = 0;
  uint64_t requests = 0;
  {
    const std::lock_guard guard(mutex_);
    if (covered_requests_ == covered_done_) return;
    covered = covered_wanted_;
    requests = covered_requests_;
  }
  writer_.covered_by_snapshot(covered);
  const std::lock_guard guard(mutex_);
  covered_done_ = requests;
}

void Log::Impl::publish() {
  not_durable_since_ns_.store(writer_.not_durable_since_ns(), std::memory_order_relaxed);
  const LogSegment* segment = writer_.segment();
  segment_first_.store(segment == nullptr ? 0 : segment->first(), std::memory_order_relaxed);
  segment_bytes_.store(segment == nullptr ? 0 : segment->size_bytes(), std::memory_order_relaxed);
  const bool tell = news();
  {
    const std::lock_guard guard(mutex_);
    cuts_finished_ = writer_.cuts_finished();
    cut_error_ = writer_.cut_error();
    done_.notify_all();
  }
  if (tell) listener_.log_advanced();
}

// Publishes what the listener wants to hear of; whether there is any of it.
bool Log::Impl::news() {
  bool tell = false;
  const Lsn durable = writer_.durable(policy() == SyncPolicy::kNever);
  if (durable > durable_.load(std::memory_order_relaxed)) {  // invariant 3
    durable_.store(durable, std::memory_order_release);
    tell = true;
  }
  {
    const std::lock_guard guard(mutex_);
    if (failure_ != writer_.failure()) {
      failure_ = writer_.failure();
      tell = true;
    }
    failing_.store(!failure_.empty(), std::memory_order_release);
    needs_snapshot_.store(writer_.needs_snapshot(), std::memory_order_release);
  }
  if (parked_.load() && buffer_.buffered_bytes() <= options_.backlog_bytes / 2) {
    parked_.store(false);
    tell = true;
  }
  return tell;
}

// --- the outside ---

Log::Log(FileSystem& files, std::string directory, uint64_t hash_seed, Lsn last_lsn,
         LogListener& listener, LogOptions options)
    : impl_(std::make_unique<Impl>(files, std::move(directory), hash_seed, last_lsn, listener,
                                   options)) {}

Log::~Log() = default;

std::string Log::start(SyncPolicy policy, LogBase base) {
  return impl_->start(policy, base);
}

std::string Log::stop() {
  return impl_->stop();
}

void Log::set_policy(SyncPolicy policy) {
  impl_->set_policy(policy);
}

bool Log::recording() const {
  return impl_->recording();
}

Lsn Log::append(std::string_view record) {
  return impl_->append(record);
}

Lsn Log::end() const {
  return impl_->end();
}

Lsn Log::durable() const {
  return impl_->durable();
}

bool Log::backlogged() const {
  return impl_->backlogged();
}

void Log::hurry() {
  impl_->hurry();
}

bool Log::sync_is_late() const {
  return impl_->sync_is_late();
}

bool Log::failing() const {
  return impl_->failing();
}

std::string Log::failure() const {
  return impl_->failure();
}

bool Log::needs_snapshot() const {
  return impl_->needs_snapshot();
}

Lsn Log::cut() {
  return impl_->cut();
}

// Cuts are finished in order, so the last one asked for stands for all before.
std::string Log::wait_for_cut(Lsn /*lsn*/) {
  return impl_->wait_for_cut();
}

void Log::covered_by_snapshot(Lsn lsn) {
  impl_->covered_by_snapshot(lsn);
}

LogStatus Log::status() const {
  return impl_->status();
}

void Log::step() {
  impl_->step();
}

}  // namespace iris::persistence
