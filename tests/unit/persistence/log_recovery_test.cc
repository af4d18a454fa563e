// Reading the log back when something is wrong with it: every flipped bit, every length, every kind
// of tail; and what must be refused, what cut, and what is none of its business.
#include "persistence/log_recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>

#include "persistence/log_format.h"
#include "persistence/log_reader.h"
#include "tests/unit/persistence/log_test_support.h"

namespace iris::persistence {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A log of one segment and about `bytes`, of batches of one to nine records. Each batch is synced.
// `in_order`: stopped, otherwise killed.
void write_log(SimulatedDisk& disk, size_t bytes, bool in_order, Lsn last_lsn = 0) {
  SteppedLog stepped(disk, last_lsn);
  ASSERT_EQ(stepped.log.start(SyncPolicy::kAlways), "");
  for (uint64_t i = 1; stepped.log.status().segment_bytes < bytes; ++i) {
    for (uint64_t j = 0; j <= i % 9; ++j) stepped.log.append(test_record(i * 10 + j, 0, 600));
    stepped.log.hurry();
    stepped.log.step();
  }
  if (in_order) {
    ASSERT_EQ(stepped.log.stop(), "");
  }
}

struct Batch {
  uint64_t offset;
  uint64_t end;
  BatchLine line;
};

std::vector<Batch> batches_of(SimulatedDisk& disk, Lsn segment) {
  std::vector<Batch> batches;
  SegmentReader reader(disk, kDirectory, segment);
  uint64_t offset = kSegmentHeaderBytes;
  while (const auto line = reader.line_at(offset)) {
    const uint64_t end = offset + line->line_bytes + line->bytes;
    batches.push_back({offset, end, *line});
    offset = end;
  }
  return batches;
}

bool is_prefix(const std::map<Lsn, std::string>& part, const std::map<Lsn, std::string>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

// Goes on from what was recovered, and expects to find that and the new record at the next start.
void expect_life_goes_on(SimulatedDisk& disk, const Recovered& recovered, Lsn after = 0) {
  SteppedLog stepped(disk, recovered.outcome.largest_seen);
  ASSERT_EQ(stepped.log.start(SyncPolicy::kAlways), "");
  const Lsn lsn = stepped.log.append(test_record(1, 99));
  EXPECT_GT(lsn, recovered.outcome.largest_seen);
  ASSERT_EQ(stepped.log.stop(), "");
  std::map<Lsn, std::string> expected = recovered.records;
  expected[lsn] = test_record(1, 99);
  const Recovered again = recover(disk, after);
  EXPECT_EQ(again.outcome.damage, "");
  EXPECT_EQ(again.outcome.warning, "");
  EXPECT_TRUE(again.records == expected);
}

// --- every bit, every length ---

struct FlipCounts {
  uint64_t flips = 0;
  uint64_t refused = 0;
  uint64_t cut = 0;
  uint64_t undetected = 0;
};

FlipCounts flip_every_bit(SimulatedDisk& disk) {
  const Recovered sound = recover(disk);
  const std::string name = log_name(1);
  const std::string original = disk.content(name);
  FlipCounts counts;
  LogReplay replay;
  // Records are compared on the way instead of collected: this runs half a million times.
  auto expected = sound.records.begin();
  bool equal = true;
  replay.apply = [&](Lsn lsn, std::string_view record) -> std::string {
    equal = equal && expected != sound.records.end() && expected->first == lsn &&
            expected->second == record;
    if (expected != sound.records.end()) ++expected;
    return {};
  };
  for (size_t bit = 0; bit < original.size() * 8; bit += kStride) {
    disk.flip(name, bit);
    expected = sound.records.begin();
    equal = true;
    const LogRecovery outcome = recover_log(disk, kDirectory, 0, replay);
    ++counts.flips;
    const bool refused = !outcome.damage.empty();
    const bool cut = !refused && !outcome.warning.empty();
    counts.refused += refused ? 1 : 0;
    counts.cut += cut ? 1 : 0;
    if (!equal || (!refused && !cut)) ++counts.undetected;
    if (refused) {
      disk.flip(name, bit);
      // Nothing was changed: checked by its length always, by its bytes now and then.
      if (disk.size(name) != original.size() ||
          (bit % 1009 == 0 && disk.content(name) != original)) {
        ADD_FAILURE() << "a damaged file was changed, bit " << bit;
        return counts;
      }
    } else {
      for (const std::string& other : disk.names()) disk.drop(other);
      disk.put(name, original);
    }
  }
  return counts;
}

void print_flips(const char* what, const FlipCounts& counts) {
  std::printf("%s: %llu flips, %llu refused, %llu cut with a warning, %llu undetected\n", what,
              static_cast<unsigned long long>(counts.flips),
              static_cast<unsigned long long>(counts.refused),
              static_cast<unsigned long long>(counts.cut),
              static_cast<unsigned long long>(counts.undetected));
}

TEST(LogRecoveryTest, EveryFlippedBitOfAStoppedLogIsRefused) {
  SimulatedDisk disk;
  write_log(disk, 64 << 10, true);
  const FlipCounts counts = flip_every_bit(disk);
  print_flips("stopped", counts);
  EXPECT_EQ(counts.undetected, 0U);
  // All but those in the last line, which holds no record.
  EXPECT_LE(counts.cut, kMaxBatchLineBytes * 8);
}

TEST(LogRecoveryTest, EveryFlippedBitOfAKilledLogIsRefusedOrCut) {
  SimulatedDisk disk;
  write_log(disk, 16 << 10, false);
  const FlipCounts counts = flip_every_bit(disk);
  print_flips("killed", counts);
  EXPECT_EQ(counts.undetected, 0U);
  EXPECT_GT(counts.cut, 0U);
}

TEST(LogRecoveryTest, EveryTruncationStartsAndYieldsAPrefix) {
  for (const bool in_order : {true, false}) {
    SimulatedDisk disk;
    write_log(disk, 66 << 10, in_order);
    const Recovered sound = recover(disk);
    const std::string name = log_name(1);
    const std::string original = disk.content(name);
    ASSERT_GT(original.size(), 65536U);
    uint64_t cuts = 0;
    for (size_t size = original.size() - 65536; size < original.size(); size += kStride) {
      disk.put(name, original.substr(0, size));
      const Recovered recovered = recover(disk);
      ASSERT_EQ(recovered.outcome.damage, "") << "cut at " << size;
      ASSERT_TRUE(is_prefix(recovered.records, sound.records)) << "cut at " << size;
      ++cuts;
    }
    std::printf("%llu truncations, all started\n", static_cast<unsigned long long>(cuts));
  }
}

TEST(LogRecoveryTest, ATornHeaderOfANewSegmentIsNoObstacle) {
  SimulatedDisk disk;
  write_log(disk, 4096, true);
  const Recovered sound = recover(disk);
  const Lsn next = sound.outcome.largest_seen + 1;
  const std::string header = encode_header({.first = next,
                                            .follows = next - 1,
                                            .synced = next - 1,
                                            .hash_seed = kTestSeed,
                                            .salt = random_salt()});
  for (size_t size = 0; size < header.size(); ++size) {
    disk.put(log_name(next), header.substr(0, size));
    const Recovered recovered = recover(disk);
    ASSERT_EQ(recovered.outcome.damage, "") << size;
    ASSERT_THAT(recovered.outcome.warning, HasSubstr(log_name(next))) << size;
    ASSERT_TRUE(recovered.records == sound.records) << size;
    ASSERT_EQ(disk.names().size(), 1U) << size;
  }
}

// --- tails ---

class LogTailTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_log(disk_, 8192, false);
    sound_ = recover(disk_);
    name_ = log_name(1);
    original_ = disk_.content(name_);
  }

