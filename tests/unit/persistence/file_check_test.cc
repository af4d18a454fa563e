#include "persistence/file_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/unit/persistence/segment_forge.h"
#include "tests/unit/persistence/snapshot_forge.h"
#include "tests/unit/persistence/snapshot_test_support.h"

namespace iris::persistence {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Answer {
  bool sound = false;
  std::string text;
};

Answer check(FileSystem& files, const std::string& path, bool print_records = false) {
  std::ostringstream out;
  Answer answer;
  answer.sound = check_file(files, path, out, {.print_records = print_records});
  answer.text = out.str();
  return answer;
}

std::string change(const std::vector<std::string>& words) {
  RecordBuilder builder;
  builder.begin(words.size());
  for (const std::string& word : words) builder.word(word);
  return std::string(builder.view());
}

void write_snapshot(MemoryFiles& files) {
  std::string error;
  auto writer = SnapshotWriter::create(files, kDataDirectory, 41, 7, error);
  writer->frame(FrameType::kKeys, "keys");
  writer->frame(FrameType::kCells, "cells", noise(1000, 1));
  writer->frame(FrameType::kCells, "cells", noise(1000, 2));
  writer->records(42, 2, change({"bf.add", "1", "0", "a"}) + change({"key.del", "k"}));
  ASSERT_EQ(writer->finish(43), "");
}

TEST(FileCheck, SaysWhatASnapshotHolds) {
  MemoryFiles files;
  write_snapshot(files);
  const Answer answer = check(files, snapshot_path(43));
  EXPECT_TRUE(answer.sound);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("a snapshot, "), HasSubstr("begun at LSN 41, exact at LSN 43"),
                    HasSubstr("frames: 6, keys 1 (4 bytes), cells 2 (2010 bytes), records 1"),
                    HasSubstr("records in the redo tail: 2"), HasSubstr("bf.add 1, key.del 1"),
                    HasSubstr("\n  sound\n")));
}

TEST(FileCheck, SaysWhereASnapshotIsDamagedAndWhatAServerWouldDo) {
  MemoryFiles files;
  write_snapshot(files);
  std::string bytes = files.content(snapshot_path(43));
  bytes[200] ^= 1;
  files.set_content(snapshot_path(43), bytes);
  const Answer answer = check(files, snapshot_path(43));
  EXPECT_FALSE(answer.sound);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("NOT SOUND"), HasSubstr("offset 96: the frame's"),
                                 HasSubstr("refuses to start"), Not(HasSubstr("exact at"))));

  const std::string unfinished = snapshot_path(43) + ".tmp";
  files.set_content(unfinished, bytes.substr(0, 500));
  EXPECT_THAT(check(files, unfinished).text, HasSubstr("the next start removes it"));
}

TEST(FileCheck, LooksIntoTheRecordsOfASnapshot) {
  MemoryFiles files;
  const std::string one = change({"bf.add"});
  const auto sound = [&](uint64_t count, const std::string& records) {
    files.set_content("file", SnapshotForge(5)
                                  .frame(FrameType::kRecords, records_head(6, count) + records)
                                  .end(5 + count)
                                  .bytes());
    return check(files, "file").sound;
  };
  EXPECT_TRUE(sound(2, one + one));
  EXPECT_FALSE(sound(1, one + one));
  EXPECT_FALSE(sound(3, one + one));
  EXPECT_FALSE(sound(1, "nonsense"));
}

SegmentForge sample_segment() {
  SegmentForge segment(42, 41);
  segment
      .batch({change({"key.new", "k"}), change({"bf.add", "1", "0", "a"}),
              joined_record(std::vector{change({"bf.add", "1", "0", "b"}),
                                        change({"bf.add", "1", "0", "c \n\"\x01\""})})})
      .batch({change({"key.del", "k"})}, 44);
  return segment;
}

TEST(FileCheck, SaysWhatASegmentHolds) {
  MemoryFiles files;
  SegmentForge segment = sample_segment();
  segment.write_to(files);
  Answer answer = check(files, segment.path());
  EXPECT_TRUE(answer.sound);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("a segment of the log"), HasSubstr("first LSN 42, follows LSN 41"),
                    HasSubstr("batches: 2, records: 4, LSN 42 to 45"),
                    HasSubstr("synced up to LSN 44 when"),
                    HasSubstr("bf.add 3, key.del 1, key.new 1"), Not(HasSubstr("good order"))));
  segment.end(45).write_to(files);
  answer = check(files, segment.path());
  EXPECT_TRUE(answer.sound);
  EXPECT_THAT(answer.text, HasSubstr("synced up to LSN 45 when its last line was written; ended"));
}

TEST(FileCheck, PreparedRoomIsNoHarm) {
  MemoryFiles files;
  SegmentForge segment = sample_segment();
  segment.write_to(files);
  files.set_content(segment.path(), files.content(segment.path()) + std::string(1000, '\0'));
  const Answer answer = check(files, segment.path());
  EXPECT_TRUE(answer.sound);
  EXPECT_THAT(answer.text, HasSubstr("1000 zero bytes behind its end"));
  files.set_content(segment.path(), files.content(segment.path()) + "x");
  EXPECT_FALSE(check(files, segment.path()).sound);
}

