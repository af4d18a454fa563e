#include "bench/loadgen/request_template.h"

#include <algorithm>

namespace iris::loadgen {

RequestTemplate::RequestTemplate(const std::vector<std::string>& words, const HoleWidths& widths) {
  bytes_ = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) append_word(word, widths);
}

void RequestTemplate::append_word(std::string_view word, const HoleWidths& widths) {
  std::string text;
  std::vector<Hole> holes;
  while (!word.empty()) {
    if (word.starts_with(kKeyMark)) {
      holes.push_back({text.size(), HoleKind::kKey});
      text.append(widths.key_bytes, '0');
      word.remove_prefix(kKeyMark.size());
    } else if (word.starts_with(kItemMark)) {
      holes.push_back({text.size(), HoleKind::kItem});
      text.append(widths.item_bytes, '0');
      word.remove_prefix(kItemMark.size());
    } else {
      text += word.front();
      word.remove_prefix(1);
    }
  }
  bytes_ += "$" + std::to_string(text.size()) + "\r\n";
  for (const Hole& hole : holes) holes_.push_back({bytes_.size() + hole.offset, hole.kind});
  bytes_ += text + "\r\n";
}

size_t RequestTemplate::items() const {
  return static_cast<size_t>(std::count_if(
      holes_.begin(), holes_.end(), [](const Hole& hole) { return hole.kind == HoleKind::kItem; }));
}

}  // namespace iris::loadgen
