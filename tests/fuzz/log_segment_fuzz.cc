// Any bytes as segments of the log, to recovery and to --check.
//
//   flags | after | a segment             flag 1: the bytes are a file as they are
//   flags | after | step, argument, ...   otherwise they say how to build up to four segments
//                                         with right checksums, and what to break then
//
// Recovery must not crash. If it calls the log damaged, nothing may have changed; otherwise a
// second recovery must find the same records, and a server that goes on from there must be able to
// start again.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "persistence/file_check.h"
#include "persistence/log.h"
#include "persistence/log_recovery.h"
#include "persistence/record.h"
#include "tests/unit/persistence/segment_forge.h"

namespace {

using namespace iris::persistence;

// Set IRIS_FUZZ_TALK to see what recovery says about one input.
void talk(const char* when, const LogRecovery& recovery) {
  if (std::getenv("IRIS_FUZZ_TALK") == nullptr) return;
  std::fprintf(stderr, "%s: damage \"%s\", warning \"%s\", last %llu, largest %llu\n", when,
               recovery.damage.c_str(), recovery.warning.c_str(),
               static_cast<unsigned long long>(recovery.last_lsn),
               static_cast<unsigned long long>(recovery.largest_seen));
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  uint8_t byte() {
    const std::string_view taken = take(1);
    return taken.empty() ? 0 : static_cast<uint8_t>(taken[0]);
  }
  std::string_view take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::string simple_record(uint8_t number) {
  RecordBuilder builder;
  builder.begin(2);
  builder.word("bf.add");
  builder.number(number);
  return std::string(builder.view());
}

// One step of building a segment. No line claims more than a log could claim: that what was
// written before is synced.
void build(SegmentForge& segment, Input& input) {
  const uint8_t step = input.byte();
  const uint8_t argument = input.byte();
  std::string& bytes = segment.bytes();
  const size_t batches_bytes = bytes.size() - kSegmentHeaderBytes;  // the header is never torn
  const Lsn synced = std::min<Lsn>(step / 8, segment.next() - 1);
  switch (step % 8) {
    case 0:
    case 1:
    case 2: {
      std::vector<std::string> records;
      for (uint8_t i = 0; i <= argument % 8; ++i) records.push_back(simple_record(i));
      segment.batch(records, synced);
      break;
    }
    case 3:
      segment.raw_batch(std::string(input.take(argument)), 1 + input.byte(), synced);
      break;
    case 4:
      segment.raw(input.take(argument));
      break;
    case 5:
      segment.raw(bytes.substr(bytes.size() - std::min<size_t>(argument, batches_bytes)));
      break;
    case 6:
      if (batches_bytes > 0) {
        bytes[bytes.size() - 1 - argument % batches_bytes] ^= static_cast<char>(step | 1);
      }
      break;
    default:
      bytes.resize(bytes.size() - std::min<size_t>(argument, batches_bytes));
      break;
  }
}

void build_files(Input input, MemoryFiles& files) {
  Lsn first = 1 + input.byte() % 8;
  Lsn written = first - 1;
  for (int i = 0; i < 4 && !input.empty(); ++i) {
    const uint8_t kind = input.byte();
    const Lsn follows = written;
    // After a torn tail numbers are left out.
    first = written + 1 + (kind % 4 == 0 ? kind / 4 : 0);
    SegmentForge segment(first, follows, std::min<Lsn>(input.byte() % 64, written));
    for (uint8_t steps = input.byte() % 16; steps > 0; --steps) build(segment, input);
    written = segment.next() - 1;
    if (kind % 4 == 1 && written >= first) segment.end(std::min<Lsn>(kind / 4, written));
    // A batch that could not be written whole, nor cut off, is written again in the next segment.
    if (kind % 4 == 2 && written >= first && segment.bytes().size() > segment.offsets().back()) {
      segment.bytes().resize(segment.offsets().back() +
                             kind % (segment.bytes().size() - segment.offsets().back()));
      written = segment.last_batch_first() - 1;
    }
    segment.write_to(files);
  }
}

std::map<std::string, std::string> contents(const MemoryFiles& files) {
  std::map<std::string, std::string> all;
  for (const std::string& name : files.names()) all[name] = files.content(name);
  return all;
}

struct Outcome {
  LogRecovery recovery;
  std::map<Lsn, std::string> records;
};

Outcome recover(FileSystem& files, Lsn after) {
  Outcome outcome;
  LogReplay replay;
  Lsn last = after;
  replay.apply = [&](Lsn lsn, std::string_view record) {
    require(lsn > last, "a record that is not beyond the last one");
    last = lsn;
    outcome.records[lsn] = record;
    return std::string();
  };
  outcome.recovery = recover_log(files, kDataDirectory, after, replay);
  talk("recovery", outcome.recovery);
  require(outcome.recovery.largest_seen >= outcome.recovery.last_lsn, "a number to be used twice");
  return outcome;
}

class Deaf : public LogListener {
 public:
  void log_advanced() override {}
};

// A server starts, makes one change, stops, and starts again.
void go_on(FileSystem& files, Lsn after, const Outcome& found) {
  Deaf deaf;
  {
    Log log(files, kDataDirectory, 7, found.recovery.largest_seen, deaf,
            {.clock = nullptr, .own_thread = false});
    require(log.start(SyncPolicy::kAlways).empty(), "no start");
    log.append(simple_record(1));
    require(log.stop().empty(), "no stop");
  }
  const Outcome again = recover(files, after);
  require(again.recovery.damage.empty(), "a server that started cannot start again");
  auto expected = found.records;
  expected[found.recovery.largest_seen + 1] = simple_record(1);
  require(again.records == expected, "the new record is missing, or something else is there");
}

void check_all(MemoryFiles& files) {
  for (const std::string& name : files.names()) {
    std::ostringstream out;
    static_cast<void>(check_file(files, name, out, {.print_records = true}));
    if (std::getenv("IRIS_FUZZ_TALK") != nullptr) std::fputs(out.str().c_str(), stderr);
    require(!out.str().empty(), "nothing to say");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input({reinterpret_cast<const char*>(data), size});
  const uint8_t flags = input.byte();
  const Lsn after = input.byte() % 64;
  MemoryFiles files;
  if ((flags & 1) != 0) {
    files.set_content(SegmentForge(1).path(), std::string(input.rest()));
  } else {
    build_files(input, files);
  }
  const auto before = contents(files);
  check_all(files);
  require(contents(files) == before, "--check changed something");

  const Outcome first = recover(files, after);
  if (!first.recovery.damage.empty()) {
    require(contents(files) == before, "damage, and something changed");
    return 0;
  }
  const Outcome second = recover(files, after);
  require(second.recovery.damage.empty(), "not repaired");
  require(second.records == first.records, "different records the second time");
  // Not always: a log has buffers of megabytes.
  if ((flags & 6) == 0) go_on(files, after, first);
  return 0;
}
