#include "server/journal.h"

#include "filters/bloom_header.h"
#include "filters/spectral_header.h"
#include "server/bloom_value.h"
#include "server/change_words.h"
#include "server/spectral_value.h"

namespace iris::server {

using filters::SpectralChange;
using filters::SpectralEditKind;
using persistence::RecordBuilder;

namespace {

bool is_bloom(const Value& value) {
  return value.kind() == ValueKind::kBloom || value.kind() == ValueKind::kBloomLoading;
}

std::string header_of(const Value& value) {
  return is_bloom(value)
             ? filters::encode_header(static_cast<const BloomValue&>(value).filter(),
                                      filters::HeaderFormat::kIris)
             : filters::encode_spectral_header(static_cast<const SpectralValue&>(value).filter());
}

void add(RecordBuilder& record, KeyName key) {
  record.number(key.db);
  record.word(key.name);
}

std::string_view word_of(SpectralEditKind kind) {
  switch (kind) {
    case SpectralEditKind::kSubtract:
      return change::kSpectralSubtract;
    case SpectralEditKind::kRaise:
      return change::kSpectralRaise;
    default:
      return change::kSpectralAdd;
  }
}

std::string_view word_of(Birth::Kind kind) {
  switch (kind) {
    case Birth::Kind::kEmpty:
      break;
    case Birth::Kind::kRestored:
      return change::kRestore;
    case Birth::Kind::kCopied:
      return change::kCopy;
    case Birth::Kind::kMerged:
      return change::kMerge;
    case Birth::Kind::kLoading:
      return change::kBegin;
    case Birth::Kind::kLoaded:
      return change::kLoaded;
  }
  return change::kNew;
}

}  // namespace

Journal::Journal(size_t members) {
  for (size_t i = 0; i <= members; i++) members_.push_back(std::make_unique<Member>());
}

Journal::~Journal() = default;

uint64_t Journal::changes() const {
  uint64_t sum = 0;
  for (const auto& member : members_) sum += member->changes.load(std::memory_order_relaxed);
  return sum;
}

void Journal::emit(const RecordBuilder& record) {
  if (in_step_) {
    step_.emplace_back(record.view());
  } else {
    log_->append(record.view());
  }
}

void Journal::end_step() {
  in_step_ = false;
  if (step_.empty()) return;
  if (step_.size() == 1) {
    log_->append(step_[0]);
  } else {
    log_->append(persistence::joined_record(step_));
  }
  step_.clear();
}

// --- filters ---

void Journal::bloom_added(size_t member, const filters::BloomFilter& filter,
                          std::string_view item) {
  Member& own = *members_[member];
  own.count();
  if (!recording()) return;
  own.record.begin(4);
  own.record.word(change::kBloomAdd);
  own.record.number(filter.id());
  own.record.number(filter.layer_count() - 1);
  own.record.word(item);
  emit(own.record);
}

void Journal::record_spectral(size_t member, const filters::SpectralFilter& filter,
                              std::span<const SpectralChange> changes, ItemList items) {
  const SpectralEditKind kind = changes[0].edit.kind;
  const bool raises = kind == SpectralEditKind::kRaise;
  RecordBuilder& record = members_[member]->record;
  record.begin(2 + changes.size() * (raises ? 5 : 4));
  record.word(word_of(kind));
  record.number(filter.id());
  for (size_t i = 0; i < changes.size(); i++) {
    record.number(changes[i].layer);
    record.number(changes[i].edit.amount);
    if (raises) record.number(changes[i].sum);
    record.signed_number(changes[i].items);
    record.word(items[i]);
  }
  emit(record);
}

// Begins the record of an exclusive change; null if nobody wants it.
RecordBuilder* Journal::begin(std::string_view word, size_t words) {
  members_.back()->count();
  if (!recording()) return nullptr;
  RecordBuilder& record = members_.back()->record;
  record.begin(words);
  record.word(word);
  return &record;
}

void Journal::layer_added(const filters::BloomFilter& filter) {
  if (RecordBuilder* record = begin(change::kBloomLayer, 3)) {
    record->number(filter.id());
    record->word(filters::encode_header(filter, filters::HeaderFormat::kIris));
    emit(*record);
  }
}

void Journal::layer_added(const filters::SpectralFilter& filter) {
  if (RecordBuilder* record = begin(change::kSpectralLayer, 3)) {
    record->number(filter.id());
    record->word(filters::encode_spectral_header(filter));
    emit(*record);
  }
}

void Journal::loaded_piece(const Value& value, int64_t iterator, std::string_view piece) {
  if (RecordBuilder* record = begin(change::kLoad, 4)) {
    record->number(value.id());
    record->signed_number(iterator);
    record->word(piece);
    emit(*record);
  }
}

// --- keys ---

void Journal::put(KeyName key, int64_t expire_at_ms, const Value& value, const Birth& birth) {
  const std::string header =
      birth.kind == Birth::Kind::kEmpty && recording() ? header_of(value) : std::string();
  const std::string_view text = birth.kind == Birth::Kind::kEmpty ? header : birth.text;
  // What has a text has a kind too.
  const size_t words = 5 + birth.sources.size() + (text.empty() ? 0 : 2);
  RecordBuilder* record = begin(word_of(birth.kind), words);
  if (record == nullptr) return;
  add(*record, key);
  record->signed_number(expire_at_ms);
  record->number(value.id());
  for (const uint64_t source : birth.sources) record->number(source);
  if (!text.empty()) {
    record->word(is_bloom(value) ? change::kBloom : change::kSpectral);
    record->word(text);
  }
  emit(*record);
}

void Journal::deleted(KeyName key) {
  if (RecordBuilder* record = begin(change::kDelete, 3)) {
    add(*record, key);
    emit(*record);
  }
}

void Journal::expires(KeyName key, int64_t expire_at_ms) {
  if (RecordBuilder* record = begin(change::kExpire, 4)) {
    add(*record, key);
    record->signed_number(expire_at_ms);
    emit(*record);
  }
}

void Journal::moved(KeyName from, KeyName to) {
  if (RecordBuilder* record = begin(change::kMove, 5)) {
    add(*record, from);
    add(*record, to);
    emit(*record);
  }
}

void Journal::flushed(size_t db) {
  if (RecordBuilder* record = begin(change::kFlush, 2)) {
    record->number(db);
    emit(*record);
  }
}

void Journal::swapped(size_t a, size_t b) {
  if (RecordBuilder* record = begin(change::kSwap, 3)) {
    record->number(a);
    record->number(b);
    emit(*record);
  }
}

}  // namespace iris::server
