// The frames of a snapshot: filters are made from their headers, filled with their cells, and put
// under their keys when all are known; the redo tail is then a matter of records (replay.cc).
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "filters/little_endian.h"
#include "filters/spectral_chunk.h"
#include "server/bloom_value.h"
#include "server/change_words.h"
#include "server/replay.h"
#include "server/saved_values.h"
#include "server/spectral_value.h"

namespace iris::server {

using filters::BloomFilter;
using filters::SpectralFilter;

namespace {

std::string_view word_of(SavedKind kind) {
  return kind == SavedKind::kBloom ? change::kBloom : change::kSpectral;
}

bool ends_clear(const BloomFilter& filter) {
  return std::all_of(filter.layers().begin(), filter.layers().end(),
                     [](const filters::BloomLayer& layer) { return layer.padding_is_clear(); });
}

// Header and cells were copied at different moments: only after the tail do they belong together.
// False if they do not.
bool settle_totals(SpectralFilter& filter) {
  std::vector<uint64_t> items;
  for (size_t i = 0; i < filter.layer_count(); i++) items.push_back(filter.layer(i).items());
  return filter.settle(filter.sum(), filter.deleted(), items);
}

}  // namespace

std::string Replay::frame(const persistence::SnapshotFrame& frame) {
  using persistence::FrameType;
  switch (frame.type) {
    case FrameType::kKeys:
      return load_keys(frame.payload);
    case FrameType::kFilter:
      return load_filter(frame.payload);
    case FrameType::kCells:
      return load_cells(frame.payload);
    case FrameType::kHollow:
      return load_hollow(frame.payload);
    case FrameType::kLoading:
      return load_piece(frame.payload);
    case FrameType::kRecords:
      return load_records(frame.payload);
    case FrameType::kPart:
    case FrameType::kBegin:
    case FrameType::kEnd:
      break;
  }
  return "a frame of an unknown kind";
}

std::string Replay::load_keys(std::string_view payload) {
  SavedKey key;
  while (take_saved(payload, key)) {
    if (!has_database(key.db)) return kNoSuchDatabase;
    keys_.push_back({key, std::string(key.name)});
  }
  return payload.empty() && !keys_bound_ ? "" : "a malformed list of keys";
}

std::string Replay::load_filter(std::string_view payload) {
  SavedFilter saved;
  if (!parse_saved(payload, saved) || known_.contains(saved.id)) return "a malformed filter";
  Known known;
  known.unbound = value_from_header(word_of(saved.kind), saved.header, saved.id);
  known.value = known.unbound.get();
  known.captured = true;
  known.header_lsn = saved.lsn;
  if (BloomFilter* bloom = bloom_of(known.value)) {
    known.missing = bloom->cell_bytes();
  } else if (SpectralFilter* spectral = spectral_of(known.value)) {
    for (size_t i = 0; i < spectral->layer_count(); i++) {
      known.chunk_lsns.emplace_back(spectral->layer(i).chunk_count(), 0);
      known.missing += spectral->layer(i).chunk_count();
    }
  } else {
    return "a filter whose header is not valid, or not enough memory for it";
  }
  keyspace_.skip_id(saved.id);
  known_.insert_or_assign(saved.id, std::move(known));
  return {};
}

std::string Replay::load_cells(std::string_view payload) {
  SavedCells saved;
  if (!parse_saved(payload, saved)) return "malformed cells";
  const auto found = known_.find(saved.id);
  if (found == known_.end()) return "cells of an unknown filter";
  Known& known = found.value();
  if (bloom_of(known.value) != nullptr) return load_bloom_cells(known, saved);
  if (spectral_of(known.value) != nullptr) return load_spectral_cells(known, saved);
  return "cells of what is no filter";
}

// Pieces come in order: what is missing tells where the next one belongs. A piece without bytes
// stands for the rest of its layer's chunk, all 0.
std::string Replay::load_bloom_cells(Known& known, const SavedCells& saved) {
  BloomFilter& filter = *bloom_of(known.value);
  if (saved.layer >= filter.layer_count()) return "cells of a layer that does not exist";
  const auto cells = filter.mutable_layer(saved.layer).cells();
  uint64_t before = saved.place;
  for (size_t i = 0; i < saved.layer; i++) before += filter.layer(i).cells().size();
  if (saved.place >= cells.size() || before != filter.cell_bytes() - known.missing) {
    return "cells out of order";
  }
  const uint64_t room = cells.size() - saved.place;
  const uint64_t size =
      saved.cells.empty() ? std::min(room, filters::kChunkBytes) : uint64_t{saved.cells.size()};
  if (size > room) return "more cells than the layer has";
  if (!saved.cells.empty()) std::memcpy(cells.data() + saved.place, saved.cells.data(), size);
  known.missing -= size;
  return {};
}

std::string Replay::load_spectral_cells(Known& known, const SavedCells& saved) {
  SpectralFilter& filter = *spectral_of(known.value);
  if (saved.layer >= known.chunk_lsns.size() ||
      saved.place >= known.chunk_lsns[saved.layer].size() || known.missing == 0) {
    return "cells of a chunk that does not exist";
  }
  std::string_view bytes = saved.cells;
  if (!bytes.empty()) {
    const auto result =
        filters::decode_spectral_chunk(filter.mutable_layer(saved.layer), saved.place, bytes);
    if (result == filters::ChunkDecode::kNoMemory) return kNoMemory;
    if (result != filters::ChunkDecode::kOk || !bytes.empty()) return "malformed cells";
  }
  known.chunk_lsns[saved.layer][saved.place] = saved.lsn;
  known.missing--;
  return {};
}

std::string Replay::load_hollow(std::string_view payload) {
  uint64_t id = 0;
  while (take_saved(payload, id)) {
    Known hollow;
    hollow.unbound = hollow_value(id);
    hollow.value = hollow.unbound.get();
    keyspace_.skip_id(id);
    known_.insert_or_assign(id, std::move(hollow));
  }
  return payload.empty() && !keys_bound_ ? "" : "a malformed list of deleted filters";
}

std::string Replay::load_piece(std::string_view payload) {
  SavedPiece saved;
  if (!parse_saved(payload, saved)) return "a malformed piece of a load";
  constexpr int64_t kHeader = 1;
  if (saved.iterator != kHeader) {
    const auto found = known_.find(saved.id);
    const bool fits = found != known_.end() && found->second.value != nullptr &&
                      load(*found->second.value, saved.iterator, saved.piece);
    return fits ? "" : "a piece of a load that does not fit";
  }
  Known known;
  known.unbound = start_of_load(word_of(saved.kind), saved.piece, saved.id, saved.filter_id);
  known.value = known.unbound.get();
  if (known.value == nullptr) return "a load whose header is not valid";
  known.captured = true;
  keyspace_.skip_id(std::max(saved.id, saved.filter_id));
  known_.insert_or_assign(saved.id, std::move(known));
  return {};
}

// Once, when all filters are known: before the first record, or at the end if there is none.
std::string Replay::bind_keys() {
  if (keys_bound_) return {};
  keys_bound_ = true;
  for (KeyToBind& key : keys_) {
    const Place place{key.saved.db, Database::hashed(key.name), key.saved.expire_at_ms,
                      key.saved.id};
    std::string error;
    if (!put_captured(place, error)) return "a key whose filter is missing";
    if (!error.empty()) return error;
  }
  keys_ = {};
  return {};
}

std::string Replay::load_records(std::string_view payload) {
  filters::FieldReader fields(payload);
  const auto first = fields.get<uint64_t>();
  const auto count = fields.get<uint64_t>();
  if (!fields.ok()) return "malformed records";
  if (std::string error = bind_keys(); !error.empty()) return error;
  in_tail_ = true;
  persistence::RecordReader records(fields.rest());
  for (uint64_t i = 0; i < count; i++) {
    const std::string_view bytes = records.next();
    if (bytes.empty()) return "malformed records";
    if (std::string error = record(first + i, bytes); !error.empty()) return error;
  }
  return records.at_end() ? "" : "malformed records";
}

std::string Replay::end_of_snapshot() {
  if (std::string error = bind_keys(); !error.empty()) return error;
  in_tail_ = false;
  for (auto it = known_.begin(); it != known_.end();) {
    if (it->second.unbound != nullptr) {
      it = known_.erase(it);  // came and went while the snapshot was made
      continue;
    }
    if (std::string error = settle(it.value()); !error.empty()) return error;
    ++it;
  }
  return {};
}

// Nothing of the value is missing; from now on all records apply to it.
std::string Replay::settle(Known& known) {
  if (known.value->kind() == ValueKind::kHollow || known.missing != 0) {
    return "a filter whose cells are missing";
  }
  if (const BloomFilter* bloom = bloom_of(known.value); bloom != nullptr && !ends_clear(*bloom)) {
    return "a filter with bits beyond its end";
  }
  SpectralFilter* spectral = spectral_of(known.value);
  if (spectral != nullptr && known.captured && !settle_totals(*spectral)) {
    return "a filter whose cells make no sense";
  }
  known.captured = false;
  known.header_lsn = 0;
  known.chunk_lsns = {};
  return {};
}

}  // namespace iris::server
