#include "persistence/snapshot_format.h"

#include <limits>

#include "filters/little_endian.h"

namespace iris::persistence {

using filters::FieldReader;
using filters::put;

std::string_view frame_type_name(FrameType type) {
  switch (type) {
    case FrameType::kBegin:
      return "begin";
    case FrameType::kKeys:
      return "keys";
    case FrameType::kFilter:
      return "filter";
    case FrameType::kCells:
      return "cells";
    case FrameType::kHollow:
      return "hollow";
    case FrameType::kLoading:
      return "loading";
    case FrameType::kRecords:
      return "records";
    case FrameType::kEnd:
      return "end";
    case FrameType::kPart:
      return "part";
  }
  return "unknown";
}

std::string begin_payload(const SnapshotBegin& begin) {
  std::string payload;
  put<uint32_t>(payload, begin.version);
  put<uint32_t>(payload, 0);
  put<uint64_t>(payload, begin.salt);
  put<uint64_t>(payload, begin.lsn);
  put<uint64_t>(payload, begin.hash_seed);
  return payload;
}

std::string end_payload(const SnapshotEnd& end) {
  std::string payload;
  put<uint64_t>(payload, end.lsn);
  put<uint64_t>(payload, end.frames);
  return payload;
}

std::string records_head(Lsn first, uint64_t count) {
  std::string head;
  put<uint64_t>(head, first);
  put<uint64_t>(head, count);
  return head;
}

bool parse_begin(std::string_view payload, SnapshotBegin& begin) {
  FieldReader fields(payload);
  begin.version = fields.get<uint32_t>();
  const auto reserved = fields.get<uint32_t>();
  begin.salt = fields.get<uint64_t>();
  begin.lsn = fields.get<uint64_t>();
  begin.hash_seed = fields.get<uint64_t>();
  return fields.ok() && fields.rest().empty() && reserved == 0;
}

bool parse_end(std::string_view payload, SnapshotEnd& end) {
  FieldReader fields(payload);
  end.lsn = fields.get<uint64_t>();
  end.frames = fields.get<uint64_t>();
  return fields.ok() && fields.rest().empty();
}

bool parse_records(std::string_view payload, SnapshotRecords& records) {
  FieldReader fields(payload);
  records.first = fields.get<uint64_t>();
  records.count = fields.get<uint64_t>();
  records.records = fields.rest();
  return fields.ok() && records.first > 0 && records.count > 0 &&
         records.count - 1 <= std::numeric_limits<Lsn>::max() - records.first;
}

}  // namespace iris::persistence
