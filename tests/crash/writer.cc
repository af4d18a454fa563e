#include "tests/crash/writer.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

namespace iris::harness {

namespace {

constexpr const char* kShared = "shared";
constexpr const char* kSharedCapacity = "20000";
constexpr const char* kOwnCapacity = "5000";
constexpr const char* kCountingError = "0.000001";
constexpr const char* kBloomCapacity = "100000";
constexpr const char* kBloomError = "0.0000001";
// A filter that is made to be compared with, and is gone again at once.
constexpr const char* kModel = "model";
constexpr const char* kAny = "*";
// Requests that are under way.
constexpr size_t kWindow = 48;
// Far below the filter's capacity.
constexpr uint64_t kMaxBloomItems = 60'000;
constexpr int64_t kFarFutureMs = 4'000'000'000'000;
constexpr size_t kItemsAQuery = 500;

bool fits(const Reply& reply, const std::string& expected) {
  if (expected == kAny) return reply.type != Reply::Type::kNone;
  if (expected.empty()) return !reply.is_error() && reply.type != Reply::Type::kNone;
  return ::testing::PrintToString(reply) == expected;
}

std::string integer_reply(uint64_t value) {
  return ":" + std::to_string(value);
}

std::string ones(size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) text += i == 0 ? ":1" : ", :1";
  return text + "]";
}

std::string bloom_item(uint64_t number) {
  return "n" + std::to_string(number);
}

template <typename Map, typename Show>
void compare(std::ostream& out, const char* what, const Map& held, const Map& expected, Show show) {
  int shown = 0;
  Map all = held;
  all.insert(expected.begin(), expected.end());
  for (const auto& [name, unused] : all) {
    const auto a = held.find(name);
    const auto b = expected.find(name);
    const bool same = a != held.end() && b != expected.end() && a->second == b->second;
    if (same || ++shown > 5) continue;
    out << ' ' << what << ' ' << name << ": held "
        << (a == held.end() ? "nothing" : show(a->second)) << ", expected "
        << (b == expected.end() ? "nothing" : show(b->second)) << ';';
  }
  if (shown > 5) out << " and " << shown - 5 << " more;";
}

// Takes the model away.
std::string compare_with_model(RespClient& client, const std::string& key) {
  const Reply digests = client.call("DEBUG", "DIGEST-VALUE", key, kModel);
  EXPECT_EQ(client.call("DEL", kModel), integer(1));
  if (digests.size() == 2 && digests[0].text.size() == 40 && digests[0].text == digests[1].text) {
    return "";
  }
  return key + " is not what its model is: " + ::testing::PrintToString(digests);
}

// A count of 0 is none.
WriterState without_zeros(WriterState state) {
  std::erase_if(state.own_counts, [](const auto& count) { return count.second == 0; });
  std::erase_if(state.shared_counts, [](const auto& count) { return count.second == 0; });
  return state;
}

}  // namespace

std::string difference(const WriterState& held, const WriterState& expected) {
  std::ostringstream out;
  const auto number = [](uint64_t value) { return std::to_string(value); };
  compare(out, "count of", held.own_counts, expected.own_counts, number);
  compare(out, "shared count of", held.shared_counts, expected.shared_counts, number);
  compare(out, "key", held.small, expected.small, [](const WriterState::SmallKey& key) {
    return std::to_string(key.items) + " items until " + std::to_string(key.expires_at_ms);
  });
  if (held.has_bloom != expected.has_bloom || held.bloom_card() != expected.bloom_card()) {
    out << " bloom: held " << (held.has_bloom ? number(held.bloom_card()) : "nothing")
        << ", expected " << (expected.has_bloom ? number(expected.bloom_card()) : "nothing");
  }
  return out.str();
}

Writer::Writer(int number, uint64_t seed) : name_("w" + std::to_string(number)), random_(seed) {}

void Writer::make_shared_filter(RespClient& client) {
  EXPECT_EQ(client.call("CF.RESERVE", kShared, kSharedCapacity, "ERROR", kCountingError), ok());
}

void Writer::make_own_filter(RespClient& client) const {
  EXPECT_EQ(client.call("CF.RESERVE", name_ + ":c", kOwnCapacity, "ERROR", kCountingError), ok());
}

// --- writing ---

