// Any bytes, parsed whole and parsed cut in pieces, must give the same requests, the same error and
// the same unfinished rest; and the parser must keep the promises that ConnectionInput checks.
//
//   flags | cut count | cut distances ... | the bytes a client sends
//
// The cuts come from the input too, so that the fuzzer can learn where a cut hurts.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/unit/protocol/connection_input.h"

namespace {

using iris::protocol::ConnectionInput;
using iris::protocol::RequestLimits;
using iris::protocol::Transcript;

// Small limits in half of the runs, so that the fuzzer reaches them.
RequestLimits limits_from(uint8_t flags) {
  RequestLimits limits;
  limits.authenticated = (flags & 1) == 0;
  if ((flags & 2) != 0) limits.max_line_bytes = 40;
  if ((flags & 4) != 0) limits.max_bulk_bytes = 100;
  if ((flags & 8) != 0) limits.max_args = 20;
  return limits;
}

Transcript parse_in_pieces(std::string_view bytes, std::string_view distances,
                           const RequestLimits& limits) {
  ConnectionInput input(limits);
  for (const char distance : distances) {
    const size_t piece = static_cast<unsigned char>(distance);
    input.receive(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  input.receive(bytes);
  return input.transcript();
}

Transcript parse_byte_by_byte(std::string_view bytes, const RequestLimits& limits) {
  ConnectionInput input(limits);
  for (size_t i = 0; i < bytes.size(); ++i) input.receive(bytes.substr(i, 1));
  return input.transcript();
}

void require_equal(const Transcript& whole, const Transcript& cut, const char* how) {
  if (whole == cut) return;
  std::fprintf(stderr, "%s: %zu requests, error \"%s\"; whole: %zu requests, error \"%s\"\n", how,
               cut.requests.size(), cut.error.c_str(), whole.requests.size(), whole.error.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.size() < 2) return 0;
  const RequestLimits limits = limits_from(data[0]);
  const size_t cuts = data[1] % 16;
  input.remove_prefix(2);
  const std::string_view distances = input.substr(0, cuts);
  const std::string_view bytes = input.substr(distances.size());

  const Transcript whole = iris::protocol::parse_whole(bytes, limits);
  require_equal(whole, parse_in_pieces(bytes, distances, limits), "in pieces");
  // Quadratic in the test's copying, hence not for long inputs.
  constexpr size_t kByteByByteLimit = 512;
  if (bytes.size() <= kByteByByteLimit) {
    require_equal(whole, parse_byte_by_byte(bytes, limits), "byte by byte");
  }
  return 0;
}
