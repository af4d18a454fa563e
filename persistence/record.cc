#include "persistence/record.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace iris::persistence {

namespace {

// Enough for the digits and the sign of any 64-bit number.
constexpr size_t kNumberBytes = 20;

// A line with any number.
constexpr size_t kLineBytes = 1 + kNumberBytes + 2;

char* put_line(char* out, char kind, uint64_t number) {
  *out++ = kind;
  if (number < 10) {
    *out++ = static_cast<char>('0' + number);
  } else {
    out = std::to_chars(out, out + kNumberBytes, number).ptr;
  }
  *out++ = '\r';
  *out++ = '\n';
  return out;
}

// Takes "<kind><number>\r\n" off the front.
bool take_line(std::string_view& bytes, char kind, uint64_t& number) {
  if (bytes.size() < 4 || bytes[0] != kind) return false;
  const char* end = bytes.data() + bytes.size();
  const auto [after, error] = std::from_chars(bytes.data() + 1, end, number);
  if (error != std::errc() || end - after < 2 || after[0] != '\r' || after[1] != '\n') return false;
  bytes.remove_prefix(static_cast<size_t>(after + 2 - bytes.data()));
  return true;
}

bool take_word(std::string_view& bytes, std::string_view& word) {
  uint64_t size = 0;
  if (!take_line(bytes, '$', size) || bytes.size() < 2 || size > bytes.size() - 2) return false;
  word = bytes.substr(0, size);
  if (bytes[size] != '\r' || bytes[size + 1] != '\n') return false;
  bytes.remove_prefix(size + 2);
  return true;
}

bool skip_change(std::string_view& bytes) {
  uint64_t words = 0;
  if (!take_line(bytes, '*', words) || words == 0) return false;
  std::string_view word;
  for (uint64_t i = 0; i < words; ++i) {
    if (!take_word(bytes, word)) return false;
  }
  return true;
}

bool is_joined(std::string_view record) {
  uint64_t count = 0;
  return take_line(record, '*', count) && !record.empty() && record[0] == '*';
}

}  // namespace

char* RecordBuilder::room_for(size_t more) {
  if (bytes_.size() - used_ < more) bytes_.resize(std::max(2 * bytes_.size(), used_ + more));
  return bytes_.data() + used_;
}

void RecordBuilder::begin(size_t words) {
  used_ = 0;
  char* const begin = room_for(kLineBytes);
  used_ = static_cast<size_t>(put_line(begin, '*', words) - begin);
}

void RecordBuilder::word(std::string_view text) {
  char* const begin = room_for(kLineBytes + text.size() + 2);
  char* out = put_line(begin, '$', text.size());
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  out += text.size();
  *out++ = '\r';
  *out++ = '\n';
  used_ += static_cast<size_t>(out - begin);
}

void RecordBuilder::number(uint64_t value) {
  char digits[kNumberBytes];
  const char* end = std::to_chars(digits, digits + kNumberBytes, value).ptr;
  word({digits, static_cast<size_t>(end - digits)});
}

void RecordBuilder::signed_number(int64_t value) {
  char digits[kNumberBytes];
  const char* end = std::to_chars(digits, digits + kNumberBytes, value).ptr;
  word({digits, static_cast<size_t>(end - digits)});
}

std::string joined_record(std::span<const std::string> changes) {
  char line[kLineBytes];
  std::string record(line, put_line(line, '*', changes.size()));
  for (const std::string& change : changes) record += change;
  return record;
}

std::string_view RecordReader::next() {
  std::string_view after = rest_;
  if (is_joined(rest_)) {
    uint64_t changes = 0;
    if (!take_line(after, '*', changes) || changes == 0) return {};
    for (uint64_t i = 0; i < changes; ++i) {
      if (!skip_change(after)) return {};
    }
  } else if (!skip_change(after)) {
    return {};
  }
  const std::string_view record = rest_.substr(0, rest_.size() - after.size());
  rest_ = after;
  return record;
}

ChangeReader::ChangeReader(std::string_view record) : rest_(record) {
  if (is_joined(record)) sound_ = take_line(rest_, '*', left_);
}

bool ChangeReader::next(RecordWords& words) {
  words.clear();
  if (!sound_ || left_ == 0) {
    sound_ = sound_ && rest_.empty();
    return false;
  }
  --left_;
  uint64_t count = 0;
  sound_ = take_line(rest_, '*', count) && count > 0;
  std::string_view word;
  for (uint64_t i = 0; sound_ && i < count; ++i) {
    sound_ = take_word(rest_, word);
    words.push_back(word);
  }
  return sound_;
}

}  // namespace iris::persistence
