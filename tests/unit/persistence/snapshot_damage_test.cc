// Whatever happens to a snapshot file, its reader notices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/unit/persistence/log_test_support.h"
#include "tests/unit/persistence/snapshot_forge.h"
#include "tests/unit/persistence/snapshot_test_support.h"

namespace iris::persistence {
namespace {

using testing::HasSubstr;

const std::string kPath = "file";

std::string refusal_of(const std::string& bytes) {
  MemoryFiles files;
  files.set_content(kPath, bytes);
  return refusal(files, kPath);
}

// A little over 64 KB: frames of many sizes, a tail, everything that a file may have.
std::string sample(uint64_t seed = 1) {
  MemoryFiles files;
  std::string error;
  auto writer = SnapshotWriter::create(files, kDataDirectory, 41, 7, error);
  writer->frame(FrameType::kKeys, noise(100, seed));
  writer->frame(FrameType::kHollow, "");
  writer->frame(FrameType::kFilter, noise(64, seed + 1));
  for (uint64_t i = 0; i < 12; ++i) {
    writer->frame(FrameType::kCells, noise(24, seed + i), noise(i * 970, seed - i));
  }
  writer->records(42, 1, add_record("a"));
  writer->records(43, 2, add_record("b") + add_record(noise(1000, 3)));
  EXPECT_EQ(writer->finish(44), "");
  return files.content(snapshot_path(44));
}

TEST(SnapshotDamage, EveryFlippedBitIsNoticed) {
  MemoryFiles files;
  files.set_content(kPath, sample());
  std::string bytes = files.content(kPath);
  ASSERT_GE(bytes.size(), 65'536u);
  ASSERT_EQ(refusal(files, kPath), "");
  uint64_t undetected = 0;
  uint64_t flipped = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; bit += kStride) {
    ++flipped;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    files.set_content(kPath, bytes);
    if (refusal(files, kPath).empty()) ++undetected;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
  std::printf("bits flipped one by one: %llu, undetected: %llu\n",
              static_cast<unsigned long long>(flipped),
              static_cast<unsigned long long>(undetected));
  EXPECT_EQ(undetected, 0u);
}

TEST(SnapshotDamage, NoPayloadOfADamagedFrameIsHandedOut) {
  MemoryFiles files;
  std::string bytes = sample();
  files.set_content(kPath, bytes);
  const Frames sound = read_snapshot(files, kPath).frames;
  for (size_t offset = 0; offset < bytes.size(); offset += 13) {
    bytes[offset] = static_cast<char>(bytes[offset] ^ 4);
    files.set_content(kPath, bytes);
    const Frames damaged = read_snapshot(files, kPath).frames;
    ASSERT_LE(damaged.size(), sound.size());
    ASSERT_TRUE(std::equal(damaged.begin(), damaged.end(), sound.begin())) << offset;
    bytes[offset] = static_cast<char>(bytes[offset] ^ 4);
  }
}

TEST(SnapshotDamage, EveryTruncationIsNoticed) {
  const std::string bytes = sample();
  for (size_t size = 0; size < bytes.size(); size += kStride) {
    ASSERT_NE(refusal_of(bytes.substr(0, size)), "") << size;
  }
}

TEST(SnapshotDamage, WhatIsAppendedIsNoticed) {
  const std::string bytes = sample();
  EXPECT_THAT(refusal_of(bytes + std::string(1, '\0')), HasSubstr("more after the end"));
  EXPECT_THAT(refusal_of(bytes + split_frames(bytes).back()), HasSubstr("more after the end"));
}

TEST(SnapshotDamage, AZeroedPageIsNoticed) {
  const std::string bytes = sample();
  constexpr size_t kPage = 4096;
  for (size_t offset = 0; offset < bytes.size(); offset += kPage) {
    std::string damaged = bytes;
    const size_t size = std::min(kPage, bytes.size() - offset);
    damaged.replace(offset, size, size, '\0');
    EXPECT_NE(refusal_of(damaged), "") << offset;
  }
}

TEST(SnapshotDamage, FramesRemovedRepeatedOrSwappedAreNoticed) {
  const std::vector<std::string> frames = split_frames(sample());
  ASSERT_EQ(join_frames(frames).size(), sample().size());
  for (size_t i = 0; i < frames.size(); ++i) {
    std::vector<std::string> changed = frames;
    changed.erase(changed.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_NE(refusal_of(join_frames(changed)), "") << "removed " << i;
    changed = frames;
    changed.insert(changed.begin() + static_cast<ptrdiff_t>(i), frames[i]);
    EXPECT_NE(refusal_of(join_frames(changed)), "") << "repeated " << i;
    for (size_t j = 0; j < i; ++j) {
      changed = frames;
      std::swap(changed[i], changed[j]);
      EXPECT_NE(refusal_of(join_frames(changed)), "") << "swapped " << i << " and " << j;
    }
  }
}

TEST(SnapshotDamage, AFrameOfAnotherFileIsNoticed) {
  const std::vector<std::string> frames = split_frames(sample(1));
  const std::vector<std::string> others = split_frames(sample(1));  // only the salt is different
  for (size_t i = 0; i < frames.size(); ++i) {
    std::vector<std::string> changed = frames;
    changed[i] = others[i];
    EXPECT_NE(refusal_of(join_frames(changed)), "") << i;
  }
}

TEST(SnapshotDamage, TheRefusalNamesFileAndOffset) {
  std::string bytes = sample();
  const std::vector<std::string> frames = split_frames(bytes);
  const size_t offset = kSnapshotMagic.size() + frames[0].size() + frames[1].size();
  bytes[offset + 20] ^= 1;
  EXPECT_THAT(refusal_of(bytes), HasSubstr("file: offset " + std::to_string(offset) + ": "));
}

// --- right checksums, wrong content ---

std::string records(Lsn first, uint64_t count) {
  return records_head(first, count) + "...";
}

TEST(SnapshotDamage, TheForgeMakesSoundFiles) {
  SnapshotForge forge(5);
  forge.frame(FrameType::kCells, "cells").frame(FrameType::kRecords, records(6, 3)).end(8);
  EXPECT_EQ(refusal_of(forge.bytes()), "");
}

TEST(SnapshotDamage, AnotherVersionIsRefusedByName) {
  EXPECT_THAT(refusal_of(SnapshotForge(5, 2).end(5).bytes()), HasSubstr("version 2"));
}

TEST(SnapshotDamage, ALengthIsNotBelieved) {
  for (const uint64_t announced :
       {kMaxPayloadBytes, kMaxPayloadBytes + 1, uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7,
        UINT64_MAX - 23, UINT64_MAX - 31, uint64_t{5}, uint64_t{0}}) {
    SnapshotForge forge(5);
    forge.raw_frame(static_cast<uint32_t>(FrameType::kCells), 0, announced, noise(100, 1)).end(5);
    EXPECT_NE(refusal_of(forge.bytes()), "") << announced;
  }
}

TEST(SnapshotDamage, UnknownFramesAreRefused) {
  for (const uint32_t type : {0u, kLastFrameType + 1, UINT32_MAX}) {
    EXPECT_THAT(refusal_of(SnapshotForge(5).raw_frame(type, 0, 1, "x").end(5).bytes()),
                HasSubstr("no frame"));
  }
  const auto cells = static_cast<uint32_t>(FrameType::kCells);
  EXPECT_THAT(refusal_of(SnapshotForge(5).raw_frame(cells, 1, 1, "x").end(5).bytes()),
              HasSubstr("no frame"));
}

// Found by the fuzzer: nothing was copied to where no memory was yet.
TEST(SnapshotDamage, AnEmptyPartIsRefused) {
  EXPECT_THAT(refusal_of(SnapshotForge(5)
                             .frame(FrameType::kPart, "")
                             .frame(FrameType::kCells, "x")
                             .end(5)
                             .bytes()),
              HasSubstr("a part without a payload"));
}

TEST(SnapshotDamage, AWrongOrderOfFramesIsRefused) {
  const std::string begin = begin_payload({.salt = kForgedSalt, .lsn = 5});
  EXPECT_THAT(refusal_of(SnapshotForge(5).frame(FrameType::kBegin, begin).end(5).bytes()),
              HasSubstr("second begin"));
  EXPECT_THAT(refusal_of(SnapshotForge(5).frame(FrameType::kPart, "front").end(5).bytes()),
              HasSubstr("without its last part"));
  EXPECT_THAT(refusal_of(SnapshotForge(5).end(5).frame(FrameType::kCells, "").bytes()),
              HasSubstr("more after the end"));
  EXPECT_THAT(refusal_of(SnapshotForge(5).frame(FrameType::kCells, "").bytes()),
              HasSubstr("without an end frame"));
}

TEST(SnapshotDamage, AnEndThatDoesNotFitIsRefused) {
  EXPECT_THAT(refusal_of(SnapshotForge(5).end(4).bytes()), HasSubstr("redo tail"));
  EXPECT_THAT(refusal_of(SnapshotForge(5).end(6).bytes()), HasSubstr("redo tail"));
  EXPECT_THAT(refusal_of(SnapshotForge(5).frame(FrameType::kEnd, "short").bytes()),
              HasSubstr("without its fields"));
  const std::string miscounted = end_payload({.lsn = 5, .frames = 3});
  EXPECT_THAT(refusal_of(SnapshotForge(5).frame(FrameType::kEnd, miscounted).bytes()),
              HasSubstr("2 frames instead of 3"));
}

TEST(SnapshotDamage, ATailWithAGapIsRefused) {
  const auto tail = [](Lsn first, uint64_t count) {
    return refusal_of(
        SnapshotForge(5).frame(FrameType::kRecords, records(first, count)).end(8).bytes());
  };
  EXPECT_EQ(tail(6, 3), "");
  EXPECT_THAT(tail(7, 2), HasSubstr("goes on at 7 after 5"));
  EXPECT_THAT(tail(5, 4), HasSubstr("goes on at 5 after 5"));
  EXPECT_THAT(tail(6, 2), HasSubstr("ends at 7 instead of 8"));
  EXPECT_NE(tail(6, 0), "");
  EXPECT_NE(tail(0, 3), "");
  EXPECT_NE(tail(6, UINT64_MAX), "");
  EXPECT_NE(refusal_of(SnapshotForge(5).frame(FrameType::kRecords, "short").end(5).bytes()), "");
}

TEST(SnapshotDamage, ATailInPartsIsCheckedToo) {
  const std::string payload = records(6, 3);
  for (const Lsn begin : {Lsn{4}, Lsn{5}}) {
    SnapshotForge forge(begin);
    forge.frame(FrameType::kPart, payload.substr(0, 17))
        .frame(FrameType::kRecords, payload.substr(17))
        .end(8);
    EXPECT_EQ(refusal_of(forge.bytes()).empty(), begin == 5);
  }
}

}  // namespace
}  // namespace iris::persistence
