// A line of a configuration file as words, and back.
//
//   requirepass "two words\x21"      # comes out as: requirepass | two words!
//   unixsocket '/tmp/it''s'          # refused: a closing quote must end the word
//
// Words are separated by white space. Between double quotes \n \r \t \b \a and \xHH are escapes and
// a backslash takes the meaning from any other byte; between single quotes only \' is one. These
// are the rules of redis.conf, so a file that a person or a tool wrote for Redis reads the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/text.h"

namespace iris::server {

// Nothing when a quote is not closed, or its closing one is not the end of the word. An empty line
// has no words. Comments are not known here: a '#' is a byte like any other.
[[nodiscard]] std::optional<std::vector<std::string>> split_words(std::string_view line);

// `word` so that split_words() gives it back unchanged: bare where that is safe, else in double
// quotes with every byte that could surprise an editor escaped.
[[nodiscard]] std::string quote_word(std::string_view word);

// `text` with what cannot be printed replaced by '?' and cut at 128 bytes, for use in messages.
[[nodiscard]] std::string printable(std::string_view text);

[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace iris::server
