// Brings the keyspace back: from the frames of a snapshot, its redo tail, and the records of the
// log. It decides nothing: records say what was done, and this does it again.
//
// A snapshot is fuzzy: each filter's header and each chunk of its cells are from a moment of their
// own. On the redo tail a change is applied to a header or chunk only if it came after that one was
// copied, so each change counts exactly once.
//
//     frames   keys as they were at the begin; filters; cells; hollow ones
//     tail     records from the begin to the end   [skip what a copy already has]
//     log      records after the end               [apply all]
//
// Everything that is read is held against the state: what does not fit is an error, never a guess,
// and nothing that a file says reaches a CHECK. Filters go through the same constructors as those
// of RESERVE and RESTORE.
//
// Threads: all members in the exclusive state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tsl/robin_map.h>

#include "persistence/log_format.h"
#include "persistence/record.h"
#include "persistence/snapshot_file.h"
#include "server/keyspace.h"
#include "server/snapshot_content.h"

namespace iris::server {

class Replay final : public KeyspaceWatcher {
 public:
  // Watches the keyspace, which must be empty, as long as it lives.
  explicit Replay(Keyspace& keyspace);
  ~Replay() override;

  // Each returns what is wrong in a sentence, empty if nothing is.
  [[nodiscard]] std::string frame(const persistence::SnapshotFrame& frame);
  [[nodiscard]] std::string record(persistence::Lsn lsn, std::string_view record);
  // After the last frame of a snapshot, its tail included: what it promised is there.
  [[nodiscard]] std::string end_of_snapshot();

  void slot_will_change(size_t, uint32_t) override {}
  void database_will_change(size_t) override {}
  void value_born(Value& value, Birth::Kind birth) override;
  void value_dropped(const Value& value) override;

 private:
  // A value by its id.
  struct Known {
    Value* value = nullptr;
    std::unique_ptr<Value> unbound;   // captured, and no key holds it so far
    bool captured = false;            // it is from a snapshot,
    persistence::Lsn header_lsn = 0;  // its header from this moment
    uint64_t missing = 0;             // bytes or chunks of cells that are still to come
    std::vector<std::vector<uint64_t>> chunk_lsns;  // spectral, from a snapshot: by layer
  };
  using Words = persistence::RecordWords;
  using Handler = std::string (Replay::*)(const Words& words);

  static constexpr const char* kNoSuchDatabase =
      "a key of a database that does not exist: is `databases` smaller than it was?";
  static constexpr const char* kNoMemory = "not enough memory";

  // --- frames of a snapshot: replay_frames.cc ---
  std::string load_keys(std::string_view payload);
  std::string load_filter(std::string_view payload);
  std::string load_cells(std::string_view payload);
  std::string load_hollow(std::string_view payload);
  std::string load_piece(std::string_view payload);
  std::string load_records(std::string_view payload);
  std::string load_bloom_cells(Known& known, const SavedCells& saved);
  std::string load_spectral_cells(Known& known, const SavedCells& saved);
  std::string bind_keys();
  std::string settle(Known& known);

  // --- records: replay.cc ---
  std::string apply(const Words& words);
  std::string bloom_add(const Words& words);
  std::string bloom_layer(const Words& words);
  std::string spectral_change(const Words& words);
  std::string spectral_layer(const Words& words);
  std::string key_new(const Words& words);
  std::string key_restore(const Words& words);
  std::string key_copy(const Words& words);
  std::string key_begin(const Words& words);
  std::string key_load(const Words& words);
  std::string key_loaded(const Words& words);
  std::string key_delete(const Words& words);
  std::string key_expire(const Words& words);
  std::string key_move(const Words& words);
  std::string db_flush(const Words& words);
  std::string db_swap(const Words& words);

  struct Place {
    size_t db;
    HashedKey key;
    int64_t expire_at_ms;
    uint64_t id;
  };
  std::string parse_place(const Words& words, Place& place) const;
  std::string put(const Place& place, std::unique_ptr<Value> value);
  // True if the snapshot has it already, and then it is put under its key.
  bool put_captured(const Place& place, std::string& error);
  bool has_database(uint64_t db) const { return db < keyspace_.databases(); }
  Known* find(std::string_view id_word);

  Keyspace& keyspace_;
  tsl::robin_map<uint64_t, Known> known_;
  struct KeyToBind {
    SavedKey saved;
    std::string name;
  };
  std::vector<KeyToBind> keys_;
  bool keys_bound_ = false;
  bool in_tail_ = false;
  persistence::Lsn lsn_ = 0;  // of the record that is being applied
  Words words_;
};

}  // namespace iris::server
