#include "server/commands/memory_doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iris::server {
namespace {

using testing::HasSubstr;

MemoryFigures healthy() {
  MemoryFigures figures;
  figures.used_bytes = 100 << 20;
  figures.peak_bytes = 110 << 20;
  figures.resident_bytes = 120 << 20;
  figures.clients = 10;
  figures.client_buffers_bytes = 10 << 10;
  figures.allocator = {90 << 20, 95 << 20, 100 << 20, 0};
  return figures;
}

TEST(MemoryDiagnosis, FindsNothingInAHealthyServer) {
  EXPECT_EQ(memory_diagnosis(healthy()), "No memory problem was found.\n");
}

TEST(MemoryDiagnosis, SaysNothingOfAnEmptyServer) {
  EXPECT_THAT(memory_diagnosis({}), HasSubstr("too little data"));
}

TEST(MemoryDiagnosis, NamesEachProblem) {
  MemoryFigures figures = healthy();
  figures.limit_bytes = 105 << 20;
  EXPECT_THAT(memory_diagnosis(figures), HasSubstr("Near the limit"));

  figures = healthy();
  figures.peak_bytes = 200 << 20;
  EXPECT_THAT(memory_diagnosis(figures), HasSubstr("Peak memory"));

  figures = healthy();
  figures.allocator.active = 150 << 20;
  EXPECT_THAT(memory_diagnosis(figures), HasSubstr("Fragmentation"));

  figures = healthy();
  figures.resident_bytes = 200 << 20;
  EXPECT_THAT(memory_diagnosis(figures), HasSubstr("Resident memory"));

  figures = healthy();
  figures.client_buffers_bytes = 10 << 20;
  EXPECT_THAT(memory_diagnosis(figures), HasSubstr("Client buffers"));
}

TEST(MemoryFigures, RatiosOfNothingAreOne) {
  EXPECT_EQ(MemoryFigures().fragmentation(), 1.0);
  EXPECT_EQ(MemoryFigures().allocator_fragmentation(), 1.0);
}

}  // namespace
}  // namespace iris::server
