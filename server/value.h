// What a key holds. The keyspace and the generic commands (TYPE, OBJECT, MEMORY USAGE, DUMP, COPY,
// DEBUG DIGEST) see a Value; the commands of a family know its kind and cast, so the hot path makes
// no virtual call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace iris::server {

enum class ValueKind : uint8_t { kBloom, kBloomLoading, kSpectral, kSpectralLoading };

class Value {
 public:
  using Digest = std::array<uint8_t, 16>;

  virtual ~Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  ValueKind kind() const { return kind_; }

  // What TYPE answers.
  virtual std::string_view type_name() const = 0;
  // What OBJECT ENCODING answers.
  virtual std::string_view encoding() const = 0;
  // The whole footprint, objects included.
  virtual uint64_t memory_bytes() const = 0;
  // Grows with every effective change; WATCH compares it.
  virtual uint64_t change_count() const = 0;
  // Equal on two servers exactly if the contents are.
  virtual Digest digest() const = 0;
  // For DUMP. Empty: this value cannot be dumped (it is still being loaded).
  virtual std::string serialize() const = 0;
  // An equal value with an identity of its own; null when memory cannot be had.
  virtual std::unique_ptr<Value> copy(uint64_t id) const = 0;

 protected:
  explicit Value(ValueKind kind) : kind_(kind) {}

 private:
  ValueKind kind_;
};

}  // namespace iris::server
