#include "bench/loadgen/request_batch.h"

#include <cstring>
#include <utility>

#include "bench/loadgen/item_bytes.h"

namespace iris::loadgen {

size_t KeySpan::width() const {
  return prefix.size() + decimal_width(keys - 1);
}

RequestBatch::RequestBatch(const RequestTemplate& request, size_t requests, const KeySpan& keys,
                           bool binary, size_t item_bytes, ItemChoice choice, uint64_t seed)
    : template_(request),
      keys_(keys),
      binary_(binary),
      item_bytes_(item_bytes),
      choice_(std::move(choice)),
      random_(seed) {
  for (size_t i = 0; i < requests; ++i) bytes_ += template_.bytes();
  for (size_t i = 0; i < requests; ++i) {
    for (const Hole& hole : template_.holes()) {
      if (hole.kind != HoleKind::kKey) continue;
      std::memcpy(bytes_.data() + i * template_.bytes().size() + hole.offset, keys_.prefix.data(),
                  keys_.prefix.size());
    }
  }
}

std::string_view RequestBatch::draw(size_t requests) {
  char* request = bytes_.data();
  for (size_t i = 0; i < requests; ++i, request += template_.bytes().size()) {
    for (const Hole& hole : template_.holes()) write_hole(request + hole.offset, hole.kind);
  }
  return {bytes_.data(), requests * template_.bytes().size()};
}

void RequestBatch::write_hole(char* at, HoleKind kind) {
  if (kind == HoleKind::kKey) {
    const size_t prefix = keys_.prefix.size();
    write_decimal(at + prefix, keys_.width() - prefix, random_.below(keys_.keys));
  } else if (binary_) {
    write_binary(at, item_bytes_, choice_.next());
  } else {
    write_decimal(at, item_bytes_, choice_.next());
  }
}

}  // namespace iris::loadgen
