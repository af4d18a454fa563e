// A server that is told to end while it loads its data.

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>

#include "tests/unit/server/storage_support.h"

namespace iris::server {
namespace {

using persistence::SimulatedDisk;

// A snapshot with some filters, and a log after it.
void fill(SimulatedDisk& disk) {
  TestServer server(disk, logging_config(AppendFsync::kAlways));
  ASSERT_EQ(server.start(), "");
  TestClient client(server, 0);
  for (int i = 0; i < 20; i++) client.run({"CF.INCR", "counts" + std::to_string(i), "item"});
  ASSERT_EQ(server.snapshot(), "");
  for (int i = 0; i < 20; i++) client.run({"BF.ADD", "filter" + std::to_string(i), "item"});
  ASSERT_TRUE(server.wait_until_durable());
  ASSERT_TRUE(server.stop());
}

// Whatever call of the load it is that the order to stop comes in.
TEST(StorageLoad, AStopEndsItAndLeavesTheFilesAlone) {
  SimulatedDisk disk;
  ASSERT_NO_FATAL_FAILURE(fill(disk));
  const RecoveredState before = recovered_state(*disk.after_power_cut(1));
  ASSERT_EQ(before.error, "");
  int interrupted = 0;
  for (int call = 0;; call++) {
    TestServer server(disk, logging_config(AppendFsync::kAlways));
    std::atomic<int> calls{0};
    std::atomic<bool> ended{false};
    disk.on_call([&] {
      if (ended || calls++ != call) return;
      while (!server.storage.load_progress().cancelled) std::this_thread::yield();
    });
    std::atomic<bool> failed{false};
    server.storage.start([&](const std::string& error) {
      failed = !error.empty();
      ended = true;
    });
    while (!ended && calls <= call) std::this_thread::yield();
    EXPECT_TRUE(server.storage.stop(false)) << "in call " << call;
    disk.on_call({});
    if (failed) interrupted++;
    const RecoveredState after = recovered_state(*disk.after_power_cut(1));
    ASSERT_EQ(after.error, "");
    ASSERT_EQ(after.digest, before.digest) << "after a stop in call " << call;
    if (calls <= call) break;  // the load has no more calls
  }
  std::cout << "interrupted " << interrupted << " times\n";
  EXPECT_GE(interrupted, 3);
}

}  // namespace
}  // namespace iris::server
