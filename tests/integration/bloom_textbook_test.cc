// The cases of the textbooks, measured through the server: what Bloom filters promise on paper. All
// bounds are 5 sigma of what was measured; where m is so small that the formula is only roughly
// right, the expectation is a model with k independent random positions.
#include <sys/socket.h>

#include <cmath>
#include <random>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

constexpr size_t kItemsPerCommand = 20'000;

// (1 - e^(-kn/m))^k
double formula_rate(double m, double n, double k) {
  return std::pow(1 - std::exp(-k * n / m), k);
}

// A request of `count` items "<prefix><first>", "<prefix><first + 1>", ...
std::string request_of(std::string_view command, std::string_view key, std::string_view prefix,
                       uint64_t first, size_t count) {
  std::string request = "*" + std::to_string(count + 2) + "\r\n";
  const auto append = [&request](std::string_view arg) {
    request += "$" + std::to_string(arg.size()) + "\r\n";
    request.append(arg).append("\r\n");
  };
  append(command);
  append(key);
  for (size_t i = 0; i < count; ++i) {
    append(std::string(prefix) + std::to_string(first + i));
  }
  return request;
}

class BloomTextbookTest : public ServerTest {
 public:
  // How many of the items answered 1. Requests are pipelined and the bytes of the replies counted
  // as they come: ten million Reply objects would take longer than the filter.
  uint64_t ones(std::string_view command, std::string_view key, std::string_view prefix,
                uint64_t items) {
    uint64_t sent = 0, answered = 0, yes = 0;
    while (answered < items) {
      if (sent < items && sent - answered <= kItemsPerCommand) {
        const size_t count = std::min<uint64_t>(kItemsPerCommand, items - sent);
        if (!client().send(request_of(command, key, prefix, sent, count))) break;
        sent += count;
        continue;
      }
      char bytes[64 * 1024];
      const ssize_t got = ::recv(client().fd(), bytes, sizeof bytes, 0);
      if (got <= 0) break;
      for (ssize_t i = 0; i < got; ++i) {
        if (bytes[i] == ':') ++answered;
        if (bytes[i] == '1' && previous_ == ':') ++yes;
        previous_ = bytes[i];
      }
    }
    EXPECT_EQ(answered, items);
    EXPECT_TRUE(drain()) << "the last line end";
    return yes;
  }
  // Adds n items and returns the share of false answers to as many absent probes.
  double measured_rate(std::string_view key, uint64_t items, uint64_t probes) {
    const uint64_t added = ones("BF.MADD", key, "in:", items);
    EXPECT_LE(added, items);
    EXPECT_EQ(client().call("BF.CARD", key), integer(static_cast<int64_t>(added)));
    EXPECT_EQ(ones("BF.MEXISTS", key, "in:", items), items) << "a false negative";
    const uint64_t wrong = ones("BF.MEXISTS", key, "absent:", probes);
    return static_cast<double>(wrong) / static_cast<double>(probes);
  }

 private:
  // Takes what is left of the last line: at most "1\r\n".
  bool drain() {
    for (char byte = previous_; byte != '\n';) {
      if (::recv(client().fd(), &byte, 1, 0) != 1) return false;
      previous_ = byte;
    }
    return true;
  }

  char previous_ = '\n';
};
INSTANTIATE_TEST_SUITE_P(Threads, BloomTextbookTest, ::testing::Values(2));

TEST_P(BloomTextbookTest, TenMillionItemsInAHundredMillionBitsWithSevenHashes) {
  start();
  const uint64_t items = kSanitized ? 500'000 : 10'000'000;
  const uint64_t probes = kSanitized ? 500'000 : 2'000'000;
  ASSERT_EQ(client().call("BF.INITBYDIM", "f", std::to_string(10 * items), "7"), ok());
  const double rate = measured_rate("f", items, probes);
  // With 2,000,000 probes 5 % are 6 sigma, with 500,000 8 % are 5.
  EXPECT_NEAR(rate, 0.0082, 0.0082 * (kSanitized ? 0.08 : 0.05));
  EXPECT_EQ(client().command("BF.INFO f FILTERS"), array({integer(1)}));
}

TEST_P(BloomTextbookTest, ALoadOfFivePercentWithOneToFiveHashes) {
  start();
  const uint64_t items = kSanitized ? 10'000 : 50'000;
  const uint64_t probes = kSanitized ? 100'000 : 400'000;
  const double m = 20.0 * static_cast<double>(items), n = static_cast<double>(items);
  for (int k = 1; k <= 5; ++k) {
    const std::string key = "k" + std::to_string(k);
    ASSERT_EQ(client().call("BF.INITBYDIM", key, std::to_string(20 * items), std::to_string(k)),
              ok());
    const double rate = measured_rate(key, items, probes);
    const double expected = formula_rate(m, n, k);
    // The probes vary, and so does the number of bits that the items set.
    const double load = k * n / m, clear = std::exp(-load);
    const double fill_sigma = std::sqrt(m * clear * (1 - (1 + load) * clear)) / (m * (1 - clear));
    const double sigma =
        std::hypot(std::sqrt(expected / static_cast<double>(probes)), k * expected * fill_sigma);
    EXPECT_NEAR(rate, expected, 5 * sigma) << "k = " << k;
  }
}

