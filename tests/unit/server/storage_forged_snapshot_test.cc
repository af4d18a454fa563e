// Snapshots whose checksums are right and whose content is not: what a forger could bring, or a bug
// could write. They are refused with a reason, or are something that a server could have saved;
// nothing crashes, and no number in a file makes the server take memory for it.

#define XXH_INLINE_ALL
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <xxhash.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "persistence/data_directory.h"
#include "persistence/record.h"
#include "server/change_words.h"
#include "server/snapshot_content.h"
#include "tests/unit/persistence/snapshot_forge.h"
#include "tests/unit/server/storage_support.h"

namespace iris::server {
namespace {

using persistence::FrameType;
using persistence::RecordBuilder;
using persistence::SimulatedDisk;
using persistence::SnapshotForge;

constexpr persistence::Lsn kLsn = 1000;

struct Frame {
  FrameType type;
  std::string payload;
};

uint64_t largest_memory_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss);
}

// The server's own frames of a sound snapshot.
std::vector<Frame> frames_of(const std::string& file) {
  std::vector<Frame> frames;
  for (const std::string& bytes : persistence::split_frames(file)) {
    uint32_t type = 0;
    uint64_t size = 0;
    std::memcpy(&type, bytes.data(), sizeof type);
    std::memcpy(&size, bytes.data() + 8, sizeof size);
    const auto kind = static_cast<FrameType>(type);
    if (kind == FrameType::kBegin || kind == FrameType::kEnd) continue;
    frames.push_back({kind, bytes.substr(persistence::kFrameHeadBytes, size)});
  }
  return frames;
}

std::vector<Frame> sound_frames() {
  SimulatedDisk disk;
  TestServer server(disk, snapshots_only_config());
  EXPECT_EQ(server.start(), "");
  TestClient client(server, 0);
  client.run({"BF.RESERVE", "blocked", "0.01", "20"});
  client.run({"BF.RESERVE", "paged", "0.01", "20", "LAYOUT", "PAGED"});
  client.run({"BF.RESERVE", "classic", "0.01", "20", "LAYOUT", "CLASSIC"});
  client.run({"CF.RESERVE", "spectral", "20"});
  client.run({"CF.RESERVE", "raised", "20", "POLICY", "MI"});
  for (int i = 0; i < 60; i++) {
    const std::string item = std::to_string(i);
    for (const char* key : {"blocked", "paged", "classic"}) client.run({"BF.ADD", key, item});
    client.run({"CF.INCR", "spectral", item, i % 7 == 0 ? "100000" : "1"});
    client.run({"CF.INCR", "raised", item, "9"});
  }
  for (const std::string family : {"BF", "CF"}) {
    const std::string source = family == "BF" ? "blocked" : "spectral";
    std::string iterator = "0";
    for (int piece = 0; piece < 2; piece++) {
      const std::string reply = client.run({family + ".SCANDUMP", source, iterator});
      iterator = std::to_string(std::stoll(reply.substr(5)));
      EXPECT_EQ(client.run({family + ".LOADCHUNK", "load" + family, iterator, last_bulk(reply)}),
                "+OK\r\n");
    }
  }
  EXPECT_EQ(server.snapshot(), "");
  for (const std::string& name : disk.names()) {
    if (persistence::snapshot_lsn(name)) return frames_of(disk.content(name));
  }
  return {};
}

// What a server says that starts with these frames and records.
std::string start_with(const std::vector<Frame>& frames,
                       const std::vector<std::string>& records = {}) {
  SnapshotForge forge(kLsn);
  for (const Frame& frame : frames) forge.frame(frame.type, frame.payload);
  if (!records.empty()) {
    std::string payload = persistence::records_head(kLsn + 1, records.size());
    for (const std::string& record : records) payload += record;
    forge.frame(FrameType::kRecords, payload);
  }
  const persistence::Lsn end = kLsn + records.size();
  forge.end(end);
  SimulatedDisk disk;
  disk.put(persistence::snapshot_name(end), forge.bytes());
  const auto before = disk.everything();
  std::string error = recovered_state(disk).error;
  if (!error.empty()) {
    EXPECT_TRUE(disk.everything() == before) << "a refused file was changed";
  }
  return error;
}

std::string record(const std::vector<std::string>& words) {
  RecordBuilder builder;
  builder.begin(words.size());
  for (const std::string& word : words) builder.word(word);
  return std::string(builder.view());
}

