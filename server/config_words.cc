#include "server/config_words.h"

#include <cstddef>

namespace iris::server {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";
constexpr size_t kMaxPrintableBytes = 128;

bool is_space(char c) {
  return kWhiteSpace.find(c) != std::string_view::npos;
}

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// Reads on from `at`, the byte after an opening quote, to the byte after the closing one. False
// when there is none.
bool read_double_quoted(std::string_view line, size_t& at, std::string& word) {
  while (at < line.size() && line[at] != '"') {
    if (line[at] != '\\' || at + 1 == line.size()) {
      word += line[at++];
      continue;
    }
    const bool hex = line[at + 1] == 'x' && at + 3 < line.size() && hex_digit(line[at + 2]) >= 0 &&
                     hex_digit(line[at + 3]) >= 0;
    if (hex) {
      word += static_cast<char>(hex_digit(line[at + 2]) * 16 + hex_digit(line[at + 3]));
      at += 4;
    } else {
      word += unescaped(line[at + 1]);
      at += 2;
    }
  }
  return at++ < line.size();
}

bool read_single_quoted(std::string_view line, size_t& at, std::string& word) {
  while (at < line.size() && line[at] != '\'') {
    if (line[at] == '\\' && at + 1 < line.size() && line[at + 1] == '\'') ++at;
    word += line[at++];
  }
  return at++ < line.size();
}

bool read_word(std::string_view line, size_t& at, std::string& word) {
  while (at < line.size() && !is_space(line[at])) {
    const char c = line[at];
    if (c != '"' && c != '\'') {
      word += c;
      ++at;
      continue;
    }
    ++at;
    const bool closed =
        c == '"' ? read_double_quoted(line, at, word) : read_single_quoted(line, at, word);
    return closed && (at == line.size() || is_space(line[at]));
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  size_t at = 0;
  while (true) {
    while (at < line.size() && is_space(line[at])) ++at;
    if (at == line.size()) return words;
    if (!read_word(line, at, words.emplace_back())) return std::nullopt;
  }
}

std::string quote_word(std::string_view word) {
  bool bare = !word.empty();
  for (const char c : word) {
    bare = bare && is_printable(c) && c != ' ' && c != '"' && c != '\'' && c != '\\' && c != '#';
  }
  return bare ? std::string(word) : quoted(word);
}

std::string printable(std::string_view text) {
  std::string out(text.substr(0, kMaxPrintableBytes));
  for (char& c : out) {
    if (!is_printable(c)) c = '?';
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

}  // namespace iris::server
