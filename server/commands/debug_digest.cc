#include "server/commands/debug_digest.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace iris::server {

namespace {

using Bytes = std::array<uint8_t, 20>;

// Any two constants; the digest has 32 bits more than the longer hash.
constexpr uint64_t kSeed = 0x697269732d6b6579;
constexpr uint64_t kSeedOfRest = 0x697269732d726573;

Bytes hash(std::string_view text) {
  XXH128_canonical_t head;
  XXH64_canonical_t rest;
  XXH128_canonicalFromHash(&head, XXH3_128bits_withSeed(text.data(), text.size(), kSeed));
  XXH64_canonicalFromHash(&rest, XXH3_64bits_withSeed(text.data(), text.size(), kSeedOfRest));
  Bytes bytes;
  static_assert(sizeof head + 4 == sizeof bytes);
  std::memcpy(bytes.data(), head.digest, sizeof head);
  std::memcpy(bytes.data() + sizeof head, rest.digest, 4);
  return bytes;
}

// Little-endian on every machine.
void append_number(std::string& text, uint64_t number) {
  for (int i = 0; i < 8; i++) text += static_cast<char>(static_cast<uint8_t>(number >> (8 * i)));
}

void append_digest(std::string& text, const Value::Digest& value) {
  text.append(reinterpret_cast<const char*>(value.data()), value.size());
}

std::string hex_of(const Bytes& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace

void DataDigest::add(size_t db, std::string_view key, int64_t expire_at_ms,
                     const Value::Digest& value) {
  std::string text;
  append_number(text, db);
  append_number(text, static_cast<uint64_t>(expire_at_ms));
  append_number(text, key.size());
  text += key;
  append_digest(text, value);
  const Bytes digest = hash(text);
  for (size_t i = 0; i < sum_.size(); i++) sum_[i] ^= digest[i];
}

std::string DataDigest::hex() const {
  return hex_of(sum_);
}

std::string value_digest_hex(const Value::Digest& value) {
  std::string text;
  append_digest(text, value);
  return hex_of(hash(text));
}

std::string missing_digest_hex() {
  return hex_of({});
}

}  // namespace iris::server
