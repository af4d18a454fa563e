// A command as bytes on the wire, with holes:
//
//   BF.MADD __key__ __item__ x:__item__
//
//   *4 CRLF $7 CRLF BF.MADD CRLF $4 CRLF ____ CRLF $12 CRLF ____________ CRLF $14 CRLF x:____...
//                                        key                item
//
// All keys have one width and all items have one, so every request has the same size and its holes
// are at the same places: a batch of them is rendered once, and afterwards only holes are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace iris::loadgen {

enum class HoleKind : uint8_t { kKey, kItem };

struct Hole {
  size_t offset;
  HoleKind kind;
  bool operator==(const Hole&) const = default;
};

struct HoleWidths {
  size_t key_bytes;
  size_t item_bytes;
};

class RequestTemplate {
 public:
  static constexpr std::string_view kKeyMark = "__key__";
  static constexpr std::string_view kItemMark = "__item__";

  // One request of these words; a mark may be a word or a part of one.
  RequestTemplate(const std::vector<std::string>& words, const HoleWidths& widths);

  const std::string& bytes() const { return bytes_; }
  const std::vector<Hole>& holes() const { return holes_; }
  size_t items() const;

 private:
  void append_word(std::string_view word, const HoleWidths& widths);

  std::string bytes_;
  std::vector<Hole> holes_;  // ascending
};

}  // namespace iris::loadgen
