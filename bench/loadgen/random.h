// Random numbers for choosing items and keys: splitmix64, a few instructions each. The generator
// must cost less than the server that it drives, and std::mt19937_64 keeps 2.5 KB of state that
// would lie in the cache instead of requests.
#pragma once

#include <cstdint>

namespace iris::loadgen {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }
  // Uniform in [0, limit). The bias of the multiplication is below limit / 2^64.
  uint64_t below(uint64_t limit) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(next()) * limit) >> 64);
  }
  // Uniform in [0, 1), in steps of 2^-53.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace iris::loadgen
