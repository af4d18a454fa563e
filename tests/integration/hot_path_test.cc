// What a service asks a million times a second costs no allocation, neither for the request nor for
// the reply. A library that is preloaded into the server counts those of its workers.
#include <cstring>
#include <fstream>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

struct Variant {
  int threads;
  const char* appendonly;
};

std::string name_of(const testing::TestParamInfo<Variant>& info) {
  return "Threads" + std::to_string(info.param.threads) + "Log" + info.param.appendonly;
}

class HotPathTest : public ::testing::TestWithParam<Variant> {
 public:
  static constexpr int kPipeline = 100;
  static constexpr int kItems = 5000;

  void SetUp() override {
    std::ofstream(counts_) << std::string(sizeof(uint64_t), '\0');
    ServerOptions options;
    options.threads = GetParam().threads;
    options.directives = {std::string("appendonly ") + GetParam().appendonly};
    options.environment = {{"LD_PRELOAD", IRIS_ALLOCATION_SHIM},
                           {"IRIS_TEST_ALLOCATIONS", counts_}};
    server_ = std::make_unique<ServerProcess>(options);
    ASSERT_TRUE(server_->start());
    client_ = server_->connect();
    ASSERT_EQ(client_.command("BF.RESERVE f 0.01 1000000"), ok());
    ASSERT_EQ(client_.command("CF.RESERVE c 1000000"), ok());
  }
  void TearDown() override { ::unlink(counts_.c_str()); }

  uint64_t allocations() const {
    uint64_t count = 0;
    std::string bytes(sizeof count, '\0');
    std::ifstream(counts_).read(bytes.data(), sizeof count);
    std::memcpy(&count, bytes.data(), sizeof count);
    return count;
  }

  struct Requests {
    std::string_view command;
    std::string_view key;
    int first_item;
  };
  // kItems items in a row, again and again, in pipelines that are small enough to arrive as one
  // piece.
  void run(const Requests& requests, int pipelines) {
    for (int i = 0; i < pipelines; ++i) {
      std::string bytes;
      for (int j = 0; j < kPipeline; ++j) {
        const int item = requests.first_item + (i * kPipeline + j) % kItems;
        bytes += encode({requests.command, requests.key, "item:" + std::to_string(item)});
      }
      ASSERT_TRUE(client_.send(bytes));
      for (int j = 0; j < kPipeline; ++j) {
        ASSERT_EQ(client_.read().type, Reply::Type::kInteger) << requests.command;
      }
    }
  }

  RespClient& client() { return client_; }

 private:
  const std::string counts_ =
      ::testing::TempDir() + "/iris-allocations-" + std::to_string(::getpid());
  std::unique_ptr<ServerProcess> server_;
  RespClient client_;
};
INSTANTIATE_TEST_SUITE_P(Variants, HotPathTest,
                         ::testing::Values(Variant{1, "no"}, Variant{1, "yes"}, Variant{4, "no"},
                                           Variant{4, "yes"}),
                         name_of);

TEST_P(HotPathTest, AddsLookupsAndCountsAllocateNothing) {
  constexpr int kToWarmUp = 5;  // the first ones make buffers, which stay
  constexpr int kMeasured = 2 * kItems / kPipeline;
  // The log gets its memory by the megabyte, two allocations each, until it has some to spare. All
  // adds of a command here are about one; how many blocks that takes depends on the disk.
  const uint64_t most = GetParam().appendonly == std::string_view("yes") ? kMeasured / 2 : 0;
  // Every item twice: new and known ones, counts of one and more. Every other lookup finds its
  // item.
  for (const Requests& requests :
       {Requests{"BF.ADD", "f", 0}, Requests{"BF.EXISTS", "f", kItems / 2},
        Requests{"CF.INCR", "c", 0}, Requests{"CF.COUNT", "c", kItems / 2}}) {
    run(requests, kToWarmUp);
    const uint64_t before = allocations();
    run(requests, kMeasured);
    EXPECT_LE(allocations() - before, most) << requests.command;
  }
}

TEST_P(HotPathTest, WhatIsAllocatedIsSeen) {
  const uint64_t before = allocations();
  ASSERT_EQ(client().command("BF.RESERVE g 0.01 100"), ok());
  EXPECT_GT(allocations(), before);
}

}  // namespace
}  // namespace iris::harness
