#include "server/commands/memory_doctor.h"

#include "server/text.h"

namespace iris::server {

namespace {

// Redis's thresholds: below so much nothing can be told, and ratios count only when the bytes do.
constexpr uint64_t kLittleBytes = 5 << 20;
constexpr uint64_t kManyBytes = 10 << 20;
constexpr double kHighPeak = 1.5;
constexpr double kHighFragmentation = 1.4;
constexpr double kNearLimit = 0.9;
constexpr uint64_t kLargeClientBytes = 200 << 10;

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double MemoryFigures::fragmentation() const {
  return ratio(resident_bytes, used_bytes);
}

double MemoryFigures::allocator_fragmentation() const {
  return ratio(allocator.active, allocator.allocated);
}

std::string memory_diagnosis(const MemoryFigures& figures) {
  if (figures.used_bytes < kLittleBytes) {
    return "This server holds too little data (" + human_bytes(figures.used_bytes) +
           ") for anything to be told about its memory.\n";
  }
  std::string text;
  const auto add = [&](const std::string& problem) { text += " * " + problem + "\n"; };
  if (figures.limit_bytes != 0 && ratio(figures.used_bytes, figures.limit_bytes) > kNearLimit) {
    add("Near the limit: " + human_bytes(figures.used_bytes) + " of maxmemory " +
        human_bytes(figures.limit_bytes) +
        " are in use. At the limit every command that needs more memory is refused: raise "
        "maxmemory or delete filters.");
  }
  if (ratio(figures.peak_bytes, figures.used_bytes) > kHighPeak) {
    add("Peak memory: in the past this server used " + human_bytes(figures.peak_bytes) +
        ", much more than the " + human_bytes(figures.used_bytes) +
        " of now. The difference may not have gone back to the system; MEMORY PURGE asks the "
        "allocator to give it back.");
  }
  const AllocatorFigures& allocator = figures.allocator;
  if (allocator.active > allocator.allocated + kManyBytes &&
      figures.allocator_fragmentation() > kHighFragmentation) {
    add("Fragmentation: the allocator holds " + human_bytes(allocator.active) + " for " +
        human_bytes(allocator.allocated) +
        " that are in use. Many small filters were deleted; the room serves new ones of the same "
        "sizes.");
  }
  if (figures.resident_bytes > figures.used_bytes + kManyBytes &&
      figures.fragmentation() > kHighFragmentation) {
    add("Resident memory: the process occupies " + human_bytes(figures.resident_bytes) + " while " +
        human_bytes(figures.used_bytes) + " are in use. MEMORY PURGE may help.");
  }
  if (figures.clients > 0 && figures.client_buffers_bytes / figures.clients > kLargeClientBytes) {
    add("Client buffers: the " + std::to_string(figures.clients) + " clients hold " +
        human_bytes(figures.client_buffers_bytes) +
        " of unfinished requests and unread replies. CLIENT LIST shows whose (qbuf and omem).");
  }
  if (text.empty()) return "No memory problem was found.\n";
  return "Memory problems were found:\n\n" + text;
}

}  // namespace iris::server
