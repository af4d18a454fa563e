// The fixture of the log's tests: a log on a disk in memory, and a model of what is in it. Time is
// turned by hand and each step of the log's thread is called, so nothing depends on speed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "persistence/log.h"
#include "tests/unit/persistence/log_test_support.h"

namespace iris::persistence {

class LogTest : public ::testing::Test {
 protected:
  void start(SyncPolicy policy) { ASSERT_EQ(log_.start(policy), ""); }

  Lsn append() {
    std::string record = test_record(log_.end() + 1);
    const Lsn lsn = log_.append(record);
    model_[lsn] = std::move(record);
    return lsn;
  }
  // Appends, and lets the log do everything for it.
  Lsn commit() {
    const Lsn lsn = append();
    log_.hurry();
    log_.step();
    return lsn;
  }
  void step_after_ms(int64_t ms) {
    clock_.advance_ms(ms);
    log_.step();
  }
  // The next call of the disk, or the one after `skipped` more.
  void fail_next(int error, uint64_t skipped = 0, bool for_ever = false) {
    disk_.fail({.call = disk_.calls() + 1 + skipped,
                .for_ever = for_ever,
                .error = error,
                .partial = false});
  }
  void expect_recovery_of(const std::map<Lsn, std::string>& records, Lsn after = 0) {
    const auto copy = disk_.copy();
    const Recovered recovered = recover(*copy, after);
    EXPECT_EQ(recovered.outcome.damage, "");
    EXPECT_TRUE(recovered.records == records)
        << recovered.records.size() << " instead of " << records.size();
  }

  SimulatedDisk disk_;
  SteppedLog stepped_{disk_, 0, 1 << 20};
  Log& log_ = stepped_.log;
  ManualClock& clock_ = stepped_.clock;
  CountingListener& listener_ = stepped_.listener;
  std::map<Lsn, std::string> model_;
};

}  // namespace iris::persistence
