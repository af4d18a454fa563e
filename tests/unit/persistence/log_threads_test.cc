// The log with its thread, under several producers. Nothing here depends on how long things take.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "persistence/log.h"
#include "tests/unit/persistence/log_test_support.h"

namespace iris::persistence {
namespace {

// Lets threads sleep until the log has news.
class WaitingListener : public LogListener {
 public:
  void log_advanced() override {
    const std::lock_guard guard(mutex_);
    ++news_;
    changed_.notify_all();
  }
  template <typename Condition>
  void wait_until(Condition&& condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, condition);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t news_ = 0;
};

TEST(LogThreadsTest, OneSyncServesAllWhoWait) {
  constexpr int kThreads = 4;
  constexpr uint64_t kCommits = 500;
  SimulatedDisk disk;
  WaitingListener listener;
  Log log(disk, kDirectory, kTestSeed, 0, listener);
  ASSERT_EQ(log.start(SyncPolicy::kAlways), "");
  std::mutex mutex;
  std::map<Lsn, std::string> model;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kCommits; ++i) {
        const std::string record = test_record(i, static_cast<uint64_t>(t));
        const Lsn lsn = log.append(record);
        EXPECT_GE(log.end(), lsn);
        {
          const std::lock_guard guard(mutex);
          model[lsn] = record;
        }
        log.hurry();
        listener.wait_until([&] { return log.durable() >= lsn; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log.durable(), kThreads * kCommits);
  // The power goes here, with the log still running.
  const auto after = disk.after_power_cut(1);
  ASSERT_EQ(log.stop(), "");
  const Recovered recovered = recover(*after);
  EXPECT_EQ(recovered.outcome.damage, "");
  EXPECT_EQ(recovered.records, model);
  std::printf("%llu records, %llu syncs\n", static_cast<unsigned long long>(kThreads * kCommits),
              static_cast<unsigned long long>(disk.syncs()));
  EXPECT_LE(disk.syncs(), kThreads * kCommits + 10);
}

TEST(LogThreadsTest, ProducersAndCutsLoseNothing) {
  constexpr int kThreads = 4;
  constexpr uint64_t kRecords = 20'000;
  SimulatedDisk disk;
  WaitingListener listener;
  Log log(disk, kDirectory, kTestSeed, 0, listener);
  ASSERT_EQ(log.start(SyncPolicy::kEverySecond), "");
  std::mutex mutex;
  std::map<Lsn, std::string> model;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::map<Lsn, std::string> mine;
      for (uint64_t i = 0; i < kRecords; ++i) {
        const size_t max_bytes = i % 1000 == 0 ? 300'000 : 60;
        std::string record = test_record(i, static_cast<uint64_t>(t), max_bytes);
        mine[log.append(record)] = std::move(record);
        static_cast<void>(log.sync_is_late());
        static_cast<void>(log.status());
      }
      const std::lock_guard guard(mutex);
      model.merge(mine);
    });
  }
  for (int i = 0; i < 20; ++i) {
    const Lsn cut = log.cut();
    EXPECT_EQ(log.wait_for_cut(cut), "");
    EXPECT_GE(log.durable(), cut);
  }
  for (std::thread& thread : threads) thread.join();
  log.hurry();
  listener.wait_until([&] { return log.durable() == log.end(); });
  ASSERT_EQ(log.stop(), "");
  const Recovered recovered = recover(disk);
  EXPECT_EQ(recovered.outcome.damage, "");
  EXPECT_EQ(recovered.outcome.warning, "");
  EXPECT_EQ(recovered.records.size(), kThreads * kRecords);
  EXPECT_TRUE(recovered.records == model);
}

TEST(LogThreadsTest, WritersWhoWaitForAFullBufferAreWoken) {
  constexpr int kThreads = 4;
  constexpr uint64_t kRecords = 2'000;
  constexpr uint64_t kLimit = 64 << 10;
  constexpr size_t kRecordBytes = 2'000;
  SimulatedDisk disk;
  WaitingListener listener;
  LogOptions options;
  options.backlog_bytes = kLimit;
  Log log(disk, kDirectory, kTestSeed, 0, listener, options);
  ASSERT_EQ(log.start(SyncPolicy::kEverySecond), "");
  std::atomic<uint64_t> waits{0};
  std::atomic<uint64_t> most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kRecords; ++i) {
        if (log.backlogged()) {
          waits.fetch_add(1);
          log.hurry();
          listener.wait_until([&] { return !log.backlogged(); });
        }
        log.append(test_record(i, 0, kRecordBytes));
        most.store(std::max(most.load(), log.status().buffered_bytes));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(log.stop(), "");
  EXPECT_EQ(recover(disk).records.size(), kThreads * kRecords);
  // Each thread looks before it appends, so each may overshoot by one record.
  EXPECT_LE(most.load(), kLimit + kThreads * 2 * kRecordBytes);
  EXPECT_GT(waits.load(), 0U);
  std::printf("%llu waits, at most %llu bytes buffered\n",
              static_cast<unsigned long long>(waits.load()),
              static_cast<unsigned long long>(most.load()));
}

TEST(LogThreadsTest, NothingIsDurableWhileTheSyncHangs) {
  SimulatedDisk disk;
  WaitingListener listener;
  Log log(disk, kDirectory, kTestSeed, 0, listener);
  ASSERT_EQ(log.start(SyncPolicy::kAlways), "");
  std::mutex mutex;
  std::condition_variable changed;
  bool hanging = false;
  bool released = false;
  disk.on_sync([&] {
    std::unique_lock lock(mutex);
    hanging = true;
    changed.notify_all();
    changed.wait(lock, [&] { return released; });
  });
  log.append(test_record(1));
  log.hurry();
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return hanging; });
    // The first is written and hangs; these do not wait for it, and their commit is one.
    for (uint64_t i = 2; i <= 100; ++i) {
      log.append(test_record(i));
      log.hurry();
    }
    EXPECT_EQ(log.end(), 100U);
    EXPECT_EQ(log.durable(), 0U);
    released = true;
    changed.notify_all();
  }
  listener.wait_until([&] { return log.durable() == 100; });
  EXPECT_EQ(disk.syncs(), 3U);  // the header, the first, all others
  ASSERT_EQ(log.stop(), "");
}

}  // namespace
}  // namespace iris::persistence
