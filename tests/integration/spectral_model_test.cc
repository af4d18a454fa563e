// A random mix of commands against an exact map: no count is too low, few are too high, and what
// the filter says of its sum is exact. After everything was taken away it equals a fresh filter.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

class SpectralModelTest : public ServerTest {
 public:
  // One random command on "f". Takes away only what the map says is there.
  void step() {
    const std::string item = "item" + std::to_string(random_() % kItems);
    int64_t& count = counts_[item];
    const auto amount = static_cast<int64_t>(1 + random_() % (random_() % 20 == 0 ? 100'000 : 5));
    switch (random_() % 6) {
      case 0:
      case 1:
        expect_at_least(client().call("CF.INCR", "f", item, std::to_string(amount)),
                        count += amount);
        break;
      case 2:
        if (count > 0) {
          const int64_t taken = std::min(count, amount);
          expect_at_least(client().call("CF.DECR", "f", item, std::to_string(taken)),
                          count -= taken);
        }
        break;
      case 3:
        if (count > 0) {
          EXPECT_EQ(client().call("CF.DEL", "f", item), integer(1));
          count--;
        }
        break;
      case 4:
        EXPECT_EQ(client().call("CF.INSERT", "f", "ITEMS", item, item),
                  array({integer(1), integer(1)}));
        count += 2;
        break;
      default:
        expect_at_least(client().call("CF.COUNT", "f", item), count);
    }
  }

  void expect_at_least(const Reply& reply, int64_t count) {
    ASSERT_EQ(reply.type, Reply::Type::kInteger);
    EXPECT_GE(reply.integer, count);
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
  }

  // Through its own text, in place.
  void dump_and_restore() {
    const Reply before = client().command("DEBUG DIGEST-VALUE f");
    const std::string text = client().command("DUMP f").text;
    ASSERT_EQ(client().call("RESTORE", "f", "0", text, "REPLACE"), ok());
    EXPECT_EQ(client().command("CF.COMPACT f"), ok());
    EXPECT_EQ(client().command("DEBUG DIGEST-VALUE f"), before);
  }

  static constexpr unsigned kItems = 3000;
  static constexpr double kRate = 0.01;
  std::map<std::string, int64_t> counts_;
  std::mt19937 random_;
};
IRIS_WITH_1_AND_4_THREADS(SpectralModelTest);

TEST_P(SpectralModelTest, ARandomMixAgreesWithAnExactMap) {
  start();
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random_.seed(seed);
  ASSERT_EQ(client().command("CF.RESERVE f 100 ERROR 0.01"), ok());
  const int steps = kSanitized ? 10'000 : 60'000;
  for (int i = 0; i < steps && !HasFailure(); ++i) {
    step();
    if (i % (steps / 3) == steps / 6) dump_and_restore();
  }
  check_all();
  EXPECT_GT(client().command("CF.INFO f").at("Number of filters").integer, 1);
  for (const auto& [item, count] : counts_) {
    if (count > 0) {
      const Reply reply = client().call("CF.DECR", "f", item, std::to_string(count));
      ASSERT_EQ(reply.type, Reply::Type::kInteger) << item;
    }
  }
  EXPECT_EQ(client().command("CF.INFO f").at("Number of items inserted"), integer(0));
  ASSERT_EQ(client().command("CF.RESERVE fresh 100 ERROR 0.01"), ok());
  EXPECT_EQ(client().command("DEBUG DIGEST-VALUE f"), client().command("DEBUG DIGEST-VALUE fresh"));
}

}  // namespace
}  // namespace iris::harness
