#include "server/text.h"

#include <gtest/gtest.h>

#include <string>

namespace iris::server {
namespace {

constexpr size_t kLongest = 20;  // beyond every length that has a case of its own

TEST(EqualNames, EqualBytesElsewhereAreEqual) {
  for (size_t size = 0; size <= kLongest; size++) {
    const std::string name = std::string("abcdefghijklmnopqrst").substr(0, size);
    EXPECT_TRUE(equal_names(name, std::string(name))) << size;
  }
}

TEST(EqualNames, ADifferenceAtAnyPlaceIsSeen) {
  for (size_t size = 1; size <= kLongest; size++) {
    const std::string name(size, 'a');
    for (size_t place = 0; place < size; place++) {
      std::string other = name;
      other[place] = 'b';
      EXPECT_FALSE(equal_names(name, other)) << size << " " << place;
    }
  }
}

TEST(EqualNames, ABeginningIsNotEqual) {
  for (size_t size = 1; size <= kLongest; size++) {
    EXPECT_FALSE(equal_names(std::string(size, 'a'), std::string(size - 1, 'a'))) << size;
  }
}

}  // namespace
}  // namespace iris::server
