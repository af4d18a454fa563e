#include "persistence/snapshot_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/persistence/snapshot_test_support.h"

namespace iris::persistence {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::unique_ptr<SnapshotWriter> begin_snapshot(FileSystem& files, Lsn begin, uint64_t seed = 7) {
  std::string error;
  auto writer = SnapshotWriter::create(files, kDataDirectory, begin, seed, error);
  EXPECT_EQ(error, "");
  return writer;
}

TEST(SnapshotFile, GivesBackEveryFrameInOrder) {
  MemoryFiles files;
  auto writer = begin_snapshot(files, 41, 0x1234567890abcdef);
  writer->frame(FrameType::kKeys, "some", "keys");
  writer->frame(FrameType::kFilter, "");
  writer->frame(FrameType::kCells, noise(3, 1), noise(64 << 10, 2));
  writer->records(42, 2, add_record("a") + add_record("b"));
  writer->records(44, 1, add_record("c"));
  EXPECT_EQ(writer->finish(44), "");
  const uint64_t bytes = writer->bytes();
  writer.reset();

  EXPECT_THAT(files.names(), ElementsAre(snapshot_path(44)));
  EXPECT_EQ(files.content(snapshot_path(44)).size(), bytes);
  const ReadSnapshot read = read_snapshot(files, snapshot_path(44));
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.begin, 41u);
  EXPECT_EQ(read.end, 44u);
  EXPECT_EQ(read.hash_seed, 0x1234567890abcdefu);
  EXPECT_THAT(read.frames,
              ElementsAre(Pair(FrameType::kKeys, "somekeys"), Pair(FrameType::kFilter, ""),
                          Pair(FrameType::kCells, noise(3, 1) + noise(64 << 10, 2)),
                          Pair(FrameType::kRecords,
                               records_head(42, 2) + add_record("a") + add_record("b")),
                          Pair(FrameType::kRecords, records_head(44, 1) + add_record("c"))));
}

TEST(SnapshotFile, MayBeEmpty) {
  MemoryFiles files;
  auto writer = begin_snapshot(files, 0);
  EXPECT_EQ(writer->finish(0), "");
  const ReadSnapshot read = read_snapshot(files, snapshot_path(0));
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.frames, IsEmpty());
}

TEST(SnapshotFile, FramesOfEverySizeAroundTheBuffersSurvive) {
  MemoryFiles files;
  auto writer = begin_snapshot(files, 1);
  std::vector<size_t> sizes;
  for (size_t size = 0; size < 70; ++size) sizes.push_back(size);
  for (const size_t middle : {size_t{1} << 20, size_t{4} << 20}) {
    for (size_t size = middle - 40; size < middle + 40; size += 5) sizes.push_back(size);
  }
  for (const size_t size : sizes) writer->frame(FrameType::kCells, "head", noise(size, size));
  ASSERT_EQ(writer->finish(1), "");

  std::string error;
  const auto reader = SnapshotReader::open(files, snapshot_path(1), error);
  ASSERT_NE(reader, nullptr) << error;
  SnapshotFrame frame;
  for (const size_t size : sizes) {
    ASSERT_TRUE(reader->next(frame)) << reader->error();
    ASSERT_EQ(frame.payload, "head" + noise(size, size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.payload.data()) % 8, 0u);
  }
  EXPECT_FALSE(reader->next(frame));
  EXPECT_EQ(reader->error(), "");
  EXPECT_EQ(reader->bytes_read(), reader->bytes_in_all());
}

TEST(SnapshotFile, APayloadBeyondTheLimitGoesInPartsAndComesBackWhole) {
  MemoryFiles files;
  const std::string body = noise(2 * kMaxPayloadBytes + 12345, 3);
  auto writer = begin_snapshot(files, 9);
  writer->frame(FrameType::kCells, "before");
  writer->records(10, 5, body);
  writer->frame(FrameType::kCells, "", body.substr(0, kMaxPayloadBytes));
  ASSERT_EQ(writer->finish(14), "");
  writer.reset();

  std::string error;
  auto reader = SnapshotReader::open(files, snapshot_path(14), error);
  ASSERT_NE(reader, nullptr) << error;
  SnapshotFrame frame;
  ASSERT_TRUE(reader->next(frame));
  EXPECT_EQ(frame.payload, "before");
  ASSERT_TRUE(reader->next(frame));
  EXPECT_EQ(frame.type, FrameType::kRecords);
  EXPECT_TRUE(frame.payload == records_head(10, 5) + body);
  ASSERT_TRUE(reader->next(frame));
  EXPECT_TRUE(frame.payload == std::string_view(body).substr(0, kMaxPayloadBytes));
  EXPECT_FALSE(reader->next(frame));
  EXPECT_EQ(reader->error(), "");

  reader = SnapshotReader::open(files, snapshot_path(14), error);
  ASSERT_NE(reader, nullptr) << error;
  reader->leave_parts_apart();
  std::vector<FrameType> types;
  while (reader->next(frame)) types.push_back(frame.type);
  EXPECT_EQ(reader->error(), "");
  EXPECT_THAT(types, ElementsAre(FrameType::kCells, FrameType::kPart, FrameType::kPart,
                                 FrameType::kRecords, FrameType::kCells));
}

