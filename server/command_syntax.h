// The notation in which a command's arguments are declared, the one of any manual page:
//
//   key error_rate:double capacity:integer [EXPANSION expansion:integer] [NONSCALING]
//   cursor:integer [MATCH pattern] [TYPE type]
//   [NX | XX | GT | LT]            one of several
//   item [item ...]                one or more
//   item n [item n ...]            one or more pairs
//
// A word in capitals is a token, any other the name of a value; `key` is a key, `pattern` a pattern
// and so on, a type after a colon is said outright. COMMAND DOCS renders the parsed form, from
// which redis-cli makes the hints that one sees while typing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iris::server {

struct Argument {
  std::string name;
  std::string type;   // key, string, integer, double, pattern, unix-time, pure-token, oneof, block
  std::string token;  // the word that introduces it; empty: none
  bool optional = false;
  bool multiple = false;
  std::vector<Argument> parts;  // of oneof and block
};

std::vector<Argument> parse_syntax(std::string_view syntax);

}  // namespace iris::server
