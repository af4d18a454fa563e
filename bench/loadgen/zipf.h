// Zipf's law: of n items the k-th most popular one is drawn with a probability that is proportional
// to k^-s. s = 0 is uniform; words of a text and visits to pages have s around 1.
//
// Drawn by rejection inversion (Hoermann and Derflinger, 1996): the law is hidden under a curve
// that can be inverted, so there is neither a table of n entries nor a loop over them. A draw takes
// a logarithm and an exponential or two, some 50 ns, whatever n is.
#pragma once

#include <cstdint>

#include "bench/loadgen/random.h"

namespace iris::loadgen {

class Zipf {
 public:
  // items >= 1, exponent > 0.
  Zipf(uint64_t items, double exponent);

  // The rank, 1 for the most popular to `items`.
  uint64_t draw(Random& random) const;

 private:
  double weight(double x) const;            // x^-s, the law itself
  double integral(double x) const;          // of weight, from 1 to x
  double inverse_integral(double y) const;  // the x whose integral is y

  double items_;
  double exponent_;
  double lowest_;  // of the range of integrals that is drawn from
  double highest_;
  double sure_;  // a draw no farther than this below its rank needs no look at the law
};

}  // namespace iris::loadgen
