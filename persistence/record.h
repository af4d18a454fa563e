// One record of the log: what was done, as an array of words in RESP, so that a person can read it.
//
//     *4\r\n$6\r\nbf.add\r\n$2\r\n17\r\n$1\r\n0\r\n$5\r\nhello\r\n
//
// Several changes that belong together (EXEC) are one record: an array of such arrays, which is
// applied as a whole or not at all.
//
// Reading trusts nothing: no length is believed before the bytes are there, and nothing is
// allocated that the record's own size does not bound.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iris::persistence {

// Builds one change. Keeps its memory, so a thread that reuses it allocates nothing, and makes room
// once a word: every effective add goes through here.
class RecordBuilder {
 public:
  // `words` is the number of words that will follow.
  void begin(size_t words);
  void word(std::string_view text);
  void number(uint64_t value);
  void signed_number(int64_t value);
  std::string_view view() const { return {bytes_.data(), used_}; }

 private:
  char* room_for(size_t more);

  std::string bytes_;  // as long as it ever had to be
  size_t used_ = 0;
};

// Several changes as one record. At least one.
std::string joined_record(std::span<const std::string> changes);

using RecordWords = std::vector<std::string_view>;

// Reads the records at the front of a batch one by one.
class RecordReader {
 public:
  explicit RecordReader(std::string_view records) : rest_(records) {}

  bool at_end() const { return rest_.empty(); }
  // The bytes of the next record; empty if there is no whole record at the front.
  std::string_view next();

 private:
  std::string_view rest_;
};

// The changes of one record, one by one.
class ChangeReader {
 public:
  explicit ChangeReader(std::string_view record);

  // The words of the next change, as views into the record. False at the end, or if what follows
  // is no change: sound() tells which.
  [[nodiscard]] bool next(RecordWords& words);
  bool sound() const { return sound_; }

 private:
  std::string_view rest_;
  uint64_t left_ = 1;
  bool sound_ = true;
};

}  // namespace iris::persistence
