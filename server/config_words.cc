#include "server/config_words.h"

#include <cstddef>

#include "protocol/inline_request.h"

namespace iris::server {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";
constexpr size_t kMaxPrintableBytes = 128;

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::optional<std::vector<std::string>> split_words(std::string_view line) {
  // The rules are those of an inline command.
  std::string text(line);
  protocol::Args words;
  if (!protocol::split_inline_request(text.data(), text.data() + text.size(), words)) {
    return std::nullopt;
  }
  return std::vector<std::string>(words.begin(), words.end());
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
