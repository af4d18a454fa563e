// How often a Bloom filter is wrong as it fills, and how many bits it takes, beside the theory:
//
//   bloom_accuracy load    a filter for 1,000,000 items at 1 %: measured and computed rate of false
//                          positives at each tenth of its capacity
//   bloom_accuracy bits    bits an item for rates of 10 % to 0.0001 %
//
// CSV. Theory of blocked and paged layouts is the mixture over block loads of bloom_sizing.h; that
// of the classic layout, and the "textbook" of the second table, are Bloom's formulas
// (1 - e^(-kn/m))^k and log2(1/rate) / ln 2.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <variant>

#include "filters/bloom_filter.h"
#include "filters/bloom_sizing.h"

namespace iris::filters {
namespace {

constexpr uint64_t kItems = 1'000'000;
constexpr double kRate = 0.01;
constexpr uint64_t kSteps = 10;
constexpr uint64_t kProbes = 2'000'000;
constexpr uint64_t kSeed = 12345;

struct Layout {
  const char* name;
  BloomLayout layout;
  LayoutChoice choice;
};
constexpr std::array<Layout, 3> kLayouts = {
    {{"blocked", BloomLayout::kBlocked, LayoutChoice::kBlocked},
     {"paged", BloomLayout::kPaged, LayoutChoice::kPaged},
     {"classic", BloomLayout::kClassic, LayoutChoice::kClassic}}};

// Items are numbers; those that are inside and those that are asked for differ in the first byte.
struct Item {
  Item(char family, uint64_t number) {
    bytes[0] = family;
    std::memcpy(bytes + 1, &number, sizeof number);
  }
  std::string_view view() const { return {bytes, sizeof bytes}; }
  char bytes[9];
};

double computed_rate(const LayerGeometry& layer, uint64_t items) {
  const auto bits = static_cast<double>(layer.bits);
  const auto count = static_cast<double>(items);
  const uint64_t block = block_bits(layer.layout);
  if (block != 0) {
    return blocked_rate(block, layer.hashes, count * static_cast<double>(block) / bits);
  }
  return std::pow(1 - std::exp(-count * layer.hashes / bits), layer.hashes);
}

double measured_rate(const BloomFilter& filter) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < kProbes; ++i) {
    found += filter.contains(filter.hash(Item('?', i).view())) ? 1 : 0;
  }
  return static_cast<double>(found) / kProbes;
}

void print_load(const Layout& layout, StripeTable& stripes) {
  const BloomRequest request{.rate = kRate,
                             .capacity = static_cast<int64_t>(kItems),
                             .nonscaling = true,
                             .layout = layout.choice};
  const auto made = BloomParams::make(request);
  const BloomParams& params = *std::get_if<BloomParams>(&made);
  const auto filter = BloomFilter::create(params, 1, kSeed);
  uint64_t added = 0;
  for (uint64_t step = 1; step <= kSteps; ++step) {
    // A little short of the filter's own idea of full, which counts only items that looked new.
    for (; added < kItems * step / kSteps; ++added) {
      (void)filter->add(filter->hash(Item('!', added).view()), stripes);
    }
    std::printf("%s,%.1f,%.4g,%.4g\n", layout.name, static_cast<double>(step) / kSteps,
                measured_rate(*filter), computed_rate(params.first_layer(), added));
  }
}

void print_bits(double rate) {
  std::printf("textbook,%g,%.2f\n", rate, std::log2(1 / rate) / std::log(2));
  for (const Layout& layout : kLayouts) {
    const auto layer = size_layer(layout.layout, kItems, rate);
    if (!layer) continue;
    std::printf("%s,%g,%.2f\n", layout.name, rate, static_cast<double>(layer->bits) / kItems);
  }
}

int run(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "load") {
    StripeTable stripes;
    std::printf("layout,load,measured,computed\n");
    for (const Layout& layout : kLayouts) print_load(layout, stripes);
    return 0;
  }
  if (what == "bits") {
    std::printf("layout,rate,bits_per_item\n");
    for (const double rate : {0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5, 1e-6}) print_bits(rate);
    return 0;
  }
  std::fprintf(stderr, "usage: bloom_accuracy load|bits\n");
  return 2;
}

}  // namespace
}  // namespace iris::filters

int main(int argc, char** argv) {
  return iris::filters::run(argc, argv);
}
