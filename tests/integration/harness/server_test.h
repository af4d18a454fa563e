// The fixture of most integration tests: a server with the threads that the parameter says, so that
// each case runs with one worker and with four.
//
//   class EchoTest : public ServerTest {};
//   IRIS_WITH_1_AND_4_THREADS(EchoTest);
//
//   TEST_P(EchoTest, AnswersWhatItWasGiven) {
//     start();                                     or start({"requirepass secret"})
//     EXPECT_EQ(client().call("ECHO", "hi"), bulk("hi"));
//   }
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/harness/reply.h"
#include "tests/integration/harness/resp_client.h"
#include "tests/integration/harness/server_process.h"
#include "tests/sanitized.h"

namespace iris::harness {

class ServerTest : public ::testing::TestWithParam<int> {
 public:
  // Starts the server of this test; ends the test at once if it does not start.
  void start(std::vector<std::string> directives = {}, uint64_t max_files = 0);
  ServerProcess& server() { return *server_; }
  // A connection that is there since start(), for tests that need just one.
  RespClient& client() { return client_; }
  RespClient connect() { return server_->connect(); }
  // A connection that speaks RESP3.
  RespClient connect_resp3();

 private:
  std::unique_ptr<ServerProcess> server_;
  RespClient client_;
};

#define IRIS_WITH_1_AND_4_THREADS(fixture)                            \
  INSTANTIATE_TEST_SUITE_P(Threads, fixture, ::testing::Values(1, 4), \
                           [](const auto& threads) { return std::to_string(threads.param); })

// Leaves a test out, visibly, when the server under test is not Iris.
#define IRIS_ONLY() \
  if (::iris::harness::is_reference()) GTEST_SKIP() << "only Iris has this"

// Memory per connection means nothing when each allocation is padded by a sanitizer.
#define IRIS_SKIP_UNDER_SANITIZERS() \
  if (::iris::kSanitized) GTEST_SKIP() << "memory is not measured under a sanitizer"

// Creates a key of the simplest kind that the server has: BF.RESERVE key 0.01 100.
Reply make_key(RespClient& client, std::string_view key);
// What TYPE says of such a key.
std::string_view made_type();
// Changes a key that make_key() made.
Reply touch_content(RespClient& client, std::string_view key, std::string_view item);

// The value of a field of INFO ("" if it is not there): info(client, "clients",
// "connected_clients").
std::string info(RespClient& client, std::string_view section, std::string_view field);
int64_t info_integer(RespClient& client, std::string_view section, std::string_view field);

// The value of one CONFIG parameter ("<none>" if there is no such parameter).
std::string config(RespClient& client, std::string_view parameter);

}  // namespace iris::harness
