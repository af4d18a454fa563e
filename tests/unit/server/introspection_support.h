// An engine without threads or sockets, and values that hold nothing, for tests of what the server
// tells about itself.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "server/engine.h"

namespace iris::server {

class IdleControl : public Control {
 public:
  void kill_client(const ClientRecord&) override {}
  void send_to_client(const ClientRecord&, std::string) override {}
  void shut_down() override {}
  void config_changed(const Config&, const Config&) override {}
};

class SizedValue : public Value {
 public:
  SizedValue(ValueKind kind, uint64_t bytes) : Value(kind), bytes_(bytes) {}
  std::string_view type_name() const override { return "sized"; }
  std::string_view encoding() const override { return "raw"; }
  uint64_t memory_bytes() const override { return bytes_; }
  uint64_t change_count() const override { return 0; }
  Digest digest() const override { return {}; }
  std::string serialize() const override { return {}; }
  std::unique_ptr<Value> copy(uint64_t) const override {
    return std::make_unique<SizedValue>(kind(), bytes_);
  }

 private:
  uint64_t bytes_;
};

struct TestEngine {
  explicit TestEngine(Config config = {})
      : engine(std::move(config), {std::string(20, 'a') + std::string(20, 'b'), "", "", 5'000, 2},
               clock, control) {}

  void put(size_t db, const std::string& key, int64_t expire_at_ms = kNeverExpires,
           ValueKind kind = ValueKind::kSpectral, uint64_t bytes = 0) {
    engine.keyspace.put(db, Database::hashed(key), std::make_unique<SizedValue>(kind, bytes),
                        expire_at_ms, 0);
  }

  Clock clock;
  IdleControl control;
  Engine engine;
};

}  // namespace iris::server
