// A client that writes without pause, several requests ahead of their replies, and knows exactly
// what the server must hold when that is killed at any moment:
//
//     sent      c1 c2 c3 c4 c5 c6 c7           each command is one step or several
//     answered  c1 c2 c3                       these must be there
//     held      c1 c2 c3 c4 half of c5         any first part of what was sent
//
// A writer has keys of its own, and items of its own in one filter that all writers share. Filters
// are so large and their error so small that counts are exact.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/integration/harness/resp_client.h"

namespace iris::harness {

// What belongs to one writer.
struct WriterState {
  struct SmallKey {
    uint64_t items = 0;
    int64_t expires_at_ms = -1;
    bool operator==(const SmallKey&) const = default;
  };

  std::map<std::string, uint64_t> own_counts;
  std::map<std::string, uint64_t> shared_counts;
  bool has_bloom = false;
  uint64_t bloom_first = 0;  // items with numbers from here
  uint64_t bloom_next = 0;   // up to here are in it
  std::map<std::string, SmallKey> small;

  uint64_t bloom_card() const { return has_bloom ? bloom_next - bloom_first : 0; }
};

// How the two differ, for a person; empty if they do not.
std::string difference(const WriterState& held, const WriterState& expected);

class Writer {
 public:
  Writer(int number, uint64_t seed);

  // Makes the filter that all writers share.
  static void make_shared_filter(RespClient& client);

  void make_own_filter(RespClient& client) const;

  // Writes until the connection ends, or until `stop()` says so and all is answered. An error's
  // text if a reply was wrong.
  std::string write(RespClient client, const std::function<bool()>& stop);

  // After a restart: holds what the server has against what was sent. An error's text, empty if
  // all is well. From then on what it has is what counts.
  std::string check(RespClient& client);

  // After a check: the digests of the filters are those of filters that are made anew, from nothing
  // but what the writers know. A Bloom filter that has lost an item may still answer that it has
  // it; a digest tells every bit. An error's text, empty if all is well.
  std::string check_digests(RespClient& client) const;
  static std::string check_shared_digest(RespClient& client,
                                         const std::vector<std::unique_ptr<Writer>>& writers);

  // With appendonly off, instead of check(): what the server has must be what the writer knows of
  // from the last check, and a first part of what it has done since, with at least the first
  // `at_least` commands of that.
  std::string check_snapshot(RespClient& client, uint64_t at_least);
  // As before anything was done since the last check.
  std::string check_unchanged(RespClient& client);
  // Commands answered since the last check. From any thread.
  uint64_t answered_since_check() const { return answered_since_check_; }

  // So many snapshots are asked for in 1,000 commands.
  void set_snapshots_in_1000(uint64_t count) { snapshots_in_1000_ = count; }

  uint64_t answered() const { return answered_; }
  // Of those that were sent but not answered: steps that were there after all.
  uint64_t survived() const { return survived_; }
  uint64_t unanswered() const { return unanswered_; }

 private:
  using Step = std::function<void(WriterState&)>;
  struct Sent {
    std::vector<Step> steps;
    // One a reply; empty: any that is no error. "*": any at all.
    std::vector<std::string> replies;
  };

  uint64_t below(uint64_t limit) { return random_() % limit; }
  std::string own_item() { return "i" + std::to_string(below(kItems)); }
  std::string shared_item() { return name_ + ":i" + std::to_string(below(kItems)); }
  std::string small_key() { return name_ + ":k" + std::to_string(below(kSmallKeys)); }

  // Each makes a command: appends it to `bytes`, and what it does to `sent_`.
  void next_command(std::string& bytes);
  void count(std::string& bytes);
  void count_several(std::string& bytes);
  void take_off(std::string& bytes);
  void add_items(std::string& bytes);
  void renew_bloom(std::string& bytes);
  void change_keys(std::string& bytes);
  void transact(std::string& bytes);
  void snapshot(std::string& bytes);

  void command(std::string& bytes, const std::vector<std::string>& words, std::vector<Step> steps,
               std::string reply);
  WriterState read(RespClient& client, std::string& error);
  // What `sent` adds to `state` until that is `held`; false if it never is.
  bool find(const WriterState& held, const std::deque<Sent>& sent, uint64_t at_least,
            WriterState& state);
  std::string accept(RespClient& client, WriterState state);
  std::string check_items(RespClient& client);

  using Counts = std::map<std::string, uint64_t>;
  static std::string compare_counting(RespClient& client, const std::string& key,
                                      const std::string& capacity, const Counts& counts);

  static constexpr uint64_t kItems = 150;
  static constexpr uint64_t kSmallKeys = 8;

  const std::string name_;
  std::mt19937_64 random_;
  uint64_t snapshots_in_1000_ = 2;
  WriterState checked_state_;   // after the last check
  std::deque<Sent> since_;      // answered since then
  WriterState answered_state_;  // after all that was answered
  WriterState sent_state_;      // after all that was sent
  std::deque<Sent> sent_;       // and not answered
  uint64_t bloom_checked_ = 0;  // items below this were looked at after an earlier restart
  uint64_t answered_ = 0;
  std::atomic<uint64_t> answered_since_check_{0};
  uint64_t survived_ = 0;
  uint64_t unanswered_ = 0;
};

}  // namespace iris::harness