  void expect_tail_is_cut(const std::string& tail) {
    disk_.put(name_, original_ + tail);
    const Recovered recovered = recover(disk_);
    EXPECT_EQ(recovered.outcome.damage, "");
    EXPECT_THAT(recovered.outcome.warning,
                AllOf(HasSubstr(name_), HasSubstr("byte " + std::to_string(original_.size())),
                      HasSubstr(std::to_string(tail.size()) + " bytes")));
    EXPECT_TRUE(recovered.records == sound_.records);
    EXPECT_EQ(disk_.content(name_), original_);
    expect_life_goes_on(disk_, recovered);
  }

  SimulatedDisk disk_;
  Recovered sound_;
  std::string name_;
  std::string original_;
};

TEST_F(LogTailTest, OfZerosIsCutAndReported) {
  expect_tail_is_cut(std::string(1, '\0'));
}

TEST_F(LogTailTest, OfManyZerosIsCutAndReported) {
  expect_tail_is_cut(std::string(100'000, '\0'));
}

TEST_F(LogTailTest, OfNoiseIsCutAndReported) {
  std::mt19937_64 random(7);
  std::string noise(5000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  expect_tail_is_cut(noise);
}

TEST_F(LogTailTest, OfOldRecordsIsCutAndReported) {
  expect_tail_is_cut(sound_.records.at(1) + sound_.records.at(2));
}

TEST_F(LogTailTest, OfAnEarlierBatchIsCutAndReported) {
  const Batch batch = batches_of(disk_, 1).at(2);
  expect_tail_is_cut(original_.substr(batch.offset, batch.end - batch.offset));
}

TEST_F(LogTailTest, OfTheLastBatchOnceMoreIsCutAndReported) {
  const Batch batch = batches_of(disk_, 1).back();
  expect_tail_is_cut(original_.substr(batch.offset, batch.end - batch.offset));
}

TEST_F(LogTailTest, OfABatchOfAnotherSegmentIsCutAndReported) {
  // It has just the LSN that is expected, and a salt of its own.
  SimulatedDisk other;
  write_log(other, 1000, false, sound_.outcome.last_lsn);
  expect_tail_is_cut(
      other.content(log_name(sound_.outcome.last_lsn + 1)).substr(kSegmentHeaderBytes));
}

TEST_F(LogTailTest, BehindTheLineThatEndsASegmentIsCutAndReported) {
  for (const std::string& name : disk_.names()) disk_.drop(name);
  write_log(disk_, 8192, true);
  sound_ = recover(disk_);
  original_ = disk_.content(name_);
  const Batch end = batches_of(disk_, 1).back();
  ASSERT_EQ(end.line.records, 0U);
  expect_tail_is_cut(original_.substr(end.offset));
}

// --- damage ---

TEST(LogRecoveryTest, DamageToASyncedBatchIsRefusedWithItsPlaceAndNothingIsChanged) {
  SimulatedDisk disk;
  write_log(disk, 8192, false);
  const std::vector<Batch> batches = batches_of(disk, 1);
  const std::string original = disk.content(log_name(1));
  // The last one is claimed by nobody.
  for (size_t i = 0; i + 1 < batches.size(); ++i) {
    std::string damaged = original;
    damaged[(batches[i].offset + batches[i].end) / 2] ^= 0x10;
    disk.put(log_name(1), damaged);
    const auto before = disk.everything();
    const Recovered recovered = recover(disk);
    EXPECT_THAT(
        recovered.outcome.damage,
        AllOf(HasSubstr(log_name(1)), HasSubstr("byte " + std::to_string(batches[i].offset)),
              HasSubstr("record " + std::to_string(batches[i].line.first))));
    EXPECT_EQ(disk.everything(), before);
  }
}

TEST(LogRecoveryTest, ADamagedHeaderBeforeBatchesIsRefused) {
  SimulatedDisk disk;
  write_log(disk, 1000, false);
  std::string content = disk.content(log_name(1));
  content[30] ^= 1;
  disk.put(log_name(1), content);
  const auto before = disk.everything();
  EXPECT_THAT(recover(disk).outcome.damage, HasSubstr(log_name(1)));
  EXPECT_EQ(disk.everything(), before);
}

TEST(LogRecoveryTest, ASegmentUnderAnotherNameIsRefused) {
  SimulatedDisk disk;
  write_log(disk, 1000, true);
  disk.put(log_name(1000), disk.content(log_name(1)));
  EXPECT_THAT(recover(disk).outcome.damage, HasSubstr(log_name(1000)));
}

// Three segments, each with a few batches; returns their first LSNs.
std::vector<Lsn> write_three_segments(SimulatedDisk& disk) {
  SteppedLog stepped(disk);
  EXPECT_EQ(stepped.log.start(SyncPolicy::kAlways), "");
  std::vector<Lsn> firsts;
  for (uint64_t segment = 0; segment < 3; ++segment) {
    firsts.push_back(stepped.log.end() + 1);
    for (uint64_t i = 0; i < 20; ++i) {
      stepped.log.append(test_record(i, segment));
      stepped.log.hurry();
      if (i % 3 == 0) stepped.log.step();
    }
    if (segment < 2) {
      EXPECT_EQ(stepped.log.wait_for_cut(stepped.log.cut()), "");
    }
  }
  EXPECT_EQ(stepped.log.stop(), "");
  return firsts;
}

TEST(LogRecoveryTest, AMissingSegmentIsRefused) {
  for (size_t missing = 0; missing < 2; ++missing) {
    SimulatedDisk disk;
    const std::vector<Lsn> firsts = write_three_segments(disk);
    disk.drop(log_name(firsts[missing]));
    const auto before = disk.everything();
    const Recovered recovered = recover(disk);
    EXPECT_THAT(recovered.outcome.damage,
                AllOf(HasSubstr(log_name(firsts[missing + 1])),
                      HasSubstr("record " + std::to_string(firsts[missing]))));
    EXPECT_EQ(disk.everything(), before);
  }
}

TEST(LogRecoveryTest, AShortenedSegmentBeforeOthersIsRefused) {
  SimulatedDisk disk;
  const std::vector<Lsn> firsts = write_three_segments(disk);
  const std::string content = disk.content(log_name(firsts[1]));
  const uint64_t end_of_first = batches_of(disk, firsts[1]).at(0).end;
  for (const uint64_t size : {uint64_t{0}, uint64_t{100}, uint64_t{kSegmentHeaderBytes},
                              end_of_first, end_of_first + 10, uint64_t{content.size() - 1}}) {
    disk.put(log_name(firsts[1]), content.substr(0, size));
    const auto before = disk.everything();
    EXPECT_THAT(recover(disk).outcome.damage, Not(IsEmpty())) << size;
    EXPECT_EQ(disk.everything(), before) << size;
  }
}

TEST(LogRecoveryTest, ARecordThatIsNotAcceptedIsDamage) {
  SimulatedDisk disk;
  write_log(disk, 1000, true);
  LogReplay replay;
  replay.apply = [](Lsn lsn, std::string_view) -> std::string {
    return lsn == 2 ? "no such filter" : "";
  };
  const auto before = disk.everything();
  const LogRecovery outcome = recover_log(disk, kDirectory, 0, replay);
  EXPECT_THAT(outcome.damage,
              AllOf(HasSubstr(log_name(1)), HasSubstr("record 2"), HasSubstr("no such filter")));
  EXPECT_EQ(disk.everything(), before);
}

TEST(LogRecoveryTest, AnErrorOfTheDiskIsNotTakenForATornTail) {
  SimulatedDisk disk;
  write_three_segments(disk);
  const auto before = disk.everything();
  const Recovered sound = recover(disk);
  const uint64_t begin = disk.calls();
  recover(disk);
  const uint64_t calls = disk.calls() - begin;
  for (uint64_t i = 1; i <= calls; ++i) {
    disk.fail({.call = disk.calls() + i, .for_ever = false, .error = -EIO, .partial = false});
    const Recovered recovered = recover(disk);
    EXPECT_THAT(recovered.outcome.damage, HasSubstr("Input/output error")) << "call " << i;
    EXPECT_EQ(disk.everything(), before) << "call " << i;
  }
  EXPECT_TRUE(recover(disk).records == sound.records);
}

// --- what is needed and what is not ---

TEST(LogRecoveryTest, ReplayStartsRightAfterTheSnapshot) {
  SimulatedDisk disk;
  write_three_segments(disk);
  const Recovered sound = recover(disk);
  for (Lsn after = 0; after <= sound.outcome.last_lsn + 5; ++after) {
    const Recovered recovered = recover(disk, after);
    EXPECT_EQ(recovered.outcome.damage, "");
    EXPECT_EQ(recovered.outcome.warning, "");
    std::map<Lsn, std::string> expected(sound.records.upper_bound(after), sound.records.end());
    EXPECT_TRUE(recovered.records == expected) << after;
    EXPECT_EQ(recovered.outcome.last_lsn, std::max(after, sound.outcome.last_lsn));
    EXPECT_EQ(recovered.outcome.records, expected.size());
  }
}

TEST(LogRecoveryTest, DamageToWhatASnapshotHoldsIsNoObstacle) {
  SimulatedDisk disk;
  const std::vector<Lsn> firsts = write_three_segments(disk);
  const Recovered sound = recover(disk);
  const Lsn after = firsts[1] + 10;
  disk.drop(log_name(firsts[0]));
  std::string content = disk.content(log_name(firsts[1]));
  content[batches_of(disk, firsts[1]).at(1).offset + 5] ^= 1;
  disk.put(log_name(firsts[1]), content);
  const Recovered recovered = recover(disk, after);
  EXPECT_EQ(recovered.outcome.damage, "");
  EXPECT_THAT(recovered.outcome.warning, HasSubstr(log_name(firsts[1])));
  std::map<Lsn, std::string> expected(sound.records.upper_bound(after), sound.records.end());
  EXPECT_TRUE(recovered.records == expected);
}

TEST(LogRecoveryTest, AnEmptyDirectoryAndAnEmptySegmentAreSound) {
  SimulatedDisk disk;
  EXPECT_EQ(recover(disk).outcome.damage, "");
  EXPECT_FALSE(recover(disk).outcome.has_seed);
  EXPECT_EQ(recover(disk, 17).outcome.largest_seen, 17U);
  {
    SteppedLog stepped(disk);
    ASSERT_EQ(stepped.log.start(SyncPolicy::kAlways), "");
  }
  const Recovered recovered = recover(disk);
  EXPECT_EQ(recovered.outcome.damage, "");
  EXPECT_EQ(recovered.outcome.warning, "");
  EXPECT_EQ(recovered.outcome.largest_seen, 0U);
  expect_life_goes_on(disk, recovered);
}

TEST(LogRecoveryTest, NumbersOfATornTailAreNotUsedAgain) {
  SimulatedDisk disk;
  {
    SteppedLog stepped(disk);
    ASSERT_EQ(stepped.log.start(SyncPolicy::kNever), "");
    for (uint64_t i = 1; i <= 100; ++i) {
      stepped.log.append(test_record(i));
      stepped.clock.advance_ms(10);
      stepped.log.step();
    }
  }
  // A hole in the middle, good batches behind it, and nobody says that they were synced.
  const Batch hole = batches_of(disk, 1).at(59);
  std::string content = disk.content(log_name(1));
  std::fill(content.begin() + static_cast<std::ptrdiff_t>(hole.offset),
            content.begin() + static_cast<std::ptrdiff_t>(hole.end), '\0');
  disk.put(log_name(1), content);
  const Recovered recovered = recover(disk);
  EXPECT_EQ(recovered.outcome.damage, "");
  EXPECT_THAT(recovered.outcome.warning, HasSubstr("records 60 to 100"));
  EXPECT_EQ(recovered.outcome.last_lsn, 59U);
  EXPECT_EQ(recovered.outcome.largest_seen, 100U);
  EXPECT_EQ(recovered.records.size(), 59U);
  // Also when the start is tried several times before something is written.
  const Recovered again = recover(disk);
  EXPECT_EQ(again.outcome.largest_seen, 100U);
  EXPECT_EQ(again.outcome.warning, "");
  expect_life_goes_on(disk, again);
}

TEST(LogRecoveryTest, LinesInsideItemsAreNotBelieved) {
  // A client that knows everything but the salt writes lines that claim the world.
  SimulatedDisk disk;
  LogSalt guess{.high = 1, .low = 2};
  char text[kMaxBatchLineBytes];
  BatchLine line{.first = 3, .records = 1, .bytes = 0, .synced = 1'000'000};
  const std::string forged(text, encode_line(guess, {}, line, text));
  {
    SteppedLog stepped(disk);
    ASSERT_EQ(stepped.log.start(SyncPolicy::kNever), "");
    for (uint64_t i = 1; i <= 5; ++i) {
      RecordBuilder builder;
      builder.begin(1);
      builder.word(forged + forged);
      stepped.log.append(builder.view());
      stepped.clock.advance_ms(10);
      stepped.log.step();
    }
  }
  std::string content = disk.content(log_name(1));
  content[batches_of(disk, 1).at(2).offset] = 'x';
  disk.put(log_name(1), content);
  const Recovered recovered = recover(disk);
  EXPECT_EQ(recovered.outcome.damage, "");
  EXPECT_EQ(recovered.records.size(), 2U);
  EXPECT_EQ(recovered.outcome.largest_seen, 5U);
}

TEST(LogRecoveryTest, ProgressIsTold) {
  SimulatedDisk disk;
  write_log(disk, 8192, true);
  uint64_t last = 0;
  uint64_t all = 0;
  LogReplay replay;
  replay.apply = [](Lsn, std::string_view) { return std::string(); };
  replay.batch_ended = [&](uint64_t done, uint64_t in_all) {
    EXPECT_GE(done, last);
    last = done;
    all = in_all;
  };
  EXPECT_EQ(recover_log(disk, kDirectory, 0, replay).damage, "");
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, disk.content(log_name(1)).size());
}

}  // namespace
}  // namespace iris::persistence