TEST(FileCheck, PrintsRecordsSoThatNoByteReachesTheTerminalRaw) {
  MemoryFiles files;
  SegmentForge segment = sample_segment();
  segment.batch({change({"", noise(5000, 1)})}).write_to(files);
  const Answer answer = check(files, segment.path(), true);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("\n  42: key.new k\n"), HasSubstr("\n  43: bf.add 1 0 a\n"),
                    HasSubstr("\n  44: bf.add 1 0 b\n"),
                    HasSubstr("\n  44: bf.add 1 0 \"c \\x0a\\\"\\x01\\\"\"\n"),
                    HasSubstr("\n  46: \"\" \""), HasSubstr("... (5000 bytes)\n")));
  for (const char c : answer.text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
}

TEST(FileCheck, TellsATornTailFromDamage) {
  MemoryFiles files;
  SegmentForge segment = sample_segment();
  segment.bytes().back() ^= 1;
  segment.write_to(files);
  Answer answer = check(files, segment.path());
  EXPECT_FALSE(answer.sound);
  const std::string where = "offset " + std::to_string(segment.offsets()[1]) + ": ";
  EXPECT_THAT(answer.text, AllOf(HasSubstr("NOT SOUND: " + where), HasSubstr("LSN 42 to 44\n")));

  // A snapshot says that the log before LSN 42 is not needed: the tail is torn.
  files.set_content(snapshot_path(41), "");
  answer = check(files, segment.path());
  EXPECT_THAT(answer.text, HasSubstr("recover by itself and report: Cut off the torn end"));

  // A later segment says that LSN 45 was synced.
  SegmentForge(46, 45).write_to(files);
  answer = check(files, segment.path());
  EXPECT_THAT(answer.text, HasSubstr("would refuse: The log is damaged"));

  // A snapshot has all of it.
  files.set_content(snapshot_path(45), "");
  SegmentForge(46, 45).batch({change({"key.del"})}).write_to(files);
  answer = check(files, segment.path());
  EXPECT_FALSE(answer.sound);
  EXPECT_THAT(answer.text, HasSubstr("not need the bad part"));
}

TEST(FileCheck, ChangesNothing) {
  MemoryFiles files;
  SegmentForge segment = sample_segment();
  segment.bytes().resize(segment.bytes().size() - 3);
  segment.write_to(files);
  files.set_content(snapshot_path(41), "");
  const std::string before = files.content(segment.path());
  static_cast<void>(check(files, segment.path()));
  static_cast<void>(check(files, snapshot_path(41)));
  EXPECT_EQ(files.calls(), 0u);
  EXPECT_EQ(files.content(segment.path()), before);
  EXPECT_EQ(files.names().size(), 2u);
}

TEST(FileCheck, EveryTruncationOfASegmentIsAnswered) {
  MemoryFiles files;
  SegmentForge segment = sample_segment();
  const std::string whole = segment.bytes();
  for (size_t size = 0; size <= whole.size(); ++size) {
    files.set_content(segment.path(), whole.substr(0, size));
    const bool at_a_border =
        size == kSegmentHeaderBytes || size == segment.offsets()[1] || size == whole.size();
    EXPECT_EQ(check(files, segment.path()).sound, at_a_border) << size;
  }
}

TEST(FileCheck, ASegmentUnderAnotherNameIsToldItsOwn) {
  MemoryFiles files;
  files.set_content("copy.log", sample_segment().bytes());
  const Answer answer = check(files, "copy.log");
  EXPECT_FALSE(answer.sound);
  EXPECT_THAT(answer.text, HasSubstr("its name should be " + log_name(42)));
}

TEST(FileCheck, KnowsWhatItDoesNotKnow) {
  MemoryFiles files;
  files.set_content("empty", "");
  files.set_content("other", noise(10'000, 3));
  EXPECT_THAT(check(files, "empty").text, HasSubstr("neither"));
  EXPECT_THAT(check(files, "other").text, HasSubstr("neither"));
  EXPECT_THAT(check(files, "missing").text, HasSubstr("cannot read: No such file"));
  files.set_content(snapshot_path(3), noise(10'000, 3));
  EXPECT_THAT(check(files, snapshot_path(3)).text, HasSubstr("not a snapshot"));
}

TEST(FileCheck, ManyKindsOfRecordsAreCountedInBoundedMemory) {
  MemoryFiles files;
  SegmentForge segment(1);
  std::vector<std::string> records;
  records.reserve(1001);
  for (int i = 0; i < 1000; ++i) records.push_back(change({"kind" + std::to_string(i)}));
  records.push_back(change({std::string(100'000, 'x')}));
  segment.batch(records).write_to(files);
  const Answer answer = check(files, segment.path());
  EXPECT_TRUE(answer.sound);
  EXPECT_THAT(answer.text, HasSubstr("others 937"));
  EXPECT_LT(answer.text.size(), 3000u);
}

}  // namespace
}  // namespace iris::persistence
