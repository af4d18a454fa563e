// A batch of requests, ready to send: `pipeline` copies of the template one after another, whose
// holes get new keys and items for every send. One a thread, shared by its connections: bytes that
// a socket took are free again, so the batch stays in the core's cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/loadgen/item_choice.h"
#include "bench/loadgen/request_template.h"

namespace iris::loadgen {

struct KeySpan {
  std::string prefix = "key:";
  uint64_t keys = 1;  // "key:0" and so on, of one width

  size_t width() const;
};

class RequestBatch {
 public:
  RequestBatch(const RequestTemplate& request, size_t requests, const KeySpan& keys, bool binary,
               size_t item_bytes, ItemChoice choice, uint64_t seed);

  // The bytes of so many requests (at most `requests`), each hole drawn anew. Good until the next
  // call.
  std::string_view draw(size_t requests);

 private:
  void write_hole(char* at, HoleKind kind);

  const RequestTemplate& template_;
  const KeySpan keys_;
  const bool binary_;
  const size_t item_bytes_;
  ItemChoice choice_;
  Random random_;  // of keys
  std::string bytes_;
};

}  // namespace iris::loadgen
