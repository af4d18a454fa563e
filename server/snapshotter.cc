#include "server/snapshotter.h"

#include <algorithm>
#include <utility>

#include "filters/bloom_header.h"
#include "filters/spectral_chunk.h"
#include "filters/spectral_header.h"
#include "server/bloom_value.h"
#include "server/snapshot_content.h"
#include "server/spectral_value.h"

namespace iris::server {

using persistence::FrameType;

namespace {

// Slots that are listed before others may go on.
constexpr uint32_t kSlotsPerTurn = 64;
// Of a load that is under way: it is copied inside the world lock.
constexpr uint64_t kPieceBytes = 256 * 1024;

bool all_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

}  // namespace

Snapshotter::Snapshotter(Engine& engine, persistence::FileSystem& files, std::string directory,
                         persistence::Log& log, size_t member, SnapshotProgress& progress)
    : engine_(engine),
      files_(files),
      directory_(std::move(directory)),
      log_(log),
      member_(member),
      progress_(progress) {}

Snapshotter::~Snapshotter() = default;

std::string Snapshotter::run(bool keep_recording) {
  std::string error = begin(keep_recording);
  if (error.empty()) {
    list_keys();
    do {
      while (!writer_->failed() && capture_next()) {
      }
      error = end(keep_recording);
    } while (error.empty() && !complete_);
  }
  if (error.empty()) {
    writer_->append_tail(end_);
    error = writer_->finish(end_);
  }
  if (error.empty()) log_.covered_by_snapshot(end_);
  forget(keep_recording);
  return error;
}

// --- begin and end ---

std::string Snapshotter::begin(bool keep_recording) {
  if (!keep_recording) {
    if (std::string error =
            log_.start(persistence::SyncPolicy::kNever, persistence::LogBase::kUnrecordedChanges);
        !error.empty()) {
      return error;
    }
  }
  const size_t databases = engine_.keyspace.databases();
  listed_.assign(databases, std::vector<bool>(Database::kSlots));
  engine_.world.lock_exclusive();
  begin_ = keep_recording ? log_.cut() : log_.end();
  engine_.journal.record_to(&log_);
  engine_.keyspace.set_watcher(this);
  engine_.set_snapshot_reads(true);
  uint64_t keys = 0;
  for (size_t db = 0; db < databases; db++) keys += engine_.keyspace.database(db).size();
  engine_.world.unlock_exclusive();
  progress_.keys_done = 0;
  progress_.keys_in_all = keys;
  progress_.bytes_done = 0;
  progress_.bytes_in_all = engine_.memory.used_bytes();

  if (keep_recording) {
    if (std::string error = log_.wait_for_cut(begin_); !error.empty()) return error;
  }
  std::string error;
  writer_ =
      persistence::SnapshotWriter::create(files_, directory_, begin_, engine_.hash_seed, error);
  return error;
}

// Ends the capture unless something was born since the last look.
std::string Snapshotter::end(bool keep_recording) {
  engine_.world.lock_exclusive();
  complete_ = next_ == queue_.size() || writer_->failed();
  if (complete_) {
    engine_.keyspace.set_watcher(nullptr);
    engine_.set_snapshot_reads(false);
    end_ = keep_recording ? log_.cut() : log_.end();
    if (!keep_recording) engine_.journal.record_to(nullptr);
  }
  engine_.world.unlock_exclusive();
  if (!complete_) return {};
  return keep_recording ? log_.wait_for_cut(end_) : log_.stop();
}

// Whatever happened: nothing watches, and nothing is recorded that nobody asked for.
void Snapshotter::forget(bool keep_recording) {
  engine_.world.lock_exclusive();
  engine_.keyspace.set_watcher(nullptr);
  engine_.set_snapshot_reads(false);
  if (!keep_recording) engine_.journal.record_to(nullptr);
  engine_.world.unlock_exclusive();
  // After a snapshot that failed; otherwise it has been stopped already.
  if (!keep_recording && log_.recording()) static_cast<void>(log_.stop());
  writer_.reset();
  listed_ = {};
  keys_ = {};
  queue_ = {};
  next_ = 0;
  values_ = {};
  buffer_ = {};
  complete_ = false;
}

// --- the list ---

void Snapshotter::list_keys() {
  const size_t databases = engine_.keyspace.databases();
  for (size_t db = 0; db < databases; db++) {
    for (uint32_t slot = 0; slot < Database::kSlots;) {
      {
        InsideWorld inside(engine_.world, member_);
        const Database& database = engine_.keyspace.database(db);
        for (uint32_t n = 0; n < kSlotsPerTurn && slot < Database::kSlots; n++) {
          const uint32_t next = std::min(database.next_used_slot(slot), Database::kSlots);
          // Empty ones are listed too: what comes into them later is not part of the list.
          for (; slot < next; slot++) listed_[db][slot] = true;
          if (slot < Database::kSlots) list_slot(db, slot++);
        }
      }
      write_keys();
    }
  }
}

void Snapshotter::list_slot(size_t db, uint32_t slot) {
  if (listed_[db][slot]) return;
  listed_[db][slot] = true;
  engine_.keyspace.database(db).visit_slot(slot, [&](const std::string& name, const Entry& entry) {
    append_saved(keys_, {static_cast<uint32_t>(db), entry.expire_at_ms, entry.value->id(), name});
    add(*entry.value);
  });
}

void Snapshotter::add(Value& value) {
  queue_.push_back(value.id());
  values_.insert_or_assign(value.id(), &value);
}

void Snapshotter::write_keys() {
  std::string keys;
  {
    InsideWorld inside(engine_.world, member_);  // exclusive steps of others append to it
    if (keys_.empty()) return;
    keys.swap(keys_);
  }
  writer_->frame(FrameType::kKeys, {}, keys);
}

void Snapshotter::slot_will_change(size_t db, uint32_t slot) {
  list_slot(db, slot);
}

void Snapshotter::database_will_change(size_t db) {
  const Database& database = engine_.keyspace.database(db);
  for (uint32_t slot = database.next_used_slot(0); slot < Database::kSlots;
       slot = database.next_used_slot(slot + 1)) {
    list_slot(db, slot);
  }
  listed_[db].assign(Database::kSlots, true);
}

void Snapshotter::value_born(Value& value, Birth::Kind birth) {
  const bool told_by_the_log = birth == Birth::Kind::kEmpty || birth == Birth::Kind::kRestored ||
                               birth == Birth::Kind::kLoading;
  if (!told_by_the_log) add(value);
}

void Snapshotter::value_dropped(const Value& value) {
  const auto found = values_.find(value.id());
  if (found != values_.end()) found.value() = nullptr;
}

// --- capture ---

// Inside the world lock. Null: it is gone.
Value* Snapshotter::still_there(uint64_t id) {
  const auto found = values_.find(id);
  return found == values_.end() ? nullptr : found->second;
}

// False if nothing is left. Others may add something meanwhile, so end() looks again.
bool Snapshotter::capture_next() {
  uint64_t id = 0;
  Value* value = nullptr;
  ValueKind kind = ValueKind::kHollow;
  {
    InsideWorld inside(engine_.world, member_);  // exclusive steps of others append to the queue
    if (next_ == queue_.size()) return false;
    id = queue_[next_++];
    value = still_there(id);
    if (value != nullptr) kind = value->kind();
  }
  switch (kind) {
    case ValueKind::kBloom:
    case ValueKind::kSpectral:
      capture_filter(id);
      break;
    case ValueKind::kBloomLoading:
    case ValueKind::kSpectralLoading:
      capture_load(id);
      break;
    case ValueKind::kHollow:
      write_hollow(id);
      break;
  }
  progress_.keys_done.fetch_add(1, std::memory_order_relaxed);
  progress_.bytes_done.store(writer_->bytes(), std::memory_order_relaxed);
  return true;
}

void Snapshotter::write_hollow(uint64_t id) {
  writer_->frame(FrameType::kHollow, {reinterpret_cast<const char*>(&id), sizeof id});
}

void Snapshotter::capture_filter(uint64_t id) {
  SavedFilter saved{id, 0, SavedKind::kBloom, {}};
  std::string header;
  std::vector<uint64_t> layer_ends;
  if (!copy_header(saved, header, layer_ends)) return write_hollow(id);
  writer_->frame(FrameType::kFilter, head_of(saved), header);
  const uint64_t step = saved.kind == SavedKind::kBloom ? filters::kChunkBytes : 1;
  for (uint32_t layer = 0; layer < layer_ends.size(); layer++) {
    for (uint64_t place = 0; place < layer_ends[layer]; place += step) {
      SavedCells cells{id, saved.lsn, layer, place, {}};
      if (!copy_cells(cells)) return write_hollow(id);
      writer_->frame(FrameType::kCells, head_of(cells),
                     all_zero(buffer_) ? std::string_view() : buffer_);
    }
    progress_.bytes_done.store(writer_->bytes(), std::memory_order_relaxed);
  }
}

// Under all stripes of the filter; `layer_ends` is the end of the places of each layer's cells.
// False: the filter is gone.
bool Snapshotter::copy_header(SavedFilter& saved, std::string& header,
                              std::vector<uint64_t>& layer_ends) {
  InsideWorld inside(engine_.world, member_);
  Value* value = still_there(saved.id);
  if (const filters::BloomFilter* bloom = bloom_of(value)) {
    const filters::StripeSetGuard guard(engine_.stripes, bloom->stripes());
    header = filters::encode_header(*bloom, filters::HeaderFormat::kIris);
    for (const auto& layer : bloom->layers()) layer_ends.push_back(layer.cells().size());
    saved.lsn = log_.end();
    return true;
  }
  if (const filters::SpectralFilter* spectral = spectral_of(value)) {
    const filters::StripeSetGuard guard(engine_.stripes, spectral->stripes());
    header = filters::encode_spectral_header(*spectral);
    for (size_t i = 0; i < spectral->layer_count(); i++) {
      layer_ends.push_back(spectral->layer(i).chunk_count());
    }
    saved.kind = SavedKind::kSpectral;
    saved.lsn = log_.end();
    return true;
  }
  return false;
}

// Into the buffer, what lies at the place. False: the filter is gone.
bool Snapshotter::copy_cells(SavedCells& cells) {
  InsideWorld inside(engine_.world, member_);
  Value* value = still_there(cells.id);
  if (const filters::BloomFilter* bloom = bloom_of(value)) {
    const filters::BloomLayer& layer = bloom->layer(cells.layer);
    buffer_.resize(std::min<uint64_t>(filters::kChunkBytes, layer.cells().size() - cells.place));
    layer.read_cells(cells.place, std::as_writable_bytes(std::span(buffer_)));
    return true;
  }
  if (const filters::SpectralFilter* spectral = spectral_of(value)) {
    const filters::StripeGuard guard(engine_.stripes,
                                     spectral->stripe_of(cells.layer, cells.place));
    buffer_.clear();
    filters::encode_spectral_chunk(spectral->layer(cells.layer), cells.place, buffer_);
    cells.lsn = log_.end();
    return true;
  }
  return false;
}

// Loads change only in the exclusive state, and a piece that comes again changes nothing: so what
// is copied inside the world lock is right, whatever the tail says once more.
void Snapshotter::capture_load(uint64_t id) {
  constexpr int64_t kHeader = 1;
  SavedPiece saved{id, 0, SavedKind::kBloom, kHeader, {}};
  uint64_t place = 0;
  bool more = true;
  for (bool header = true; more; header = false) {
    filters::LoadedPiece piece{kHeader, {}, 0};
    {
      InsideWorld inside(engine_.world, member_);
      Value* value = still_there(id);
      if (value == nullptr) return write_hollow(id);
      std::optional<filters::LoadedPiece> next;
      if (value->kind() == ValueKind::kBloomLoading) {
        const auto& loader = static_cast<LoadingBloomValue*>(value)->loader();
        saved.filter_id = loader.filter_id();
        piece.data = header ? loader.header() : std::string();
        next = header ? std::nullopt : loader.piece_from(place, kPieceBytes);
      } else {
        const auto& loader = static_cast<LoadingSpectralValue*>(value)->loader();
        saved.kind = SavedKind::kSpectral;
        saved.filter_id = loader.filter_id();
        piece.data = header ? loader.header() : std::string();
        next = header ? std::nullopt : loader.piece_from(place);
      }
      more = header || next.has_value();
      if (next) piece = std::move(*next);
    }
    if (!more) return;
    saved.iterator = piece.iterator;
    place = piece.next;
    writer_->frame(FrameType::kLoading, head_of(saved), piece.data);
  }
}

}  // namespace iris::server
