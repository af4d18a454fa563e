// A random but repeatable run of commands of every kind that changes something, for tests that look
// at what is left of it after a crash. Filters are small and full early, so that they grow; keys
// are few, so that they meet.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/server/storage_support.h"

namespace iris::server {

class Trace {
 public:
  Trace(TestServer& server, uint64_t seed) : client_(server, 0), server_(server), random_(seed) {}

  // Does the next operation. Its reply, as RESP; of several commands the last one's.
  std::string step();
  // How often which operation was done and did not answer an error.
  const std::map<std::string, uint64_t>& done() const { return done_; }

 private:
  struct Load {
    uint32_t db;
    std::string command;
    std::string key;
    std::vector<std::pair<int64_t, std::string>> pieces;
    size_t next = 0;
  };

  uint64_t below(uint64_t limit) { return random_() % limit; }
  std::string item() { return "item" + std::to_string(below(60)); }
  std::string key(char kind);
  std::vector<std::string> simple_command();
  std::vector<std::string> spectral_command();
  std::vector<std::string> keyspace_command();
  std::string make_key();
  std::string transaction();
  std::string restore();
  std::string begin_load();
  std::string go_on_loading();
  std::string let_time_pass();
  std::string run(const std::vector<std::string>& words);

  TestClient client_;
  TestServer& server_;
  std::mt19937_64 random_;
  uint64_t steps_ = 0;
  std::vector<Load> loads_;
  std::map<std::string, uint64_t> done_;
};

}  // namespace iris::server
