// A log as a crash may leave it, or a bad disk, and a server that starts with it: cut anywhere,
// with something behind its end, or with a wrong byte in the middle. (Every offset and every bit
// are tried in tests/unit/persistence; here it is a real server that starts.)

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "persistence/data_directory.h"
#include "persistence/log_format.h"
#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

using ::testing::HasSubstr;

constexpr size_t kLogBytes = 64 * 1024;
constexpr int kRandomCuts = 300;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// Without the zeros that were prepared for the next batches.
size_t used_bytes(const std::string& log) {
  return log.find_last_not_of('\0') + 1;
}

struct Batch {
  size_t begin;
  size_t end;
  uint64_t last_lsn;
  uint64_t synced;
};

// A log of about 64 KB: a filter, then increments by 1 of one item, so its count tells how many
// records are left.
class LogCut : public ::testing::Test {
 public:
  void SetUp() override {
    std::cout << "seed " << seed_ << "\n";
    {
      ServerProcess writer({.directives = kDirectives, .threads = 2});
      ASSERT_TRUE(writer.start());
      RespClient client = writer.connect();
      ASSERT_EQ(client.call("CF.RESERVE", "counts", "100"), ok());
      const std::string log = writer.dir() + "/" + name_;
      while (used_bytes(content_of(log)) < kLogBytes) {
        const size_t burst = 1 + random_() % 12;
        for (size_t i = 0; i < burst; ++i) client.send_command({"CF.INCR", "counts", "item"});
        ASSERT_EQ(client.read_replies(burst).size(), burst);
      }
      writer.kill(SIGKILL);
      ASSERT_EQ(writer.wait_for_exit(), 128 + SIGKILL);
      log_ = content_of(log);
    }
    zeros_ = log_.substr(used_bytes(log_));
    log_.resize(used_bytes(log_));
    find_batches();
  }

  void find_batches() {
    const auto header = persistence::parse_header(log_);
    ASSERT_TRUE(header.has_value());
    size_t at = persistence::kSegmentHeaderBytes;
    while (at < log_.size()) {
      const auto line = persistence::parse_line(header->salt, std::string_view(log_).substr(at));
      ASSERT_TRUE(line.has_value()) << "at " << at;
      const size_t end = at + line->line_bytes + line->bytes;
      batches_.push_back({at, end, line->last(), line->synced});
      at = end;
    }
    ASSERT_EQ(at, log_.size());
    ASSERT_GT(batches_.size(), 20U);
  }

  // The directory holds this log and nothing else.
  void put(std::string_view log) {
    for (const auto& entry : std::filesystem::directory_iterator(server_.dir())) {
      if (entry.path().filename().string().starts_with("iris")) {
        std::filesystem::remove(entry.path());
      }
    }
    std::ofstream(server_.dir() + "/" + name_, std::ios::binary) << log;
  }

  // Starts with this log; how many records it has kept. What the server has said of it is in said_.
  int64_t records_after_start(std::string_view log) {
    put(log);
    const size_t said_before = server_.log().size();
    if (!server_.start()) return -1;
    RespClient client = server_.connect();
    const Reply count = client.call("CF.COUNT", "counts", "item");
    const bool has_filter = client.call("EXISTS", "counts") == integer(1);
    said_ = server_.log().substr(said_before);
    server_.kill(SIGKILL);
    EXPECT_EQ(server_.wait_for_exit(), 128 + SIGKILL);
    return has_filter ? count.integer + 1 : 0;
  }

  // Of the batches that end at or before this byte.
  int64_t records_up_to(size_t offset) const {
    uint64_t records = 0;
    for (const Batch& batch : batches_) {
      if (batch.end <= offset) records = batch.last_lsn;
    }
    return static_cast<int64_t>(records);
  }

  bool is_border(size_t offset) const {
    return offset == persistence::kSegmentHeaderBytes ||
           std::any_of(batches_.begin(), batches_.end(),
                       [offset](const Batch& batch) { return batch.end == offset; });
  }

 protected:
  static inline const std::vector<std::string> kDirectives = {"appendonly yes",
                                                              "appendfsync always"};
  const uint64_t seed_ = std::random_device()();
  std::mt19937_64 random_{seed_};
  const std::string name_ = persistence::log_name(1);
  std::string log_;
  std::string zeros_;
  std::vector<Batch> batches_;
  ServerProcess server_{{.directives = kDirectives, .threads = 2}};
  std::string said_;
};