std::string Writer::write(RespClient client, const std::function<bool()>& stop) {
  bool ended = false;
  while (!ended || !sent_.empty()) {
    ended = ended || stop();
    std::string bytes;
    while (!ended && sent_.size() < kWindow) next_command(bytes);
    // If it cannot be sent, the server is gone; what came before may still be answered.
    if (!bytes.empty() && !client.send(bytes)) ended = true;
    const size_t some = 1 + below(kWindow / 2);
    for (size_t i = 0; i < some && !sent_.empty(); ++i) {
      for (const std::string& expected : sent_.front().replies) {
        const Reply reply = client.read();
        if (reply.type == Reply::Type::kNone) return "";
        if (!fits(reply, expected)) {
          return name_ + " was answered " + ::testing::PrintToString(reply) + " instead of " +
                 (expected.empty() ? "no error" : expected);
        }
      }
      for (const Step& step : sent_.front().steps) step(answered_state_);
      since_.push_back(std::move(sent_.front()));
      sent_.pop_front();
      ++answered_;
      ++answered_since_check_;
    }
  }
  return "";
}

void Writer::command(std::string& bytes, const std::vector<std::string>& words,
                     std::vector<Step> steps, std::string reply) {
  bytes += encode({words.begin(), words.end()});
  for (const Step& step : steps) step(sent_state_);
  sent_.push_back({std::move(steps), {std::move(reply)}});
}

void Writer::next_command(std::string& bytes) {
  if (below(1000) < snapshots_in_1000_) return snapshot(bytes);
  if (!sent_state_.has_bloom || sent_state_.bloom_card() > kMaxBloomItems) renew_bloom(bytes);
  const uint64_t choice = below(100);
  if (choice < 25) return count(bytes);
  if (choice < 35) return count_several(bytes);
  if (choice < 50) return take_off(bytes);
  if (choice < 78) return add_items(bytes);
  if (choice < 92) return change_keys(bytes);
  transact(bytes);
}