class ForgedSnapshot : public testing::Test {
 protected:
  static const std::vector<Frame>& sound() {
    static const std::vector<Frame> frames = sound_frames();
    return frames;
  }
  // The id of the first filter of a kind.
  static std::string id_of(SavedKind kind) {
    for (const Frame& frame : sound()) {
      SavedFilter filter;
      if (frame.type == FrameType::kFilter && parse_saved(frame.payload, filter) &&
          filter.kind == kind) {
        return std::to_string(filter.id);
      }
    }
    return "";
  }
  static std::string header_of(SavedKind kind) {
    for (const Frame& frame : sound()) {
      SavedFilter filter;
      if (frame.type == FrameType::kFilter && parse_saved(frame.payload, filter) &&
          filter.kind == kind) {
        return std::string(filter.header);
      }
    }
    return "";
  }
};

TEST_F(ForgedSnapshot, WhatIsSoundIsLoaded) {
  EXPECT_GE(sound().size(), 10U);
  EXPECT_EQ(start_with(sound()), "");
  const std::string bloom = id_of(SavedKind::kBloom);
  const std::string spectral = id_of(SavedKind::kSpectral);
  EXPECT_EQ(
      start_with(sound(),
                 {record({"bf.add", bloom, "0", "item"}),
                  record({std::string(change::kSpectralAdd), spectral, "0", "1", "1", "item"})}),
      "");
}

TEST_F(ForgedSnapshot, FramesThatAreMissingOrTwiceAreRefused) {
  for (size_t i = 0; i < sound().size(); i++) {
    std::vector<Frame> frames = sound();
    frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(i));
    const bool keys = sound()[i].type == FrameType::kKeys;
    const bool loading = sound()[i].type == FrameType::kLoading;
    // Without its keys nothing is wrong with a filter: it may have been deleted meanwhile. Without
    // its second piece a load is one that has come less far.
    if (!keys && !loading) {
      EXPECT_NE(start_with(frames), "") << "without frame " << i;
    } else {
      static_cast<void>(start_with(frames));
    }
    frames = sound();
    frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(i), sound()[i]);
    if (!loading) {
      EXPECT_NE(start_with(frames), "") << "frame " << i << " twice";
    }
  }
}

TEST_F(ForgedSnapshot, RecordsThatDoNotFitAreRefused) {
  const std::string bloom = id_of(SavedKind::kBloom);
  const std::string spectral = id_of(SavedKind::kSpectral);
  const std::string bloom_header = header_of(SavedKind::kBloom);
  const std::string add(change::kSpectralAdd);
  const std::string subtract(change::kSpectralSubtract);
  const std::string raise(change::kSpectralRaise);
  const std::string huge = "18446744073709551615";
  const std::vector<std::vector<std::string>> forged = {
      {"nonsense"},
      {""},
      {"bf.add"},
      {"bf.add", "999999", "0", "item"},
      {"bf.add", huge, "0", "item"},
      {"bf.add", "-1", "0", "item"},
      {"bf.add", bloom, "77", "item"},
      {"bf.add", bloom, huge, "item"},
      {"bf.add", spectral, "0", "item"},
      {add, bloom, "0", "1", "1", "item"},
      {add, spectral, "99", "1", "1", "item"},
      {add, spectral, "4294967295", "1", "1", "item"},
      {add, spectral, "0", huge, "1", "item"},
      {add, spectral, "0", "1", "1", "item", "0"},
      {add, spectral, "0", "-1", "1", "item"},
      {subtract, spectral, "0", "1000000000", "0", "item"},
      {subtract, spectral, "0", huge, "0", "item"},
      {subtract, spectral, "0", "1", "-1000000", "never counted"},
      {raise, spectral, "0", huge, huge, "1", "item"},
      {std::string(change::kBloomLayer), bloom, "no header"},
      {std::string(change::kBloomLayer), bloom, ""},
      {std::string(change::kSpectralLayer), spectral, bloom_header},
      {std::string(change::kNew), "0", "blocked2", "-1", bloom, "bloom", bloom_header},
      {std::string(change::kNew), "999", "key", "-1", "5000", std::string(change::kBloom),
       bloom_header},
      {std::string(change::kNew), "0", "key", "-1", "5000", "unheard of", bloom_header},
      {std::string(change::kNew), "0", "key", "-1", "5000", std::string(change::kBloom), "x"},
      {std::string(change::kNew), "0", "key", "soon", "5000", std::string(change::kBloom),
       bloom_header},
      {std::string(change::kRestore), "0", "key", "-1", "5000", std::string(change::kBloom), "x"},
      {std::string(change::kRestore), "0", "key", "-1", "5000", std::string(change::kSpectral), ""},
      {std::string(change::kCopy), "0", "key", "-1", "5000", bloom},
      {std::string(change::kMerge), "0", "key", "-1", "5000", bloom, spectral},
      {std::string(change::kCopy), "0", "key", "-1", bloom, bloom},
      {std::string(change::kBegin), "0", "key", "-1", "5000", "5001", std::string(change::kBloom),
       "x"},
      {std::string(change::kLoad), bloom, "2", "data"},
      {std::string(change::kLoad), "5000", "2", "data"},
      {std::string(change::kLoaded), "0", "key", "-1", "5000", bloom},
      {std::string(change::kDelete), "0", "no such key"},
      {std::string(change::kDelete), "77", "blocked"},
      {std::string(change::kExpire), "0", "no such key", "5"},
      {std::string(change::kExpire), "0", "blocked", "soon"},
      {std::string(change::kMove), "0", "no such key", "1", "key"},
      {std::string(change::kMove), "0", "blocked", "99", "key"},
      {std::string(change::kFlush), "99"},
      {std::string(change::kSwap), "0", "99"},
  };
  for (const std::vector<std::string>& words : forged) {
    EXPECT_NE(start_with(sound(), {record(words)}), "") << testing::PrintToString(words);
  }
  std::cout << "forged records " << forged.size() << ", all refused\n";
}

