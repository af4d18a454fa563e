// The bytes of a log segment.
//
//     #iris-log version=1 first=<lsn> follows=<lsn> synced=<lsn> seed=<16 hex> salt=<32 hex>
//         xxh3=<16 hex>\n                                    one line, always kSegmentHeaderBytes
//         long
//     #iris lsn=<first> records=<n> bytes=<n> synced=<lsn> xxh3=<16 hex> line=<16 hex>\r\n
//     <records: RESP arrays, `bytes` bytes in all>
//     #iris ...
//
//   first     the LSN that the first record of the segment has or will have
//   follows   the last LSN before it that was ever used. It is first - 1, except after a torn tail:
//             numbers that were seen there are not used again, and follows < first - 1 says that
//             nothing is missing in between
//   synced    the LSN that was durable when the line was written
//   records   0 only in the last line of a segment: it was closed in good order, and nothing
//             follows
//
// Invariants
//   1. Two checksums a batch, because two questions are asked. `line` covers the line alone: may
//      its claims (`synced`, `bytes`) be believed, though the records are torn? `xxh3` covers the
//      line's fields and the records: may they be replayed?
//   2. Both are salted with 128 secret bits of the segment's header: no client can forge a line
//      inside an item, and a batch copied from another segment is noticed. A batch copied within
//      its segment has the wrong LSN.
//   3. A header or line is accepted only if writing its fields again gives the same bytes: there
//      is one spelling, so every flipped bit is noticed.
//   4. The header is synced before a batch is appended. So a file longer than the header, with a
//      header that is not right, is damaged; a file that is not longer never held a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iris::persistence {

// The running number of a record; the first is 1.
using Lsn = uint64_t;

struct LogSalt {
  uint64_t high = 0;
  uint64_t low = 0;
};

// From the kernel's source of randomness.
LogSalt random_salt();

struct SegmentHeader {
  Lsn first = 1;
  Lsn follows = 0;
  Lsn synced = 0;
  uint64_t hash_seed = 0;
  LogSalt salt;
};

// Numbers of a header have all their digits, so that its length is known beforehand.
inline constexpr size_t kSegmentHeaderBytes =
    19 + 3 * 20 + 7 + 9 + 8 + (6 + 16) + (6 + 32) + 22 + 1;

std::string encode_header(const SegmentHeader& header);
// From the first bytes of a file; empty if they are no header, or one of another version.
std::optional<SegmentHeader> parse_header(std::string_view bytes);

struct BatchLine {
  Lsn first = 1;
  uint64_t records = 0;
  uint64_t bytes = 0;
  Lsn synced = 0;
  uint64_t xxh3 = 0;      // set by encode_line() and parse_line()
  size_t line_bytes = 0;  // of the line itself; set by both as well

  Lsn last() const { return first + records - 1; }
};

inline constexpr std::string_view kBatchLinePrefix = "#iris lsn=";
inline constexpr size_t kMaxBatchLineBytes = 160;

// Writes the line of a batch to `out`, which has room for kMaxBatchLineBytes; sets what the line
// still lacks and returns its length.
size_t encode_line(const LogSalt& salt, std::string_view records, BatchLine& line, char* out);
// From the bytes at the start of a batch; empty if they do not begin with a line of this segment.
std::optional<BatchLine> parse_line(const LogSalt& salt, std::string_view bytes);
// Whether these are the records that the line was written for.
bool records_match(const LogSalt& salt, const BatchLine& line, std::string_view records);

}  // namespace iris::persistence