TEST_F(LogCut, ALogCutAnywhereStartsAndTheServerSaysWhatItDropped) {
  std::set<size_t> offsets = {0, 1, persistence::kSegmentHeaderBytes - 1,
                              persistence::kSegmentHeaderBytes,
                              persistence::kSegmentHeaderBytes + 1};
  for (const Batch& batch : batches_) {
    offsets.insert({batch.end - 1, batch.end, std::min(batch.end + 1, log_.size())});
  }
  for (int i = 0; i < kRandomCuts; ++i) offsets.insert(random_() % (log_.size() + 1));
  int said = 0;
  for (const size_t offset : offsets) {
    ASSERT_EQ(records_after_start(std::string_view(log_).substr(0, offset)), records_up_to(offset))
        << "cut at " << offset;
    if (is_border(offset)) {
      EXPECT_EQ(said_.find("Cut off"), std::string::npos) << "cut at " << offset;
    } else if (offset > persistence::kSegmentHeaderBytes) {
      EXPECT_THAT(said_, HasSubstr("Cut off the torn end of the log at " + name_)) << offset;
      ++said;
    }
  }
  std::cout << "log of " << log_.size() << " bytes, batches " << batches_.size() << ", starts "
            << offsets.size() << ", of which failed 0, told what they dropped " << said << "\n";
}

TEST_F(LogCut, WhatLiesBehindTheEndIsDropped) {
  const int64_t all = records_up_to(log_.size());
  const Batch& old = batches_[batches_.size() / 2];
  ASSERT_FALSE(zeros_.empty());
  std::vector<std::string> tails = {zeros_,
                                    std::string(1, '\0'),
                                    std::string(4096, '\0'),
                                    log_.substr(old.begin, old.end - old.begin),
                                    log_.substr(old.begin),
                                    log_};
  for (int i = 0; i < 40; ++i) {
    std::string noise(1 + random_() % 5000, ' ');
    for (char& byte : noise) byte = static_cast<char>(random_());
    tails.push_back(noise);
    // Half of a batch, then zeros: what a file system may leave.
    tails.push_back(std::string(random_() % 600, '\0') + noise.substr(0, noise.size() / 2));
  }
  for (const std::string& tail : tails) {
    ASSERT_EQ(records_after_start(log_ + tail), all) << tail.size() << " bytes";
    const bool is_zeros = tail.find_first_not_of('\0') == std::string::npos;
    EXPECT_THAT(said_, HasSubstr((is_zeros ? std::to_string(tail.size()) + " bytes of zeros"
                                           : std::string("the torn end of the log")) +
                                 " at " + name_ + ", byte " + std::to_string(log_.size())));
  }
  std::cout << "tails " << tails.size() << ", starts that failed 0\n";
}

TEST_F(LogCut, AWrongByteInWhatWasSyncedStopsTheStart) {
  int flips = 0;
  for (size_t i = 0; i < batches_.size() && flips < 60; i += 1 + random_() % 4) {
    const Batch& batch = batches_[i];
    // Does a later line say that this batch was on disk?
    const bool known =
        std::any_of(batches_.begin() + static_cast<std::ptrdiff_t>(i) + 1, batches_.end(),
                    [&](const Batch& later) { return later.synced >= batch.last_lsn; });
    if (!known) break;
    std::string damaged = log_;
    const size_t at = batch.begin + random_() % (batch.end - batch.begin);
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random_() % 8));
    put(damaged);
    const size_t said_before = server_.log().size();
    ASSERT_EQ(server_.start_in_vain(), 1) << "byte " << at;
    said_ = server_.log().substr(said_before);
    EXPECT_THAT(said_, HasSubstr("The log is damaged at " + name_ + ", byte " +
                                 std::to_string(batch.begin)));
    ASSERT_TRUE(content_of(server_.dir() + "/" + name_) == damaged) << "the file was changed";
    for (const auto& entry : std::filesystem::directory_iterator(server_.dir())) {
      const std::string name = entry.path().filename();
      if (name.starts_with("iris-")) {
        EXPECT_EQ(name, name_);
      }
    }
    ++flips;
  }
  EXPECT_GT(flips, 5);
  std::cout << "wrong bytes " << flips << ", all refused with exit code 1, files unchanged\n";
}

}  // namespace
}  // namespace iris::harness
