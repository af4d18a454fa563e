#include "server/snapshot_content.h"

#include "filters/little_endian.h"

namespace iris::server {

using filters::FieldReader;
using filters::put;

namespace {

bool known(uint32_t kind) {
  return kind == static_cast<uint32_t>(SavedKind::kBloom) ||
         kind == static_cast<uint32_t>(SavedKind::kSpectral);
}

}  // namespace

void append_saved(std::string& out, const SavedKey& key) {
  put<uint32_t>(out, key.db);
  put<int64_t>(out, key.expire_at_ms);
  put<uint64_t>(out, key.id);
  put<uint32_t>(out, static_cast<uint32_t>(key.name.size()));
  out += key.name;
}

std::string head_of(const SavedFilter& filter) {
  std::string head;
  put<uint64_t>(head, filter.id);
  put<uint64_t>(head, filter.lsn);
  put<uint32_t>(head, static_cast<uint32_t>(filter.kind));
  return head;
}

std::string head_of(const SavedCells& cells) {
  std::string head;
  put<uint64_t>(head, cells.id);
  put<uint64_t>(head, cells.lsn);
  put<uint32_t>(head, cells.layer);
  put<uint64_t>(head, cells.place);
  return head;
}

std::string head_of(const SavedPiece& piece) {
  std::string head;
  put<uint64_t>(head, piece.id);
  put<uint64_t>(head, piece.filter_id);
  put<uint32_t>(head, static_cast<uint32_t>(piece.kind));
  put<int64_t>(head, piece.iterator);
  return head;
}

bool take_saved(std::string_view& bytes, SavedKey& key) {
  FieldReader fields(bytes);
  key.db = fields.get<uint32_t>();
  key.expire_at_ms = fields.get<int64_t>();
  key.id = fields.get<uint64_t>();
  const auto length = fields.get<uint32_t>();
  if (!fields.ok() || fields.rest().size() < length) return false;
  key.name = fields.rest().substr(0, length);
  bytes = fields.rest().substr(length);
  return true;
}

bool take_saved(std::string_view& bytes, uint64_t& hollow_id) {
  FieldReader fields(bytes);
  hollow_id = fields.get<uint64_t>();
  if (!fields.ok()) return false;
  bytes = fields.rest();
  return true;
}

bool parse_saved(std::string_view payload, SavedFilter& filter) {
  FieldReader fields(payload);
  filter.id = fields.get<uint64_t>();
  filter.lsn = fields.get<uint64_t>();
  const auto kind = fields.get<uint32_t>();
  filter.kind = static_cast<SavedKind>(kind);
  filter.header = fields.rest();
  return fields.ok() && known(kind);
}

bool parse_saved(std::string_view payload, SavedCells& cells) {
  FieldReader fields(payload);
  cells.id = fields.get<uint64_t>();
  cells.lsn = fields.get<uint64_t>();
  cells.layer = fields.get<uint32_t>();
  cells.place = fields.get<uint64_t>();
  cells.cells = fields.rest();
  return fields.ok();
}

bool parse_saved(std::string_view payload, SavedPiece& piece) {
  FieldReader fields(payload);
  piece.id = fields.get<uint64_t>();
  piece.filter_id = fields.get<uint64_t>();
  const auto kind = fields.get<uint32_t>();
  piece.kind = static_cast<SavedKind>(kind);
  piece.iterator = fields.get<int64_t>();
  piece.piece = fields.rest();
  return fields.ok() && known(kind);
}

}  // namespace iris::server
