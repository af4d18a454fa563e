// Any bytes as records of the log. What RecordReader calls a record, ChangeReader must understand
// as a whole, word for word inside it; and written again it must be the same record.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "persistence/record.h"

namespace {

using iris::persistence::ChangeReader;
using iris::persistence::RecordBuilder;
using iris::persistence::RecordReader;
using iris::persistence::RecordWords;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string written_again(const RecordWords& words) {
  RecordBuilder builder;
  builder.begin(words.size());
  for (const std::string_view word : words) builder.word(word);
  return std::string(builder.view());
}

// Returns the changes in their own spelling; leading zeros in a length are the only other one.
std::vector<std::string> read_changes(std::string_view record, bool& sound) {
  ChangeReader reader(record);
  std::vector<std::string> changes;
  RecordWords words;
  while (reader.next(words)) {
    require(!words.empty(), "a change without words");
    for (const std::string_view word : words) {
      require(word.data() >= record.data() &&
                  word.data() + word.size() <= record.data() + record.size(),
              "a word outside of its record");
    }
    changes.push_back(written_again(words));
  }
  sound = reader.sound();
  return changes;
}

void check_record(std::string_view record) {
  bool sound = false;
  const std::vector<std::string> changes = read_changes(record, sound);
  // RecordReader lets an empty array before another record pass; ChangeReader does not.
  require(sound == !changes.empty(), "a record that is not sound");
  if (!sound) return;
  const std::string again = iris::persistence::joined_record(changes);
  RecordReader reader(again);
  require(reader.next() == again && reader.at_end(), "a record that does not come back");
  require(read_changes(again, sound) == changes && sound, "changes that do not come back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  RecordReader reader(input);
  std::string_view rest = input;
  while (!reader.at_end()) {
    const std::string_view record = reader.next();
    if (record.empty()) break;
    require(record.data() == rest.data(), "a record that does not start where the last one ended");
    check_record(record);
    rest.remove_prefix(record.size());
  }
  // What is no record must do no harm either.
  bool sound = false;
  const bool had_changes = !read_changes(rest, sound).empty();
  require(!sound || !had_changes || rest.empty(), "a sound record that RecordReader refused");
  return 0;
}
