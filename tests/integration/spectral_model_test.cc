// A random mix of commands against an exact map: no count is too low, few are too high, and what
// the filter says of its sum is exact. After everything was taken away it equals a fresh filter.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <random>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

class SpectralModelTest : public ServerTest {
 public:
  // Draws one random command on "f", to be sent with the next ones. Takes away only what the map
  // says is there, so it knows what each must answer.
  void step() {
    const std::string item = "item" + std::to_string(random_() % kItems);
    int64_t& count = counts_[item];
    const auto amount = static_cast<int64_t>(1 + random_() % (random_() % 20 == 0 ? 100'000 : 5));
    const auto kind = random_() % 6;
    if (kind < 2) {
      count += amount;
      ask({"CF.INCR", "f", item, std::to_string(amount)}, count);
    } else if (kind == 2 && count > 0) {
      const int64_t taken = std::min(count, amount);
      count -= taken;
      ask({"CF.DECR", "f", item, std::to_string(taken)}, count);
    } else if (kind == 3 && count > 0) {
      count--;
      ask({"CF.DEL", "f", item}, 1);
    } else if (kind == 4) {
      count++;
      ask({"CF.ADD", "f", item}, 1);
    } else {
      ask({"CF.COUNT", "f", item}, count);
    }
  }

  void ask(const std::vector<std::string_view>& words, int64_t at_least) {
    requests_ += encode(words);
    expected_.push_back(at_least);
    if (expected_.size() == kPipelined) read_answers();
  }

  void read_answers() {
    ASSERT_TRUE(client().send(requests_));
    for (const int64_t at_least : expected_) {
      const Reply reply = client().read();
      ASSERT_EQ(reply.type, Reply::Type::kInteger);
      too_low_ += reply.integer < at_least ? 1 : 0;
    }
    answered_ += expected_.size();
    requests_.clear();
    expected_.clear();
    EXPECT_EQ(too_low_, 0);
  }

  void check_all() {
    int64_t sum = 0;
    double too_high = 0;
    for (const auto& [item, count] : counts_) {
      const int64_t estimate = client().call("CF.COUNT", "f", item).integer;
      EXPECT_GE(estimate, count) << item;
      too_high += estimate > count ? 1 : 0;
      sum += count;
    }
    EXPECT_EQ(client().command("CF.INFO f").at("Number of items inserted"), integer(sum));
    const auto items = static_cast<double>(counts_.size());
    // The promise, and five standard deviations of it.
    EXPECT_LE(too_high / items, kRate + 5 * std::sqrt(kRate / items));
    std::cout << "commands " << answered_ << ", too low " << too_low_ << ", of " << items
              << " items too high " << too_high << "\n";
  }

  // Through its own text, in place.
  void dump_and_restore() {
    const Reply before = client().command("DEBUG DIGEST-VALUE f");
    const std::string text = client().command("DUMP f").text;
    ASSERT_EQ(client().call("RESTORE", "f", "0", text, "REPLACE"), ok());
    EXPECT_EQ(client().command("CF.COMPACT f"), ok());
    EXPECT_EQ(client().command("DEBUG DIGEST-VALUE f"), before);
  }

  void take_everything_away() {
    for (auto& [item, count] : counts_) {
      if (count > 0) ask({"CF.DECR", "f", item, std::to_string(count)}, 0);
      count = 0;
    }
    read_answers();
  }

  static constexpr unsigned kItems = 3000;
  static constexpr double kRate = 0.01;
  static constexpr size_t kPipelined = 500;
  std::map<std::string, int64_t> counts_;
  std::mt19937 random_;
  std::string requests_;
  std::vector<int64_t> expected_;
  size_t answered_ = 0;
  int64_t too_low_ = 0;
};
IRIS_WITH_1_AND_4_THREADS(SpectralModelTest);

TEST_P(SpectralModelTest, ARandomMixAgreesWithAnExactMap) {
  start();
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::cout << "seed " << seed << ": ";
  random_.seed(seed);
  ASSERT_EQ(client().command("CF.RESERVE f 100 ERROR 0.01"), ok());
  const int steps = kSanitized ? 30'000 : 500'000;
  for (int i = 0; i < steps && !HasFailure(); ++i) {
    step();
    if (i % (steps / 5) == steps / 10) {
      read_answers();
      dump_and_restore();
    }
  }
  read_answers();
  check_all();
  EXPECT_GT(client().command("CF.INFO f").at("Number of filters").integer, 1);
  take_everything_away();
  EXPECT_EQ(client().command("CF.INFO f").at("Number of items inserted"), integer(0));
  for (const auto& [item, count] : counts_) {
    ASSERT_EQ(client().call("CF.COUNT", "f", item), integer(0)) << item;
  }
  ASSERT_EQ(client().command("CF.RESERVE fresh 100 ERROR 0.01"), ok());
  const Reply fresh = client().command("DEBUG DIGEST-VALUE fresh");
  EXPECT_EQ(client().command("DEBUG DIGEST-VALUE f"), fresh);
  EXPECT_EQ(client().command("CF.COMPACT f"), ok());
  EXPECT_EQ(client().command("DEBUG DIGEST-VALUE f"), fresh);
}

}  // namespace
}  // namespace iris::harness
