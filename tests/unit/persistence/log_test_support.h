// What the tests of the log share: a clock that they turn, records that can be told apart, and a
// recovery that collects what it was given.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "persistence/data_directory.h"
#include "persistence/log.h"
#include "persistence/log_recovery.h"
#include "persistence/record.h"
#include "tests/sanitized.h"
#include "tests/unit/persistence/simulated_disk.h"

namespace iris::persistence {

inline constexpr const char* kDirectory = "data";
inline constexpr uint64_t kTestSeed = 0x1234567890abcdef;

// Under a sanitizer every 61st case: it listens to memory and threads, not to coverage of cases.
inline constexpr size_t kStride = kSanitized ? 61 : 1;
// And so many times fewer lives.
inline constexpr uint64_t kFewer = kSanitized ? 10 : 1;

class ManualClock : public LogClock {
 public:
  int64_t now_ns() const override { return now_.load(); }
  void advance_ms(int64_t ms) { now_.fetch_add(ms * 1'000'000); }

 private:
  std::atomic<int64_t> now_{1'000'000'000};
};

class CountingListener : public LogListener {
 public:
  void log_advanced() override { calls.fetch_add(1); }
  std::atomic<uint64_t> calls{0};
};

// Different for each number and each `author`, of up to `max_bytes`, in full RESP.
inline std::string test_record(uint64_t number, uint64_t author = 0, size_t max_bytes = 100) {
  const uint64_t mixed = (number * 1000003 + author) * 0x9e3779b97f4a7c15ULL;
  RecordBuilder builder;
  builder.begin(4);
  builder.word("bf.add");
  builder.number(number);
  builder.number(author);
  builder.word(std::string((mixed >> 32) % (max_bytes + 1), static_cast<char>('a' + mixed % 26)));
  return std::string(builder.view());
}

// A log without a thread, on a disk that never fails by itself.
struct SteppedLog {
  explicit SteppedLog(SimulatedDisk& disk, Lsn last_lsn = 0, uint64_t backlog_bytes = 64 << 20)
      : log(disk, kDirectory, kTestSeed, last_lsn, listener,
            LogOptions{.clock = &clock, .backlog_bytes = backlog_bytes, .own_thread = false}) {}

  ManualClock clock;
  CountingListener listener;
  Log log;
};

struct Recovered {
  LogRecovery outcome;
  std::map<Lsn, std::string> records;
};

inline Recovered recover(SimulatedDisk& disk, Lsn after = 0) {
  Recovered recovered;
  LogReplay replay;
  replay.apply = [&recovered](Lsn lsn, std::string_view record) -> std::string {
    recovered.records[lsn] = record;
    return {};
  };
  recovered.outcome = recover_log(disk, kDirectory, after, replay);
  return recovered;
}

}  // namespace iris::persistence