void Writer::count(std::string& bytes) {
  const bool shared = below(2) == 0;
  const std::string item = shared ? shared_item() : own_item();
  const uint64_t by = below(4) == 0 ? 1 + below(100'000) : 1 + below(5);
  auto& counts = shared ? sent_state_.shared_counts : sent_state_.own_counts;
  const uint64_t sum = counts[item] + by;
  command(
      bytes, {"CF.INCR", shared ? kShared : name_ + ":c", item, std::to_string(by)},
      {[=](WriterState& state) { (shared ? state.shared_counts : state.own_counts)[item] += by; }},
      integer_reply(sum));
}

// All or nothing.
void Writer::count_several(std::string& bytes) {
  std::vector<std::string> words = {"CF.INCRBY", kShared};
  std::map<std::string, uint64_t> amounts;
  while (amounts.size() < 4) amounts[shared_item()] = 1 + below(9);
  for (const auto& [item, by] : amounts) {
    words.push_back(item);
    words.push_back(std::to_string(by));
  }
  command(bytes, words, {[amounts](WriterState& state) {
            for (const auto& [item, by] : amounts) state.shared_counts[item] += by;
          }},
          "");
}

void Writer::take_off(std::string& bytes) {
  const bool shared = below(2) == 0;
  const std::string item = shared ? shared_item() : own_item();
  const uint64_t count = (shared ? sent_state_.shared_counts : sent_state_.own_counts)[item];
  if (count == 0) return this->count(bytes);
  const bool one = below(2) == 0;
  const uint64_t by = one ? 1 : 1 + below(count);
  const std::string key = shared ? kShared : name_ + ":c";
  const std::vector<Step> step = {
      [=](WriterState& state) { (shared ? state.shared_counts : state.own_counts)[item] -= by; }};
  if (one) {
    command(bytes, {"CF.DEL", key, item}, step, ":1");
  } else {
    command(bytes, {"CF.DECR", key, item, std::to_string(by)}, step, integer_reply(count - by));
  }
}

void Writer::add_items(std::string& bytes) {
  const Step step = [](WriterState& state) { ++state.bloom_next; };
  const std::string key = name_ + ":b";
  uint64_t next = sent_state_.bloom_next;
  const uint64_t kind = below(3);
  if (kind == 0) return command(bytes, {"BF.ADD", key, bloom_item(next)}, {step}, ":1");
  std::vector<std::string> words = {"BF.MADD", key};
  if (kind == 2) words = {"BF.INSERT", key, "NOCREATE", "ITEMS"};
  const uint64_t items = 2 + below(6);
  for (uint64_t i = 0; i < items; ++i) words.push_back(bloom_item(next++));
  command(bytes, words, std::vector<Step>(items, step), ones(items));
}

void Writer::renew_bloom(std::string& bytes) {
  const std::string key = name_ + ":b";
  if (sent_state_.has_bloom) {
    command(bytes, {"DEL", key}, {[](WriterState& state) { state.has_bloom = false; }}, ":1");
  }
  command(bytes, {"BF.RESERVE", key, kBloomError, kBloomCapacity}, {[](WriterState& state) {
            state.has_bloom = true;
            state.bloom_first = state.bloom_next;
          }},
          "+OK");
}

void Writer::change_keys(std::string& bytes) {
  auto& small = sent_state_.small;
  const std::string key = small_key();
  const bool there = small.count(key) != 0;
  const uint64_t choice = below(5);
  if (!there) {
    command(bytes, {"BF.RESERVE", key, "0.0000001", "50"},
            {[key](WriterState& state) { state.small[key] = {}; }}, "+OK");
  } else if (choice == 0) {
    command(bytes, {"DEL", key}, {[key](WriterState& state) { state.small.erase(key); }}, ":1");
  } else if (choice == 1) {
    const std::string to = small_key();
    command(bytes, {"RENAME", key, to}, {[key, to](WriterState& state) {
              if (key == to) return;
              state.small[to] = state.small[key];
              state.small.erase(key);
            }},
            "+OK");
  } else if (choice == 2) {
    const auto at_ms = static_cast<int64_t>(kFarFutureMs + below(1'000'000));
    command(bytes, {"PEXPIREAT", key, std::to_string(at_ms)},
            {[=](WriterState& state) { state.small[key].expires_at_ms = at_ms; }}, ":1");
  } else if (choice == 3) {
    const bool expires = small[key].expires_at_ms >= 0;
    command(bytes, {"PERSIST", key},
            {[=](WriterState& state) { state.small[key].expires_at_ms = -1; }},
            expires ? ":1" : ":0");
  } else {
    // Grows beyond its 50 items. Items are numbered, so each is new.
    const std::string item = key + "/" + std::to_string(random_());
    command(bytes, {"BF.ADD", key, item}, {[=](WriterState& state) { ++state.small[key].items; }},
            ":1");
  }
}

// Five counts and a key, all or nothing.
void Writer::transact(std::string& bytes) {
  std::vector<std::string> items;
  for (int i = 0; i < 5; ++i) items.push_back(own_item());
  const std::string key = small_key();
  const bool there = sent_state_.small.count(key) != 0;
  Sent sent;
  bytes += encode({"MULTI"});
  sent.replies.emplace_back("+OK");
  for (const std::string& item : items) {
    bytes += encode({"CF.INCR", name_ + ":c", item});
    sent.replies.emplace_back("+QUEUED");
  }
  if (there) {
    bytes += encode({"DEL", key});
  } else {
    bytes += encode({"BF.RESERVE", key, "0.0000001", "50"});
  }
  sent.replies.emplace_back("+QUEUED");
  bytes += encode({"EXEC"});
  sent.replies.emplace_back("");
  sent.steps.push_back([=](WriterState& state) {
    for (const std::string& item : items) ++state.own_counts[item];
    if (there) {
      state.small.erase(key);
    } else {
      state.small[key] = {};
    }
  });
  sent.steps.back()(sent_state_);
  sent_.push_back(std::move(sent));
}

// Refused while another one runs.
void Writer::snapshot(std::string& bytes) {
  command(bytes, {below(2) == 0 ? "BGSAVE" : "BGREWRITEAOF"}, {}, kAny);
}

// --- checking ---

WriterState Writer::read(RespClient& client, std::string& error) {
  WriterState state;
  const auto read_counts = [&](const std::string& key, const std::string& prefix, auto& counts) {
    std::vector<std::string> items;
    for (uint64_t i = 0; i < kItems; ++i) items.push_back(prefix + std::to_string(i));
    std::vector<std::string_view> words = {"CF.MCOUNT", key};
    words.insert(words.end(), items.begin(), items.end());
    const Reply reply = client.call_args(words);
    // A filter that is not there has no counts.
    if (reply.is_error() && client.call("EXISTS", key) == integer(0)) return;
    if (reply.size() != items.size()) error = ::testing::PrintToString(reply);
    for (size_t i = 0; i < reply.size(); ++i) {
      if (reply[i].integer > 0) counts[items[i]] = static_cast<uint64_t>(reply[i].integer);
    }
  };
  read_counts(name_ + ":c", "i", state.own_counts);
  read_counts(kShared, name_ + ":i", state.shared_counts);
  state.has_bloom = client.call("EXISTS", name_ + ":b") == integer(1);
  if (state.has_bloom) {
    state.bloom_next = static_cast<uint64_t>(client.call("BF.CARD", name_ + ":b").integer);
  }
  for (uint64_t i = 0; i < kSmallKeys; ++i) {
    const std::string key = name_ + ":k" + std::to_string(i);
    if (client.call("EXISTS", key) != integer(1)) continue;
    state.small[key] = {static_cast<uint64_t>(client.call("BF.CARD", key).integer),
                        client.call("PEXPIRETIME", key).integer};
  }
  return state;
}

bool Writer::find(const WriterState& held, const std::deque<Sent>& sent, uint64_t at_least,
                  WriterState& state) {
  // Most states differ in this, which is cheap to see.
  const auto same = [&] {
    return held.has_bloom == state.has_bloom && held.bloom_card() == state.bloom_card() &&
           difference(held, without_zeros(state)).empty();
  };
  uint64_t commands = 0;
  if (at_least == 0 && same()) return true;
  for (const Sent& command : sent) {
    ++commands;
    for (const Step& step : command.steps) {
      step(state);
      survived_ += commands > since_.size() ? 1 : 0;
      if (commands >= at_least && same()) return true;
    }
    if (commands == at_least && same()) return true;
  }
  return false;
}

std::string Writer::check(RespClient& client) {
  return check_snapshot(client, since_.size());
}

std::string Writer::check_snapshot(RespClient& client, uint64_t at_least) {
  std::string error;
  const WriterState held = read(client, error);
  if (!error.empty()) return name_ + ": " + error;
  unanswered_ += sent_.size();
  std::deque<Sent> all = since_;
  all.insert(all.end(), sent_.begin(), sent_.end());
  WriterState state = checked_state_;
  if (find(held, all, at_least, state)) return accept(client, std::move(state));
  return name_ + ": what is held is no first part of what was sent. Against what was answered:" +
         difference(held, without_zeros(answered_state_)) +
         " Against all:" + difference(held, without_zeros(sent_state_));
}

std::string Writer::check_unchanged(RespClient& client) {
  since_.clear();
  sent_.clear();
  answered_state_ = sent_state_ = checked_state_;
  return check(client);
}

std::string Writer::accept(RespClient& client, WriterState state) {
  checked_state_ = answered_state_ = sent_state_ = std::move(state);
  since_.clear();
  sent_.clear();
  answered_since_check_ = 0;
  return check_items(client);
}

std::string Writer::check_digests(RespClient& client) const {
  std::string error =
      compare_counting(client, name_ + ":c", kOwnCapacity, checked_state_.own_counts);
  if (!error.empty() || !checked_state_.has_bloom) return error;
  EXPECT_EQ(client.call("BF.RESERVE", kModel, kBloomError, kBloomCapacity), ok());
  for (uint64_t i = checked_state_.bloom_first; i < checked_state_.bloom_next;) {
    std::vector<std::string> words = {"BF.MADD", kModel};
    while (i < checked_state_.bloom_next && words.size() < kItemsAQuery) {
      words.push_back(bloom_item(i++));
    }
    if (client.call_args({words.begin(), words.end()}).is_error()) return "the model is refused";
  }
  return compare_with_model(client, name_ + ":b");
}

std::string Writer::check_shared_digest(RespClient& client,
                                        const std::vector<std::unique_ptr<Writer>>& writers) {
  Counts counts;
  for (const auto& writer : writers) {
    counts.insert(writer->checked_state_.shared_counts.begin(),
                  writer->checked_state_.shared_counts.end());
  }
  return compare_counting(client, kShared, kSharedCapacity, counts);
}

std::string Writer::compare_counting(RespClient& client, const std::string& key,
                                     const std::string& capacity, const Counts& counts) {
  EXPECT_EQ(client.call("CF.RESERVE", kModel, capacity, "ERROR", kCountingError), ok());
  for (const auto& [item, count] : counts) {
    if (count == 0) continue;
    if (client.call("CF.INCR", kModel, item, std::to_string(count)).is_error()) {
      return "the model is refused";
    }
  }
  return compare_with_model(client, key);
}

// Everything that was added since the last time, and some of what was added before.
std::string Writer::check_items(RespClient& client) {
  if (!answered_state_.has_bloom) return "";
  const uint64_t next = answered_state_.bloom_next;
  std::vector<uint64_t> numbers;
  for (uint64_t i = std::max(bloom_checked_, answered_state_.bloom_first); i < next; ++i) {
    numbers.push_back(i);
  }
  for (int i = 0; i < 200 && next > answered_state_.bloom_first; ++i) {
    numbers.push_back(answered_state_.bloom_first + below(next - answered_state_.bloom_first));
  }
  bloom_checked_ = std::max(next, answered_state_.bloom_first);
  for (size_t i = 0; i < numbers.size(); i += kItemsAQuery) {
    std::vector<std::string> words = {"BF.MEXISTS", name_ + ":b"};
    for (size_t j = i; j < std::min(numbers.size(), i + kItemsAQuery); ++j) {
      words.push_back(bloom_item(numbers[j]));
    }
    const Reply reply = client.call_args({words.begin(), words.end()});
    if (::testing::PrintToString(reply) != ones(words.size() - 2)) {
      return name_ + ": an item is missing from the Bloom filter";
    }
  }
  return "";
}

}  // namespace iris::harness
