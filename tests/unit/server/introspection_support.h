// An engine without threads or sockets, and simple values, for tests of what the server
// tells about itself.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "filters/bloom_filter.h"
#include "server/bloom_value.h"
#include "server/engine.h"
#include "server/idle_control.h"

namespace iris::server {

class EmptyValue : public Value {
 public:
  EmptyValue() : Value(ValueKind::kSpectral, 0) {}
  std::string_view type_name() const override { return "empty"; }
  std::string_view encoding() const override { return "raw"; }
  uint64_t memory_bytes() const override { return 0; }
  uint64_t change_count() const override { return 0; }
  Digest digest() const override { return {}; }
  std::string serialize() const override { return {}; }
  std::unique_ptr<Value> copy(uint64_t) const override { return std::make_unique<EmptyValue>(); }
};

struct TestEngine {
  explicit TestEngine(Config config = {})
      : engine(std::move(config), {std::string(20, 'a') + std::string(20, 'b'), "", "", 5'000, 2},
               clock, control) {}

  void put(size_t db, const std::string& key, int64_t expire_at_ms = kNeverExpires) {
    put(db, key, std::make_unique<EmptyValue>(), expire_at_ms);
  }
  // A filter of one layer; returns what it takes.
  uint64_t put_bloom(size_t db, const std::string& key, int64_t capacity) {
    filters::BloomRequest request;
    request.capacity = capacity;
    const auto params = std::get<filters::BloomParams>(filters::BloomParams::make(request));
    auto value = std::make_unique<BloomValue>(
        filters::BloomFilter::create(params, engine.keyspace.next_id(), 1));
    const uint64_t bytes = value->memory_bytes();
    put(db, key, std::move(value), kNeverExpires);
    return bytes;
  }

  Clock clock;
  IdleControl control;
  Engine engine;

 private:
  void put(size_t db, const std::string& key, std::unique_ptr<Value> value, int64_t expire_at_ms) {
    engine.keyspace.put(db, Database::hashed(key), std::move(value), expire_at_ms, 0);
  }
};

}  // namespace iris::server
