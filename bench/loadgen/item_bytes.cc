#include "bench/loadgen/item_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace iris::loadgen {

namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
// Digits of the largest 64-bit number.
constexpr size_t kMostDigits = 20;
// Odd, so that multiplying by it is one to one in any number of low bits.
constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;

// "00" to "99": two digits a division instead of one.
constexpr std::array<char, 200> make_pairs() {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}
constexpr std::array<char, 200> kPairs = make_pairs();

}  // namespace

void write_decimal(char* at, size_t width, uint64_t number) {
  size_t left = width;
  while (left >= 2) {
    left -= 2;
    std::memcpy(at + left, kPairs.data() + 2 * (number % 100), 2);
    number /= 100;
    if (number == 0) {
      std::memset(at, '0', left);
      return;
    }
  }
  if (left == 1) at[0] = static_cast<char>('0' + number % 10);
}

void write_binary(char* at, size_t width, uint64_t number) {
  uint64_t word = number * kOdd;
  for (size_t done = 0; done < width; done += sizeof word) {
    std::memcpy(at + done, &word, std::min(sizeof word, width - done));
    word = (word ^ (word >> 29)) * kOdd;
  }
}

uint64_t decimal_items(size_t width) {
  if (width >= kMostDigits) return kAll;
  uint64_t items = 1;
  for (size_t i = 0; i < width; ++i) items *= 10;
  return items;
}

uint64_t binary_items(size_t width) {
  return width >= sizeof(uint64_t) ? kAll : uint64_t{1} << (8 * width);
}

size_t decimal_width(uint64_t number) {
  size_t width = 1;
  for (; number >= 10; number /= 10) ++width;
  return width;
}

}  // namespace iris::loadgen
