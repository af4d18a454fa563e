// What took effect, told to the log: each change of a filter or of the keyspace becomes a record
// that says what was done, so that replay (replay.h) decides nothing anew.
//
//     concurrent: BF.ADD, CF.INCR ...        exclusive: DEL, RENAME, EXEC, a new layer ...
//     under the item's stripe                 all changes of one exclusive step are one record, so
//     one record each                         after a crash they are all there or none is
//
// Records name filters by their ids, which are never used twice; what a key holds is known from the
// record that made it. So renaming a key touches no filter, and a change of a filter need not know
// how its key is called at the moment.
//
// Threads: record_to() and everything of the second group in the exclusive state; the first group
// inside the world lock, before the change can be seen.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filters/bloom_filter.h"
#include "filters/spectral_filter.h"
#include "persistence/log.h"
#include "persistence/record.h"
#include "server/value.h"

namespace iris::server {

// Where a value that is put under a key comes from: what replay needs to make it again.
struct Birth {
  enum class Kind : uint8_t {
    kEmpty,     // a new filter without content
    kRestored,  // from `text`, which serialize() made
    kCopied,    // of the one filter in `sources`
    kMerged,    // of the filters in `sources`
    kLoading,  // the first step of a load: `text` is the header, the filter in `sources` is to come
    kLoaded,   // the last step: what was loading, in `sources`, has become this filter
  };
  Kind kind = Kind::kEmpty;
  std::string_view text = {};
  std::span<const uint64_t> sources = {};
};

struct KeyName {
  size_t db;
  std::string_view name;
};

// Items of a request: every `stride`-th argument from `first` on.
struct ItemList {
  const std::string_view* first;
  size_t stride;
  std::string_view operator[](size_t i) const { return first[i * stride]; }
};

class Journal {
 public:
  explicit Journal(size_t members);
  ~Journal();

  // From now on changes are told to `log`; null: to nobody.
  void record_to(persistence::Log* log) { log_ = log; }
  bool recording() const { return log_ != nullptr; }
  persistence::Log* log() const { return log_; }
  // Effective changes since the start, recorded or not.
  uint64_t changes() const;

  // --- concurrent ---
  void bloom_added(size_t member, const filters::BloomFilter& filter, std::string_view item);
  // `changes` are those of the items, one each.
  void spectral_changed(size_t member, const filters::SpectralFilter& filter,
                        std::span<const filters::SpectralChange> changes, ItemList items) {
    members_[member]->count();
    if (recording()) record_spectral(member, filter, changes, items);
  }

  // --- exclusive ---
  // Between these two all changes become one record.
  void begin_step() { in_step_ = true; }
  void end_step();

  void put(KeyName key, int64_t expire_at_ms, const Value& value, const Birth& birth);
  void loaded_piece(const Value& value, int64_t iterator, std::string_view piece);
  void layer_added(const filters::BloomFilter& filter);
  void layer_added(const filters::SpectralFilter& filter);
  void deleted(KeyName key);
  void expires(KeyName key, int64_t expire_at_ms);
  void moved(KeyName from, KeyName to);
  void flushed(size_t db);
  void swapped(size_t a, size_t b);

 private:
  struct alignas(64) Member {
    persistence::RecordBuilder record;
    std::atomic<uint64_t> changes{0};

    void count() {
      changes.store(changes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  };

  void record_spectral(size_t member, const filters::SpectralFilter& filter,
                       std::span<const filters::SpectralChange> changes, ItemList items);
  void emit(const persistence::RecordBuilder& record);
  persistence::RecordBuilder* begin(std::string_view word, size_t words);

  persistence::Log* log_ = nullptr;
  // One for each member of the world lock, and the last for exclusive steps.
  std::vector<std::unique_ptr<Member>> members_;
  bool in_step_ = false;
  std::vector<std::string> step_;
};

}  // namespace iris::server
