#include "server/command_syntax.h"

#include <cctype>

#include "filters/check.h"

namespace iris::server {

namespace {

bool is_token(std::string_view word) {
  bool has_letter = false;
  for (const char c : word) {
    if (std::islower(static_cast<unsigned char>(c))) return false;
    has_letter = has_letter || std::isupper(static_cast<unsigned char>(c));
  }
  return has_letter;
}

std::string lower_case_name(std::string_view word) {
  std::string name;
  for (const char c : word) {
    name += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string type_of(std::string_view name) {
  if (name == "key" || name == "newkey" || name == "source" || name == "destination" ||
      name == "dest" || name == "src") {
    return "key";
  }
  if (name == "pattern") return "pattern";
  return "string";
}

// Reads one declaration from left to right; the table is ours, so a mistake in it is a CHECK.
class SyntaxReader {
 public:
  explicit SyntaxReader(std::string_view text) : text_(text) {}

  // Up to a closing bracket or the end: a sequence, or alternatives separated by '|'.
  std::vector<Argument> read_sequence() {
    std::vector<std::vector<Argument>> alternatives(1);
    while (true) {
      skip_spaces();
      if (at_end() || peek() == ']' || peek() == ')') break;
      if (peek() == '|') {
        position_++;
        alternatives.emplace_back();
        continue;
      }
      read_element(alternatives.back());
    }
    if (alternatives.size() == 1) return alternatives[0];
    return {one_of(alternatives)};
  }

  bool at_end() const { return position_ == text_.size(); }

 private:
  char peek() const { return text_[position_]; }

  void skip_spaces() {
    while (!at_end() && peek() == ' ') position_++;
  }

  void read_element(std::vector<Argument>& sequence) {
    if (peek() == '[' || peek() == '(') {
      read_group(sequence);
      return;
    }
    const std::string word = read_word();
    if (!is_token(word)) {
      sequence.push_back(value(word));
      return;
    }
    read_after_token(word, sequence);
  }

  // A token introduces the value that follows it, or stands for itself.
  void read_after_token(const std::string& token, std::vector<Argument>& sequence) {
    skip_spaces();
    const bool has_value =
        !at_end() && (std::islower(static_cast<unsigned char>(peek())) || peek() == '(');
    if (!has_value) {
      sequence.push_back({lower_case_name(token), "pure-token", token, false, false, {}});
      return;
    }
    read_element(sequence);
    sequence.back().token = token;
  }

  void read_group(std::vector<Argument>& sequence) {
    const bool optional = peek() == '[';
    position_++;
    std::vector<Argument> inner = read_sequence();
    CHECK(!at_end() && peek() == (optional ? ']' : ')') && !inner.empty());
    position_++;
    // "item [item ...]" says that the argument before may be repeated.
    if (optional && inner.back().name == "...") {
      const size_t repeated = inner.size() - 1;
      CHECK(repeated <= sequence.size());
      if (repeated > 1) {
        Argument block =
            block_of({sequence.end() - static_cast<std::ptrdiff_t>(repeated), sequence.end()});
        sequence.resize(sequence.size() - repeated);
        sequence.push_back(std::move(block));
      }
      sequence.back().multiple = true;
      return;
    }
    Argument argument = inner.size() == 1 ? std::move(inner[0]) : block_of(std::move(inner));
    argument.optional = optional;
    sequence.push_back(std::move(argument));
  }

  std::string read_word() {
    const size_t begin = position_;
    while (!at_end() && std::string_view(" []()|").find(peek()) == std::string_view::npos)
      position_++;
    CHECK(position_ > begin);
    return std::string(text_.substr(begin, position_ - begin));
  }

  static Argument value(std::string_view word) {
    Argument argument;
    const size_t colon = word.find(':');
    argument.name = word.substr(0, colon);
    argument.type = colon == word.npos ? type_of(argument.name) : word.substr(colon + 1);
    return argument;
  }

  static Argument block_of(std::vector<Argument> parts) {
    // A token with its value and more, as in LIMIT offset count, is named by its first part.
    Argument block;
    block.name = parts[0].name;
    block.type = "block";
    block.parts = std::move(parts);
    return block;
  }

  static Argument one_of(std::vector<std::vector<Argument>>& alternatives) {
    Argument choice;
    choice.type = "oneof";
    for (auto& alternative : alternatives) {
      CHECK(!alternative.empty());
      choice.parts.push_back(alternative.size() == 1 ? std::move(alternative[0])
                                                     : block_of(std::move(alternative)));
    }
    choice.name = choice.parts[0].name;
    return choice;
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

std::vector<Argument> parse_syntax(std::string_view syntax) {
  SyntaxReader reader(syntax);
  std::vector<Argument> arguments = reader.read_sequence();
  CHECK(reader.at_end());
  return arguments;
}

}  // namespace iris::server
