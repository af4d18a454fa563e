// How much memory a spectral filter takes for a stream of counts, and how right its counts are.
//
// The stream: 1,000,000 distinct items whose counts follow a Zipf law (or are all 1), one increment
// at a time in random order, into a filter reserved for 1,000,000 items at an error rate of 1 %
// with EXPANSION 0. With exponent 1.0 that is 10,058,297 increments. Beside it a count-min sketch
// of 32-bit counters with the same memory as the filter took, fed the same stream.
//
//     spectral_accuracy [ITEMS]         prints one table, in Markdown
//
// Columns: memory; items whose count is exactly right; the mean error over all items and the
// largest; counts too low (must be 0); absent items with a count above 0 (promised: at most 1 %).
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "filters/spectral_filter.h"

namespace iris::filters {
namespace {

constexpr uint64_t kSeed = 20240229;
constexpr double kRate = 0.01;
// All counts are at least 1; what is left of ten increments an item follows the law.
constexpr double kMeanCount = 10;
constexpr uint32_t kSketchDepth = 4;

struct Stream {
  std::vector<uint32_t> counts;      // by item
  std::vector<uint32_t> increments;  // items, in random order
};

// Exponent 0: all counts 1.
Stream make_stream(uint32_t items, double exponent) {
  Stream stream;
  stream.counts.assign(items, 1);
  if (exponent > 0) {
    double norm = 0;
    for (uint32_t i = 1; i <= items; ++i) norm += std::pow(i, -exponent);
    for (uint32_t i = 0; i < items; ++i) {
      const double share = std::pow(i + 1, -exponent) / norm;
      stream.counts[i] += static_cast<uint32_t>(std::lround((kMeanCount - 1) * items * share));
    }
  }
  for (uint32_t i = 0; i < items; ++i) {
    stream.increments.insert(stream.increments.end(), stream.counts[i], i);
  }
  std::mt19937_64 random(kSeed);
  std::shuffle(stream.increments.begin(), stream.increments.end(), random);
  return stream;
}

ItemHash hash_of(uint64_t item) {
  return hash_item("item:" + std::to_string(item), kSeed);
}

// The textbook's sketch, as RedisBloom's CMS has it: every row counts, the estimate is the least.
class CountMinSketch {
 public:
  explicit CountMinSketch(uint64_t bytes)
      : width_(bytes / sizeof(uint32_t) / kSketchDepth), cells_(width_ * kSketchDepth) {}

  void increment(const ItemHash& hash) {
    for (uint32_t row = 0; row < kSketchDepth; ++row) ++cells_[position(hash, row)];
  }
  uint64_t count(const ItemHash& hash) const {
    uint32_t least = UINT32_MAX;
    for (uint32_t row = 0; row < kSketchDepth; ++row) {
      least = std::min(least, cells_[position(hash, row)]);
    }
    return least;
  }
  uint64_t bytes() const { return cells_.size() * sizeof(uint32_t); }

 private:
  uint64_t position(const ItemHash& hash, uint32_t row) const {
    return row * width_ + (hash.low + row * hash.high) % width_;
  }
  uint64_t width_;
  std::vector<uint32_t> cells_;
};

template <typename Count>
void print_row(const std::string& name, const Stream& stream, uint64_t bytes, double ns,
               Count&& count) {
  const auto items = static_cast<uint32_t>(stream.counts.size());
  uint64_t exact = 0, low = 0, largest = 0, false_positives = 0;
  double error_sum = 0;
  for (uint32_t i = 0; i < items; ++i) {
    const uint64_t estimate = count(hash_of(i));
    exact += estimate == stream.counts[i] ? 1 : 0;
    if (estimate < stream.counts[i]) {
      ++low;
      continue;
    }
    const uint64_t error = estimate - stream.counts[i];
    error_sum += static_cast<double>(error);
    largest = std::max(largest, error);
  }
  for (uint32_t i = 0; i < items; ++i) {
    false_positives += count(hash_of(uint64_t{items} + 12345 + i)) > 0 ? 1 : 0;
  }
  const double share = 100.0 / items;
  std::printf("| %s | %.2f | %.2f | %.4f | %" PRIu64 " | %" PRIu64 " | %.2f | %.0f |\n",
              name.c_str(), static_cast<double>(bytes) / 1e6, share * static_cast<double>(exact),
              error_sum / items, largest, low, share * static_cast<double>(false_positives), ns);
}

// Of this process's time, not the wall's: the machine may be shared.
double ns_since(std::clock_t start, size_t operations) {
  return static_cast<double>(std::clock() - start) * (1e9 / CLOCKS_PER_SEC) /
         static_cast<double>(operations);
}

// Returns the memory that the filter took.
uint64_t run_filter(const std::string& law, const Stream& stream, SpectralPolicy policy) {
  const SpectralRequest request{.capacity = static_cast<int64_t>(stream.counts.size()),
                                .rate = kRate,
                                .expansion = 0,
                                .policy = policy};
  const auto params = std::get<SpectralParams>(SpectralParams::make(request));
  StripeTable stripes;
  auto filter = SpectralFilter::create(params, 1, kSeed);
  const std::clock_t start = std::clock();
  for (const uint32_t item : stream.increments) {
    const auto result = filter->increment(hash_of(item), 1, stripes);
    if (result.status == SpectralStatus::kOk) continue;
    std::fprintf(stderr, "an increment was refused: status %d\n", static_cast<int>(result.status));
    std::exit(1);
  }
  const double ns = ns_since(start, stream.increments.size());
  const char* const name = policy == SpectralPolicy::kMinimumSelection ? ", MS" : ", MI";
  print_row(law + name, stream, filter->memory_bytes(), ns,
            [&](const ItemHash& hash) { return filter->count(hash, stripes); });
  return filter->memory_bytes();
}

void run_law(const std::string& law, uint32_t items, double exponent) {
  const Stream stream = make_stream(items, exponent);
  const std::string name = law + " (" + std::to_string(stream.increments.size()) + ")";
  const uint64_t bytes = run_filter(name, stream, SpectralPolicy::kMinimumSelection);
  run_filter(name, stream, SpectralPolicy::kMinimalIncrease);
  CountMinSketch sketch(bytes);
  const std::clock_t start = std::clock();
  for (const uint32_t item : stream.increments) sketch.increment(hash_of(item));
  print_row(name + ", count-min sketch", stream, sketch.bytes(),
            ns_since(start, stream.increments.size()),
            [&](const ItemHash& hash) { return sketch.count(hash); });
}

int run(int argc, char** argv) {
  const auto items = static_cast<uint32_t>(argc > 1 ? std::atol(argv[1]) : 1000000);
  if (items < 4 || items > 100000000) {
    std::fprintf(stderr, "usage: spectral_accuracy [ITEMS, 4 to 100000000]\n");
    return 2;
  }
  std::printf(
      "| counts (increments) | memory, MB | exact, %% | mean error | largest error | too low "
      "| absent > 0, %% | ns an increment |\n|---|---|---|---|---|---|---|---|\n");
  run_law("Zipf 1.0", items, 1.0);
  run_law("Zipf 1.3", items, 1.3);
  run_law("all 1", items, 0);
  return 0;
}

}  // namespace
}  // namespace iris::filters

int main(int argc, char** argv) {
  return iris::filters::run(argc, argv);
}
