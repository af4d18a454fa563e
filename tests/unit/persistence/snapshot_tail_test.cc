// The redo tail: the log's records between the begin and the end of a snapshot, all of them, once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/persistence/segment_forge.h"
#include "tests/unit/persistence/snapshot_test_support.h"

namespace iris::persistence {
namespace {

using testing::HasSubstr;

std::string record(Lsn lsn) {
  return add_record("item " + std::to_string(lsn));
}

std::string records(Lsn first, Lsn last) {
  std::string bytes;
  for (Lsn lsn = first; lsn <= last; ++lsn) bytes += record(lsn);
  return bytes;
}

struct Tail {
  std::string error;
  std::string records;
};

Tail snapshot_with_tail(MemoryFiles& files, Lsn begin, Lsn end) {
  Tail tail;
  auto writer = SnapshotWriter::create(files, kDataDirectory, begin, 7, tail.error);
  writer->frame(FrameType::kCells, "cells");
  writer->append_tail(end);
  tail.error = writer->finish(end);
  if (!tail.error.empty()) return tail;
  const ReadSnapshot read = read_snapshot(files, snapshot_path(end));
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.end, end);
  for (const auto& [type, payload] : read.frames) {
    SnapshotRecords part;
    if (type != FrameType::kRecords) continue;
    EXPECT_TRUE(parse_records(payload, part));
    tail.records += part.records;
  }
  return tail;
}

TEST(SnapshotTail, HoldsExactlyTheRecordsOfItsRange) {
  MemoryFiles files;
  SegmentForge(1).batch({record(1), record(2)}).write_to(files);
  SegmentForge(3)
      .batch({record(3)})
      .batch({record(4), record(5)})
      .batch({record(6)})
      .write_to(files);
  SegmentForge(7).batch({record(7)}).end(7).write_to(files);
  SegmentForge(8).batch({record(8)}).write_to(files);
  const Tail tail = snapshot_with_tail(files, 2, 7);
  EXPECT_EQ(tail.error, "");
  EXPECT_EQ(tail.records, records(3, 7));
}

TEST(SnapshotTail, IsEmptyIfNothingHappened) {
  MemoryFiles files;
  const Tail tail = snapshot_with_tail(files, 7, 7);
  EXPECT_EQ(tail.error, "");
  EXPECT_EQ(tail.records, "");
}

TEST(SnapshotTail, TakesARecordLargerThanAFrame) {
  MemoryFiles files;
  const std::string large = add_record(noise(kMaxPayloadBytes + 1000, 1));
  SegmentForge(3).batch({record(3)}).batch({large}).batch({record(5)}).write_to(files);
  const Tail tail = snapshot_with_tail(files, 2, 5);
  EXPECT_EQ(tail.error, "");
  EXPECT_TRUE(tail.records == record(3) + large + record(5));
}

TEST(SnapshotTail, ABatchThatWasTornAndWrittenAgainInTheNextSegmentIsTakenOnce) {
  MemoryFiles files;
  SegmentForge torn(3);
  torn.batch({record(3)}).batch({record(4)});
  torn.bytes().resize(torn.bytes().size() - 5);
  torn.write_to(files);
  SegmentForge(4).batch({record(4), record(5)}).write_to(files);
  const Tail tail = snapshot_with_tail(files, 2, 5);
  EXPECT_EQ(tail.error, "");
  EXPECT_EQ(tail.records, records(3, 5));
}

TEST(SnapshotTail, AMissingRecordEndsTheSnapshot) {
  MemoryFiles files;
  SegmentForge(3).batch({record(3)}).write_to(files);
  EXPECT_THAT(snapshot_with_tail(files, 2, 4).error, HasSubstr("ends at LSN 3 instead of 4"));
  SegmentForge(5).batch({record(5)}).write_to(files);
  EXPECT_THAT(snapshot_with_tail(files, 2, 5).error, HasSubstr("ends at LSN 3 instead of 5"));
  EXPECT_FALSE(files.has(snapshot_path(5)));
  EXPECT_THAT(snapshot_with_tail(files, 1, 3).error, HasSubstr("ends at LSN 1 instead of 3"));
}

TEST(SnapshotTail, ASegmentThatIsNotCutAtTheEndEndsTheSnapshot) {
  MemoryFiles files;
  SegmentForge(3).batch({record(3), record(4)}).write_to(files);
  EXPECT_THAT(snapshot_with_tail(files, 2, 3).error, HasSubstr("ends at LSN 2 instead of 3"));
}

TEST(SnapshotTail, EveryFlippedBitOfTheSegmentIsNoticed) {
  MemoryFiles files;
  SegmentForge segment(3);
  segment.batch({record(3)}).batch({record(4), record(5)}).end(5);
  const size_t last_line = segment.offsets().back();
  std::string& bytes = segment.bytes();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    segment.write_to(files);
    const Tail tail = snapshot_with_tail(files, 2, 5);
    // The last line holds no record: without it all of them are still there.
    ASSERT_EQ(tail.error.empty(), bit / 8 >= last_line) << bit;
    ASSERT_TRUE(!tail.error.empty() || tail.records == records(3, 5));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
}

}  // namespace
}  // namespace iris::persistence