TEST_P(BloomTextbookTest, EachAdditional4Point8BitsAnItemMakeTheRateTenTimesSmaller) {
  start();
  const uint64_t items = kSanitized ? 10'000 : 100'000;
  const uint64_t probes = kSanitized ? 100'000 : 1'000'000;
  for (int step = 1; step <= 4; ++step) {
    const double bits_per_item = 4.8 * step;
    const auto hashes = static_cast<int>(std::lround(bits_per_item * std::log(2)));
    const std::string key = "step" + std::to_string(step);
    const auto bits = static_cast<uint64_t>(bits_per_item * static_cast<double>(items));
    ASSERT_EQ(client().call("BF.INITBYDIM", key, std::to_string(bits), std::to_string(hashes)),
              ok());
    const double rate = measured_rate(key, items, probes);
    const double expected = std::pow(10, -step);
    // A whole number of hashes and 4.8 for 4.79 are worth 2 % in all.
    const double sigma = std::sqrt(expected / static_cast<double>(probes));
    EXPECT_NEAR(rate, expected, 5 * sigma + 0.04 * expected) << bits_per_item << " bits an item";
  }
}

TEST_P(BloomTextbookTest, AReservedFilterPays4Point8BitsForATenthOfTheRate) {
  start();
  for (const auto& [layout, tolerance] :
       std::vector<std::pair<std::string, double>>{{"CLASSIC", 0.05}, {"PAGED", 0.25}}) {
    double before = 0;
    for (const std::string rate : {"0.1", "0.01", "0.001", "0.0001"}) {
      client().command("DEL f");
      client().call("BF.RESERVE", "f", rate, "1000000", "NONSCALING", "LAYOUT", layout);
      const double bits = static_cast<double>(client().command("BF.STATS f").at("bits").integer);
      if (before > 0) {
        EXPECT_NEAR((bits - before) / 1e6, 4.8, tolerance) << layout << ' ' << rate;
      }
      before = bits;
    }
  }
}

// The mean rate of many filters of m bits after n items, asked for absent items, and its sigma.
struct Mean {
  double value, sigma;
};
Mean mean_of(const std::vector<double>& rates) {
  double sum = 0, squares = 0;
  for (const double rate : rates) sum += rate, squares += rate * rate;
  const auto count = static_cast<double>(rates.size());
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean) / count)};
}

// k independent positions an item, which may coincide.
Mean model_mean(uint32_t m, uint32_t k, int items, int filters) {
  std::mt19937 random(1);
  std::vector<double> rates;
  for (int i = 0; i < filters; ++i) {
    std::vector<bool> bits(m);
    for (uint32_t j = 0; j < k * static_cast<uint32_t>(items); ++j) bits[random() % m] = true;
    const auto set = static_cast<double>(std::count(bits.begin(), bits.end(), true));
    rates.push_back(std::pow(set / m, k));
  }
  return mean_of(rates);
}

TEST_P(BloomTextbookTest, TinyFiltersBehaveAsOnPaper) {
  start();
  constexpr int kProbes = 50;
  const int filters = kSanitized ? 300 : 2000;
  // The figure of every textbook: 18 bits, 3 hashes, the set {x, y, z}; and the length of 100.
  for (const auto& [m, items] : {std::pair{18U, 3}, std::pair{100U, 20}}) {
    std::vector<double> rates;
    for (int i = 0; i < filters; ++i) {
      const std::string key = std::to_string(m) + ":" + std::to_string(i);
      client().send_command({"BF.INITBYDIM", key, std::to_string(m), "3"});
      client().send(request_of("BF.MADD", key, key + "/", 0, static_cast<size_t>(items)));
      client().send(request_of("BF.MEXISTS", key, key + "/", 0, static_cast<size_t>(items)));
      client().send(request_of("BF.MEXISTS", key, key + "/", 1000, kProbes));
      const std::vector<Reply> replies = client().read_replies(4);
      ASSERT_EQ(replies[0], ok());
      for (const Reply& known : replies[2].elements) ASSERT_EQ(known, integer(1));
      double wrong = 0;
      for (const Reply& answer : replies[3].elements) wrong += static_cast<double>(answer.integer);
      rates.push_back(wrong / kProbes);
    }
    const Mean measured = mean_of(rates), model = model_mean(m, 3, items, 20'000);
    EXPECT_NEAR(measured.value, model.value, 5 * std::hypot(measured.sigma, model.sigma))
        << m << " bits";
  }
}

}  // namespace
}  // namespace iris::harness
