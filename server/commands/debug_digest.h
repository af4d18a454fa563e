// Digests of the data set, 40 hex digits as in Redis. Two servers have the same one exactly if they
// hold the same keys, in the same databases, with the same expiry times and equal values; crash
// tests compare them, since a Bloom filter itself hides lost items.
//
//   key's digest      hash(database, expiry time, length of name, name, value's digest)
//   data set's        the XOR of all keys', so the order in which they are visited is no matter
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/value.h"

namespace iris::server {

class DataDigest {
 public:
  void add(size_t db, std::string_view key, int64_t expire_at_ms, const Value::Digest& value);
  // All zeros when nothing was added.
  std::string hex() const;

 private:
  std::array<uint8_t, 20> sum_{};
};

// A value's digest alone: it does not depend on its key.
std::string value_digest_hex(const Value::Digest& value);
// Of a key that is not there.
std::string missing_digest_hex();

}  // namespace iris::server