TEST_F(ForgedSnapshot, KeysThatDoNotFitAreRefused) {
  const uint64_t bloom = std::stoull(id_of(SavedKind::kBloom));
  const auto with_key = [&](const SavedKey& key) {
    std::vector<Frame> frames = sound();
    std::string payload;
    append_saved(payload, key);
    frames.insert(frames.begin(), {FrameType::kKeys, payload});
    return start_with(frames);
  };
  EXPECT_NE(with_key({0, -1, 987654, "of no filter"}), "");
  EXPECT_NE(with_key({0, -1, bloom, "of another's filter"}), "");
  EXPECT_NE(with_key({99, -1, bloom, "of no database"}), "");
  EXPECT_NE(with_key({UINT32_MAX, -1, UINT64_MAX, ""}), "");
}

// Numbers that break things, at every place of every frame.
TEST_F(ForgedSnapshot, NoNumberCrashesOrTakesMemory) {
  const uint64_t memory_before_kb = largest_memory_kb();
  std::vector<uint64_t> numbers = {0,
                                   1,
                                   63,
                                   64,
                                   65,
                                   4096,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   uint64_t{1} << 36,
                                   uint64_t{1} << 44,
                                   uint64_t{1} << 53,
                                   (uint64_t{1} << 63) - 1,
                                   uint64_t{1} << 63,
                                   UINT64_MAX - 63,
                                   UINT64_MAX};
  for (const double real : {std::numeric_limits<double>::quiet_NaN(), -0.0, 1.0, 1e-300, 1e300}) {
    uint64_t bits = 0;
    std::memcpy(&bits, &real, sizeof bits);
    numbers.push_back(bits);
  }
  constexpr size_t kPlaces = kSanitized ? 16 : 160;
  uint64_t tried = 0;
  uint64_t refused = 0;
  for (size_t i = 0; i < sound().size(); i++) {
    const size_t size = sound()[i].payload.size();
    for (size_t place = 0; place < std::min(size, kPlaces); place += 4) {
      for (const uint64_t number : numbers) {
        for (const size_t width : {size_t{4}, size_t{8}}) {
          if (place + width > size || (width == 4 && number > UINT32_MAX)) continue;
          std::vector<Frame> frames = sound();
          std::memcpy(frames[i].payload.data() + place, &number, width);
          tried++;
          refused += start_with(frames).empty() ? 0 : 1;
        }
      }
    }
  }
  const uint64_t memory_kb = largest_memory_kb() - memory_before_kb;
  std::cout << "forged numbers " << tried << ", refused " << refused
            << ", taken for what a server could have saved " << tried - refused
            << ", memory grown by " << memory_kb << " KB\n";
  if (!kSanitized) {
    EXPECT_LT(memory_kb, uint64_t{256} << 10);
  }
}

TEST_F(ForgedSnapshot, NoNoiseCrashes) {
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  constexpr uint64_t kTries = kSanitized ? 500 : 4000;
  uint64_t refused = 0;
  for (uint64_t i = 0; i < kTries; i++) {
    std::vector<Frame> frames = sound();
    const size_t changes = 1 + random() % 3;
    for (size_t change = 0; change < changes; change++) {
      std::string& payload = frames[random() % frames.size()].payload;
      const size_t place = random() % (payload.size() + 1);
      switch (random() % 4) {
        case 0:
          payload.resize(place);
          break;
        case 1:
          payload.insert(place, std::string(1 + random() % 9, static_cast<char>(random())));
          break;
        case 2:
          std::swap(frames[random() % frames.size()], frames[random() % frames.size()]);
          break;
        default:
          if (place < payload.size()) payload[place] = static_cast<char>(random());
          break;
      }
    }
    refused += start_with(frames).empty() ? 0 : 1;
  }
  std::cout << "seed " << seed << ", forged files " << kTries << ", refused " << refused << "\n";
}

}  // namespace
}  // namespace iris::server
