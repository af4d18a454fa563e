// The log against a disk that loses power at any moment, and against one that fails any call.
//
// A Story is a random life of a log: appends, syncs, cuts, snapshots, stops and starts. It knows
// what was recorded under which number and what durable() has promised, so whatever a disk looks
// like at any moment, it can say whether recovery made the right thing of it:
//
//   - recovery never calls the log damaged, since nothing was damaged
//   - what comes back are records as they were appended, without a gap, behind the snapshot
//   - everything that was promised is among it
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <random>

#include "persistence/log.h"
#include "tests/unit/persistence/log_test_support.h"

namespace iris::persistence {
namespace {

class Story {
 public:
  Story(SimulatedDisk& disk, SyncPolicy policy, uint64_t seed)
      : disk_(&disk), policy_(policy), random_(seed) {}

  // Opens a log on what the disk holds. False: it could not, since the disk fails.
  bool begin(Lsn last_lsn) {
    stepped_ = std::make_unique<SteppedLog>(*disk_, last_lsn);
    return try_start(LogBase::kRecovered);
  }

  void live(int events) {
    for (int i = 0; i < events; ++i) {
      event();
      note_promises();
    }
  }

  // The process is gone; the disk is another one now.
  void die(SimulatedDisk& disk) {
    stepped_.reset();
    disk_ = &disk;
  }

  // What recovery makes of `disk`; an empty text if that is right.
  std::string judge(SimulatedDisk& disk, Recovered* result = nullptr) const {
    const Recovered recovered = recover(disk, snapshot_);
    if (result != nullptr) *result = recovered;
    if (!recovered.outcome.damage.empty()) return recovered.outcome.damage;
    auto expected = model_.upper_bound(snapshot_);
    for (const auto& [lsn, record] : recovered.records) {
      if (expected == model_.end()) return "a record too many: " + std::to_string(lsn);
      if (lsn >= barrier()) return "a record without its snapshot: " + std::to_string(lsn);
      if (expected->first != lsn) return "a gap before " + std::to_string(lsn);
      if (expected->second != record) return "not what was appended: " + std::to_string(lsn);
      ++expected;
    }
    if (expected != model_.end() && expected->first <= promised_) {
      return "lost " + std::to_string(expected->first) + " of " + std::to_string(promised_) +
             " promised";
    }
    for (const std::string& name : disk.names()) {
      if (!log_lsn(name)) return "a stray file: " + name;
    }
    return {};
  }

  // Goes on living from what was recovered.
  void take_over(const Recovered& recovered) {
    const Lsn last = recovered.outcome.last_lsn;
    model_.erase(model_.upper_bound(last), model_.end());
    barriers_.clear();
    EXPECT_GE(recovered.outcome.largest_seen, last);
  }

  Log& log() { return stepped_->log; }
  ManualClock& clock() { return stepped_->clock; }
  void snapshot() {
    const Lsn cut = log().cut();
    if (!log().wait_for_cut(cut).empty() && random_() % 2 == 0) return;
    if (random_() % 2 == 0) append_some();
    // A snapshot is exact at some moment after its begin.
    snapshot_ = cut + random_() % (log().end() - cut + 1);
    std::erase_if(barriers_, [this](Lsn lsn) { return lsn <= snapshot_; });
    log().covered_by_snapshot(snapshot_);
  }
  void append_some() {
    if (!log().recording()) return;
    for (uint64_t count = random_() % 5 + 1; count > 0; --count) {
      const uint64_t number = random_();
      const size_t max_bytes = random_() % 20 == 0 ? 9000 : 60;
      std::string record = test_record(number, number % 100, max_bytes);
      model_[log().append(record)] = std::move(record);
    }
  }

 private:
  void event() {
    if (!log().recording()) {
      restart();
      return;
    }
    const uint64_t what = random_() % 100;
    if (log().needs_snapshot() && what < 20) {
      snapshot();
    } else if (what < 70) {
      // The owner refuses new writes while the disk fails; what is on its way still comes.
      if (!log().failing() || what < 5) append_some();
      if (what < 40) log().hurry();
      log().step();
    } else if (what < 85) {
      clock().advance_ms(static_cast<int64_t>(random_() % 1200));
      log().step();
    } else if (what < 93) {
      static_cast<void>(log().wait_for_cut(log().cut()));
    } else if (what < 98) {
      snapshot();
    } else {
      static_cast<void>(log().stop());
    }
  }

  void restart() {
    if (try_start(LogBase::kUnrecordedChanges)) {
      barriers_.push_back(log().end());
      if (random_() % 2 == 0) append_some();
      if (random_() % 2 == 0) snapshot();
    }
  }

