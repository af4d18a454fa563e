// A reply as a value: what a server sent, or what a test expects. Two replies are equal only if
// their RESP types are equal too, so a bulk string never passes for a simple one, nor 1 for #t.
//
//   EXPECT_EQ(client.call("PING"), simple("PONG"));
//   EXPECT_EQ(client.call("SCAN", "0"), array({bulk("0"), array({})}));
//
// On a mismatch GoogleTest prints both in a notation close to RESP:
//
//   +OK  -ERR text  :1  "bulk"  [a, b]  {key: value}  ~[a]  >[a]  #t  ,1.5  (123  =txt:"..."
//   nil ($-1)  nil-array (*-1)  null (_)  <no reply: connection closed>
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iris::harness {

struct Reply {
  enum class Type : uint8_t {
    kNone,  // no reply came; text says why
    kSimple,
    kError,
    kInteger,
    kBulk,
    kNullBulk,   // $-1
    kNullArray,  // *-1
    kNull,       // _
    kArray,
    kMap,  // elements: key, value, key, value ...
    kSet,
    kPush,
    kBoolean,
    kDouble,
    kBigNumber,
    kVerbatim,  // text is "txt:..."
  };

  Type type = Type::kNone;
  std::string text;
  int64_t integer = 0;  // also a boolean's 0 or 1
  double real = 0;
  std::vector<Reply> elements;

  bool is_error() const { return type == Type::kError; }
  // Starts with `code` as a whole word: is_error("NOAUTH").
  bool is_error(std::string_view code) const;
  bool is_aggregate() const;
  // The text of the reply, or of the verbatim one without its format.
  std::string_view string() const;
  // The value of `key` in a map, or in a flat array of pairs; a kNone reply if it is not there.
  const Reply& at(std::string_view key) const;
  // The element with that index; a kNone reply if there are fewer.
  const Reply& operator[](size_t index) const;
  size_t size() const { return elements.size(); }
  // The texts of an aggregate's elements, in order.
  std::vector<std::string> strings() const;

  friend bool operator==(const Reply&, const Reply&) = default;
};

void PrintTo(const Reply& reply, std::ostream* out);

Reply simple(std::string_view text);
Reply ok();
Reply queued();
Reply error(std::string_view text);
Reply integer(int64_t value);
Reply bulk(std::string_view bytes);
Reply nil();        // $-1
Reply nil_array();  // *-1
Reply null();       // RESP3 _
Reply array(std::vector<Reply> elements);
Reply bulks(const std::vector<std::string>& texts);
Reply map(const std::vector<std::pair<Reply, Reply>>& pairs);
Reply boolean(bool value);
Reply real(double value);
Reply no_reply(std::string_view why);

}  // namespace iris::harness
