#include "server/replay.h"

#include <charconv>
#include <span>
#include <utility>

#include "filters/bloom_header.h"
#include "filters/spectral_header.h"
#include "server/bloom_value.h"
#include "server/change_words.h"
#include "server/saved_values.h"
#include "server/spectral_value.h"

namespace iris::server {

using filters::BloomFilter;
using filters::SpectralChange;
using filters::SpectralEditKind;
using filters::SpectralFilter;

namespace {

constexpr int64_t kLoadedAtMs = 0;

constexpr const char* kMalformed = "a malformed change";
constexpr const char* kNoSuchFilter = "a change of a filter that does not exist";
constexpr const char* kNoSuchKey = "a change of a key that does not exist";
constexpr const char* kDoesNotFit = "a change that does not fit its filter";

template <typename T>
bool read(std::string_view word, T& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

Replay::Replay(Keyspace& keyspace) : keyspace_(keyspace) {
  keyspace_.set_watcher(this);
}

Replay::~Replay() {
  keyspace_.set_watcher(nullptr);
}

void Replay::value_born(Value& value, Birth::Kind) {
  keyspace_.skip_id(value.id());
  known_[value.id()].value = &value;
}

void Replay::value_dropped(const Value& value) {
  known_.erase(value.id());
}

Replay::Known* Replay::find(std::string_view id_word) {
  uint64_t id = 0;
  if (!read(id_word, id)) return nullptr;
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found.value();
}

// --- records ---

std::string Replay::record(persistence::Lsn lsn, std::string_view record) {
  lsn_ = lsn;
  persistence::ChangeReader changes(record);
  while (changes.next(words_)) {
    if (std::string error = apply(words_); !error.empty()) {
      return error + " (" + std::string(words_[0].substr(0, 16)) + ", record " +
             std::to_string(lsn) + ")";
    }
  }
  return changes.sound() ? "" : kMalformed;
}

std::string Replay::apply(const Words& words) {
  struct Kind {
    std::string_view word;
    size_t least_words;
    Handler handler;
  };
  // The most frequent ones first.
  static constexpr Kind kKinds[] = {
      {change::kBloomAdd, 4, &Replay::bloom_add},
      {change::kSpectralAdd, 6, &Replay::spectral_change},
      {change::kSpectralRaise, 7, &Replay::spectral_change},
      {change::kSpectralSubtract, 6, &Replay::spectral_change},
      {change::kNew, 7, &Replay::key_new},
      {change::kDelete, 3, &Replay::key_delete},
      {change::kExpire, 4, &Replay::key_expire},
      {change::kBloomLayer, 3, &Replay::bloom_layer},
      {change::kSpectralLayer, 3, &Replay::spectral_layer},
      {change::kRestore, 7, &Replay::key_restore},
      {change::kCopy, 6, &Replay::key_copy},
      {change::kMerge, 6, &Replay::key_copy},
      {change::kBegin, 8, &Replay::key_begin},
      {change::kLoad, 4, &Replay::key_load},
      {change::kLoaded, 6, &Replay::key_loaded},
      {change::kMove, 5, &Replay::key_move},
      {change::kFlush, 2, &Replay::db_flush},
      {change::kSwap, 3, &Replay::db_swap},
  };
  for (const Kind& kind : kKinds) {
    if (words[0] != kind.word) continue;
    return words.size() < kind.least_words ? kMalformed : (this->*kind.handler)(words);
  }
  return "an unknown change";
}

// id layer item
std::string Replay::bloom_add(const Words& words) {
  Known* known = find(words[1]);
  size_t layer = 0;
  if (known == nullptr) return kNoSuchFilter;
  if (known->value->kind() == ValueKind::kHollow) return {};
  BloomFilter* filter = bloom_of(known->value);
  if (filter == nullptr || !read(words[2], layer) || layer >= filter->layer_count()) {
    return kDoesNotFit;
  }
  filter->apply_add(layer, filter->hash(words[3]), lsn_ > known->header_lsn ? 1 : 0);
  return {};
}

// id header
std::string Replay::bloom_layer(const Words& words) {
  Known* known = find(words[1]);
  if (known == nullptr) return kNoSuchFilter;
  if (known->value->kind() == ValueKind::kHollow || lsn_ <= known->header_lsn) return {};
  BloomFilter* filter = bloom_of(known->value);
  const auto header = filters::decode_header(words[2]);
  if (filter == nullptr || !header || header->layers.size() != filter->layer_count() + 1) {
    return kDoesNotFit;
  }
  return filter->add_layer(header->layers.back().geometry) == filters::GrowError::kNone ? ""
                                                                                        : kNoMemory;
}

// id (layer by items item)... or, to raise, id (layer to sum items item)...
std::string Replay::spectral_change(const Words& words) {
  Known* known = find(words[1]);
  if (known == nullptr) return kNoSuchFilter;
  if (known->value->kind() == ValueKind::kHollow) return {};
  SpectralFilter* filter = spectral_of(known->value);
  const bool raises = words[0] == change::kSpectralRaise;
  const size_t stride = raises ? 5 : 4;
  if (filter == nullptr || (words.size() - 2) % stride != 0) return kDoesNotFit;
  SpectralChange change{};
  change.edit.kind = raises                                  ? SpectralEditKind::kRaise
                     : words[0] == change::kSpectralSubtract ? SpectralEditKind::kSubtract
                                                             : SpectralEditKind::kAdd;
  for (size_t i = 2; i < words.size(); i += stride) {
    const bool numbers = read(words[i], change.layer) && read(words[i + 1], change.edit.amount) &&
                         read(words[i + (raises ? 2 : 1)], change.sum) &&
                         read(words[i + stride - 2], change.items);
    if (!numbers) return kMalformed;
    change.hash = filter->hash(words[i + stride - 1]);
    const auto copied = change.layer < known->chunk_lsns.size()
                            ? std::span<const uint64_t>(known->chunk_lsns[change.layer])
                            : std::span<const uint64_t>();
    if (!filter->replay_cells(change, lsn_, copied)) return kDoesNotFit;
    if (lsn_ > known->header_lsn && !filter->replay_totals(change)) return kDoesNotFit;
  }
  return {};
}

// id header
std::string Replay::spectral_layer(const Words& words) {
  Known* known = find(words[1]);
  if (known == nullptr) return kNoSuchFilter;
  if (known->value->kind() == ValueKind::kHollow || lsn_ <= known->header_lsn) return {};
  SpectralFilter* filter = spectral_of(known->value);
  const auto header = filters::decode_spectral_header(words[2]);
  if (filter == nullptr || !header || header->layers.size() != filter->layer_count() + 1) {
    return kDoesNotFit;
  }
  return filter->add_layer(header->layers.back()) == filters::GrowError::kNone ? "" : kNoMemory;
}

// --- keys ---

// db key expire id
std::string Replay::parse_place(const Words& words, Place& place) const {
  if (!read(words[1], place.db) || !read(words[3], place.expire_at_ms) ||
      !read(words[4], place.id)) {
    return kMalformed;
  }
  place.key = Database::hashed(words[2]);
  return has_database(place.db) ? "" : kNoSuchDatabase;
}

std::string Replay::put(const Place& place, std::unique_ptr<Value> value) {
  if (value == nullptr) return kNoMemory;
  keyspace_.put(place.db, place.key, std::move(value), place.expire_at_ms, kLoadedAtMs);
  return {};
}

bool Replay::put_captured(const Place& place, std::string& error) {
  const auto found = known_.find(place.id);
  if (found == known_.end()) return false;
  std::unique_ptr<Value> value = std::move(found.value().unbound);
  error = value == nullptr ? "one filter under two keys" : put(place, std::move(value));
  return true;
}

// place kind header
std::string Replay::key_new(const Words& words) {
  Place place{};
  if (std::string error = parse_place(words, place); !error.empty()) return error;
  if (known_.contains(place.id)) return "a filter that exists already";
  return put(place, value_from_header(words[5], words[6], place.id));
}

// place kind text
std::string Replay::key_restore(const Words& words) {
  Place place{};
  if (std::string error = parse_place(words, place); !error.empty()) return error;
  if (known_.contains(place.id)) return "a filter that exists already";
  return put(place, value_from_text(words[5], words[6], place.id));
}

// place source..., for copies and merges
std::string Replay::key_copy(const Words& words) {
  Place place{};
  if (std::string error = parse_place(words, place); !error.empty()) return error;
  std::string error;
  if (put_captured(place, error)) return error;
  if (in_tail_) return "a copy that the snapshot lacks";
  std::vector<const BloomFilter*> blooms;
  std::vector<const SpectralFilter*> spectrals;
  const Known* source = nullptr;
  for (size_t i = 5; i < words.size(); i++) {
    source = find(words[i]);
    if (source == nullptr) return kNoSuchFilter;
    if (const BloomFilter* bloom = bloom_of(source->value)) blooms.push_back(bloom);
    if (const SpectralFilter* spectral = spectral_of(source->value)) spectrals.push_back(spectral);
  }
  if (words[0] == change::kCopy) return put(place, source->value->copy(place.id));
  if (blooms.size() == words.size() - 5) {
    auto united = BloomFilter::united(blooms, place.id);
    return put(place,
               united == nullptr ? nullptr : std::make_unique<BloomValue>(std::move(united)));
  }
  if (spectrals.size() != words.size() - 5) return kDoesNotFit;
  auto merged = SpectralFilter::merged(spectrals, place.id);
  if (merged.filter == nullptr) return kDoesNotFit;
  return put(place, std::make_unique<SpectralValue>(std::move(merged.filter)));
}

// place filter kind header
std::string Replay::key_begin(const Words& words) {
  Place place{};
  uint64_t filter_id = 0;
  if (std::string error = parse_place(words, place); !error.empty()) return error;
  if (!read(words[5], filter_id) || known_.contains(place.id)) return kMalformed;
  keyspace_.skip_id(filter_id);
  return put(place, start_of_load(words[6], words[7], place.id, filter_id));
}

// id iterator piece
std::string Replay::key_load(const Words& words) {
  const Known* known = find(words[1]);
  int64_t iterator = 0;
  if (known == nullptr) return kNoSuchFilter;
  if (known->value->kind() == ValueKind::kHollow) return {};
  if (!read(words[2], iterator) || !load(*known->value, iterator, words[3])) return kDoesNotFit;
  return {};
}

// place loading
std::string Replay::key_loaded(const Words& words) {
  Place place{};
  if (std::string error = parse_place(words, place); !error.empty()) return error;
  std::string error;
  if (put_captured(place, error)) return error;
  const Known* loading = find(words[5]);
  if (loading == nullptr) return kNoSuchFilter;
  std::unique_ptr<Value> filter = loaded_filter(*loading->value);
  return filter == nullptr || filter->id() != place.id ? kDoesNotFit
                                                       : put(place, std::move(filter));
}

// db key
std::string Replay::key_delete(const Words& words) {
  size_t db = 0;
  if (!read(words[1], db) || !has_database(db)) return kNoSuchDatabase;
  return keyspace_.remove(db, Database::hashed(words[2]), kLoadedAtMs) ? "" : kNoSuchKey;
}

// db key expire
std::string Replay::key_expire(const Words& words) {
  size_t db = 0;
  int64_t at_ms = 0;
  if (!read(words[1], db) || !has_database(db)) return kNoSuchDatabase;
  if (!read(words[3], at_ms)) return kMalformed;
  const HashedKey key = Database::hashed(words[2]);
  Entry* entry = keyspace_.find(db, key, kLoadedAtMs);
  if (entry == nullptr) return kNoSuchKey;
  keyspace_.set_expiry(db, key, *entry, at_ms);
  return {};
}

// db key db key
std::string Replay::key_move(const Words& words) {
  size_t from = 0;
  size_t to = 0;
  if (!read(words[1], from) || !read(words[3], to) || !has_database(from) || !has_database(to)) {
    return kNoSuchDatabase;
  }
  const HashedKey key = Database::hashed(words[2]);
  if (keyspace_.find(from, key, kLoadedAtMs) == nullptr) return kNoSuchKey;
  keyspace_.move(from, key, to, Database::hashed(words[4]), kLoadedAtMs);
  return {};
}

std::string Replay::db_flush(const Words& words) {
  size_t db = 0;
  if (!read(words[1], db) || !has_database(db)) return kNoSuchDatabase;
  keyspace_.flush(db);
  return {};
}

std::string Replay::db_swap(const Words& words) {
  size_t a = 0;
  size_t b = 0;
  if (!read(words[1], a) || !read(words[2], b) || !has_database(a) || !has_database(b)) {
    return kNoSuchDatabase;
  }
  keyspace_.swap(a, b);
  return {};
}

}  // namespace iris::server