TEST(SnapshotFile, ShortWritesAndReadsAreContinued) {
  for (const size_t bite : {size_t{1}, size_t{7}, size_t{4096}}) {
    MemoryFiles files;
    files.set_bite(bite);
    auto writer = begin_snapshot(files, 1);
    writer->frame(FrameType::kCells, "head", noise(100'000, 5));
    ASSERT_EQ(writer->finish(1), "");
    const ReadSnapshot read = read_snapshot(files, snapshot_path(1));
    EXPECT_EQ(read.error, "");
    EXPECT_THAT(read.frames, ElementsAre(Pair(FrameType::kCells, "head" + noise(100'000, 5))));
  }
}

TEST(SnapshotFile, AnAppendThatTakesNothingIsAnErrorAndNoEndlessLoop) {
  MemoryFiles files;
  files.set_bite(0);
  auto writer = begin_snapshot(files, 1);
  EXPECT_THAT(writer->finish(1), HasSubstr("cannot write"));
}

TEST(SnapshotFile, ANewSnapshotRemovesOlderOnesAndReplacesItsLike) {
  MemoryFiles files;
  for (const Lsn lsn : {Lsn{3}, Lsn{5}, Lsn{5}}) {
    auto writer = begin_snapshot(files, lsn);
    writer->frame(FrameType::kKeys, std::to_string(lsn));
    ASSERT_EQ(writer->finish(lsn), "");
  }
  EXPECT_THAT(files.names(), ElementsAre(snapshot_path(5)));
}

TEST(SnapshotFile, AWriterThatIsGivenUpLeavesNothing) {
  MemoryFiles files;
  auto writer = begin_snapshot(files, 3);
  writer->frame(FrameType::kCells, noise(3 << 20, 1));
  EXPECT_THAT(files.names(),
              ElementsAre(path_in(kDataDirectory, temporary_name(snapshot_name(3)))));
  writer.reset();
  EXPECT_THAT(files.names(), IsEmpty());
}

TEST(SnapshotFile, ALeftoverOfTheSameNameIsReplaced) {
  MemoryFiles files;
  files.set_content(path_in(kDataDirectory, temporary_name(snapshot_name(3))), "half a snapshot");
  auto writer = begin_snapshot(files, 3);
  ASSERT_EQ(writer->finish(3), "");
  EXPECT_EQ(refusal(files, snapshot_path(3)), "");
}

TEST(SnapshotFile, ATailThatDoesNotReachTheEndIsRefused) {
  MemoryFiles files;
  auto writer = begin_snapshot(files, 3);
  writer->records(4, 1, add_record("a"));
  EXPECT_THAT(writer->finish(5), HasSubstr("ends at 4, not at 5"));
  writer.reset();
  EXPECT_THAT(files.names(), IsEmpty());
}

TEST(SnapshotFile, TheNameMustFitTheEnd) {
  MemoryFiles files;
  auto writer = begin_snapshot(files, 3);
  ASSERT_EQ(writer->finish(3), "");
  files.set_content(snapshot_path(4), files.content(snapshot_path(3)));
  files.set_content("backup", files.content(snapshot_path(3)));
  EXPECT_THAT(refusal(files, snapshot_path(4)), HasSubstr("name does not fit"));
  EXPECT_EQ(refusal(files, "backup"), "");
}

TEST(SnapshotFile, SaysWhatItIsNot) {
  MemoryFiles files;
  EXPECT_THAT(refusal(files, "missing"), HasSubstr("missing: cannot open"));
  files.set_content("empty", "");
  EXPECT_THAT(refusal(files, "empty"), HasSubstr("not a snapshot"));
  files.set_content("other", "#iris-log version=1");
  EXPECT_THAT(refusal(files, "other"), HasSubstr("not a snapshot"));
}

}  // namespace
}  // namespace iris::persistence
