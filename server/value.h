// What a key holds. The keyspace and the generic commands (TYPE, OBJECT, MEMORY USAGE, DUMP, COPY,
// DEBUG DIGEST) see a Value; the commands of a family know its kind and cast, so the hot path makes
// no virtual call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace iris::server {

enum class ValueKind : uint8_t {
  kBloom,
  kBloomLoading,
  kSpectral,
  kSpectralLoading,
  kHollow,  // only while a snapshot is read: something that was deleted before it was saved
};

class Value {
 public:
  using Digest = std::array<uint8_t, 16>;

  virtual ~Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  ValueKind kind() const { return kind_; }
  // Never used twice; of a filter it is the filter's own.
  uint64_t id() const { return id_; }

  // When it was last used. Readers of several threads say so at once; second granularity makes it a
  // rare store.
  void touch(int64_t now_ms) {
    const auto now_s = static_cast<uint32_t>(now_ms / 1000);
    if (accessed_s() != now_s) accessed_s_.store(now_s, std::memory_order_relaxed);
  }
  uint32_t accessed_s() const { return accessed_s_.load(std::memory_order_relaxed); }

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
  Value(ValueKind kind, uint64_t id) : id_(id), kind_(kind) {}

 private:
  const uint64_t id_;
  const ValueKind kind_;
  std::atomic<uint32_t> accessed_s_{0};
};

// A value whose content nobody can read: it is still being loaded, or is gone.
class UnreadableValue : public Value {
 public:
  uint64_t change_count() const override { return 0; }
  Digest digest() const override { return {}; }
  std::string serialize() const override { return {}; }
  std::unique_ptr<Value> copy(uint64_t) const override { return nullptr; }

 protected:
  using Value::Value;
};

}  // namespace iris::server
