#include "bench/loadgen/zipf.h"

#include <algorithm>
#include <cmath>

namespace iris::loadgen {

namespace {

// Near an exponent of 1 both of these are 0/0, and the first terms of their series are exact.
constexpr double kSeriesBelow = 1e-8;

// (e^x - 1) / x
double expm1_over(double x) {
  return std::abs(x) > kSeriesBelow ? std::expm1(x) / x : 1 + x / 2;
}

// ln(1 + x) / x
double log1p_over(double x) {
  return std::abs(x) > kSeriesBelow ? std::log1p(x) / x : 1 - x / 2;
}

}  // namespace

Zipf::Zipf(uint64_t items, double exponent)
    : items_(static_cast<double>(items)),
      exponent_(exponent),
      lowest_(integral(1.5) - 1),
      highest_(integral(items_ + 0.5)),
      sure_(2 - inverse_integral(integral(2.5) - weight(2))) {}

uint64_t Zipf::draw(Random& random) const {
  for (;;) {
    const double y = highest_ + random.unit() * (lowest_ - highest_);
    const double x = inverse_integral(y);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, items_);
    if (rank - x <= sure_ || y >= integral(rank + 0.5) - weight(rank)) {
      return static_cast<uint64_t>(rank);
    }
  }
}

double Zipf::weight(double x) const {
  return std::exp(-exponent_ * std::log(x));
}

// (x^(1-s) - 1) / (1 - s), which is ln(x) at s = 1
double Zipf::integral(double x) const {
  const double log = std::log(x);
  return expm1_over((1 - exponent_) * log) * log;
}

double Zipf::inverse_integral(double y) const {
  const double scaled = std::max(y * (1 - exponent_), -1.0);  // rounding may pass the edge
  return std::exp(log1p_over(scaled) * y);
}

}  // namespace iris::loadgen