  bool try_start(LogBase base) {
    for (int i = 0; i < 3; ++i) {
      if (log().start(policy_, base).empty()) return true;
    }
    return false;
  }

  // Records behind a time without recording are worth nothing before the next snapshot.
  Lsn barrier() const {
    for (const Lsn lsn : barriers_) {
      if (lsn > snapshot_) return lsn;
    }
    return UINT64_MAX;
  }

  void note_promises() {
    if (policy_ == SyncPolicy::kNever) return;
    promised_ = std::max(promised_, std::min(log().durable(), barrier() - 1));
  }

  SimulatedDisk* disk_;
  const SyncPolicy policy_;
  std::mt19937_64 random_;
  std::unique_ptr<SteppedLog> stepped_;
  std::map<Lsn, std::string> model_;
  std::vector<Lsn> barriers_;
  Lsn snapshot_ = 0;
  Lsn promised_ = 0;
};

SyncPolicy policy_of(uint64_t seed) {
  return seed % 4 == 0    ? SyncPolicy::kEverySecond
         : seed % 16 == 1 ? SyncPolicy::kNever
                          : SyncPolicy::kAlways;
}

// A power cut within every call of the disk, several times each.
TEST(LogFaultsTest, APowerCutAtEveryCallLosesNothingThatWasPromised) {
  uint64_t cuts = 0;
  for (uint64_t seed = 1; seed <= 20 / kFewer; ++seed) {
    SimulatedDisk disk;
    Story story(disk, policy_of(seed), seed);
    std::string wrong;
    disk.on_call([&] {
      for (uint64_t i = 0; i < 3 && wrong.empty(); ++i, ++cuts) {
        const uint64_t chance = seed * 1'000'003 + disk.calls() * 3 + i;
        const auto after = disk.after_power_cut(chance);
        wrong = story.judge(*after);
        if (!wrong.empty()) {
          wrong += " (seed " + std::to_string(seed) + ", call " + std::to_string(disk.calls()) +
                   ", cut " + std::to_string(chance) + ")";
        }
      }
    });
    ASSERT_TRUE(story.begin(0));
    story.live(100);
    disk.on_call(nullptr);
    ASSERT_EQ(wrong, "");
  }
  std::printf("%llu power cuts, 0 promised records lost\n", static_cast<unsigned long long>(cuts));
}

// Three lives, each ended by a power cut, each going on with what the one before has left.
TEST(LogFaultsTest, ThousandsOfPowerCutsLoseNothingThatWasPromised) {
  uint64_t cuts = 0;
  for (uint64_t seed = 1; cuts < 10'000 / kFewer; ++seed) {
    auto disk = std::make_unique<SimulatedDisk>();
    Story story(*disk, policy_of(seed), seed);
    Lsn last = 0;
    for (uint64_t life = 0; life < 3; ++life, ++cuts) {
      ASSERT_TRUE(story.begin(last)) << "seed " << seed;
      story.live(static_cast<int>(seed * 7 % 40));
      auto after = disk->after_power_cut(seed * 3 + life);
      story.die(*after);
      disk = std::move(after);
      Recovered recovered;
      ASSERT_EQ(story.judge(*disk, &recovered), "") << "seed " << seed << ", life " << life;
      // A second look finds the same. (At a copy: it also syncs what the first may have forgotten.)
      Recovered again;
      ASSERT_EQ(story.judge(*disk->copy(), &again), "") << "seed " << seed << ", life " << life;
      ASSERT_EQ(again.outcome.largest_seen, recovered.outcome.largest_seen) << "seed " << seed;
      ASSERT_TRUE(again.records == recovered.records) << "seed " << seed;
      ASSERT_GE(recovered.outcome.largest_seen, last) << "seed " << seed;
      story.take_over(recovered);
      last = recovered.outcome.largest_seen;
    }
  }
  std::printf("%llu power cuts, 0 promised records lost\n", static_cast<unsigned long long>(cuts));
}

// Scoreboard: with everysec a power cut loses at most 1.1 s.
TEST(LogFaultsTest, EverySecondLosesAtMostElevenHundredMilliseconds) {
  constexpr int64_t kTickMs = 5;
  constexpr int64_t kPromiseMs = 1100;
  std::mt19937_64 random(11);
  SimulatedDisk disk;
  SteppedLog stepped(disk);
  ASSERT_EQ(stepped.log.start(SyncPolicy::kEverySecond), "");
  std::map<Lsn, int64_t> appended_at_ms;
  uint64_t cuts = 0;
  for (int64_t now_ms = 0; now_ms < 20'000; now_ms += kTickMs) {
    if (random() % 3 == 0) appended_at_ms[stepped.log.append(test_record(1))] = now_ms;
    if (now_ms / kTickMs % static_cast<int64_t>(kFewer) == 0) {
      const auto after = disk.after_power_cut(random());
      const Recovered recovered = recover(*after);
      ASSERT_EQ(recovered.outcome.damage, "") << "at " << now_ms;
      const auto lost = appended_at_ms.upper_bound(recovered.outcome.last_lsn);
      if (lost != appended_at_ms.end()) {
        ASSERT_LE(now_ms - lost->second, kPromiseMs) << "at " << now_ms;
      }
      ++cuts;
    }
    stepped.clock.advance_ms(kTickMs);
    stepped.log.step();
  }
  std::printf("%llu power cuts, none lost more than %lld ms\n",
              static_cast<unsigned long long>(cuts), static_cast<long long>(kPromiseMs));
}

// The power goes again while recovery mends what the first power cut has left.
TEST(LogFaultsTest, APowerCutDuringRecoveryIsRecoveredFrom) {
  uint64_t cuts = 0;
  for (uint64_t seed = 1; seed <= 300 / kFewer; ++seed) {
    SimulatedDisk disk;
    Story story(disk, policy_of(seed), seed);
    ASSERT_TRUE(story.begin(0));
    story.live(40);
    const auto after = disk.after_power_cut(seed);
    std::string wrong;
    after->on_call([&] {
      const auto again = after->after_power_cut(seed * 1000 + after->calls());
      ++cuts;
      if (wrong.empty()) wrong = story.judge(*again);
    });
    EXPECT_EQ(story.judge(*after), "") << "seed " << seed;
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
  std::printf("%llu power cuts during recovery\n", static_cast<unsigned long long>(cuts));
}

struct FaultKind {
  const char* name;
  int error;
  bool partial;
};
constexpr FaultKind kFaultKinds[] = {
    {"EIO", -EIO, false}, {"ENOSPC after a part", -ENOSPC, true}, {"EIO after a part", -EIO, true}};

constexpr int kFaultEvents = 120;

void expect_survival(uint64_t seed, const SimulatedDisk::Fault& fault, bool power_cut,
                     const std::string& what) {
  SimulatedDisk disk;
  disk.fail(fault);
  Story story(disk, policy_of(seed), seed);
  const bool began = story.begin(0);
  if (began) story.live(kFaultEvents);
  if (began && !fault.for_ever && story.log().recording()) {
    // One fault, however bad, is healed by a snapshot and a second of time.
    if (story.log().needs_snapshot()) {
      for (int i = 0; i < 100 && story.log().needs_snapshot(); ++i) story.snapshot();
    }
    for (int i = 0; i < 3; ++i) {
      story.log().hurry();
      story.clock().advance_ms(1100);
      story.log().step();
    }
    ASSERT_FALSE(story.log().failing()) << what << ": " << story.log().failure();
    ASSERT_EQ(story.log().durable(), story.log().end()) << what;
  }
  auto after = power_cut ? disk.after_power_cut(seed + fault.call) : disk.copy();
  Recovered recovered;
  ASSERT_EQ(story.judge(*after, &recovered), "") << what;
  story.die(*after);
  story.take_over(recovered);
  ASSERT_TRUE(story.begin(recovered.outcome.largest_seen)) << what;
  story.live(10);
  ASSERT_EQ(story.judge(*after->after_power_cut(seed)), "") << what << ", second life";
}

TEST(LogFaultsTest, AnyCallMayFailOnceOrForEver) {
  uint64_t runs = 0;
  for (uint64_t seed = 2; seed <= 6; ++seed) {
    SimulatedDisk disk;
    Story story(disk, policy_of(seed), seed);
    ASSERT_TRUE(story.begin(0));
    story.live(kFaultEvents);
    for (uint64_t call = 1; call <= disk.calls(); call += kStride) {
      for (const FaultKind& kind : kFaultKinds) {
        for (const bool for_ever : {false, true}) {
          const SimulatedDisk::Fault fault{
              .call = call, .for_ever = for_ever, .error = kind.error, .partial = kind.partial};
          const std::string what = "seed " + std::to_string(seed) + ", call " +
                                   std::to_string(call) + (for_ever ? " for ever, " : " once, ") +
                                   kind.name;
          expect_survival(seed, fault, true, what + ", power cut");
          expect_survival(seed, fault, false, what + ", kill");
          runs += 2;
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  std::printf("%llu runs with a failing call, 0 promised records lost\n",
              static_cast<unsigned long long>(runs));
}

}  // namespace
}  // namespace iris::persistence
