#include "persistence/log_format.h"

#include <sys/random.h>

#include <array>
#include <charconv>
#include <cstring>

#include "filters/check.h"
#include "xxhash.h"

namespace iris::persistence {

namespace {

constexpr std::string_view kHeaderPrefix = "#iris-log version=1";
constexpr size_t kDecimalDigits = 20;  // of any 64-bit number
constexpr size_t kHexDigits = 16;

// A line being written: fixed room, no allocation.
class LineWriter {
 public:
  explicit LineWriter(char* out) : begin_(out), end_(out) {}

  void text(std::string_view bytes) {
    std::memcpy(end_, bytes.data(), bytes.size());
    end_ += bytes.size();
  }
  void decimal(uint64_t value) { end_ = std::to_chars(end_, end_ + kDecimalDigits, value).ptr; }
  void padded_decimal(uint64_t value) {
    for (size_t i = kDecimalDigits; i-- > 0; value /= 10) {
      end_[i] = static_cast<char>('0' + value % 10);
    }
    end_ += kDecimalDigits;
  }
  void hex(uint64_t value) {
    for (size_t i = kHexDigits; i-- > 0; value >>= 4) end_[i] = "0123456789abcdef"[value & 15];
    end_ += kHexDigits;
  }
  std::string_view written() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }

 private:
  char* begin_;
  char* end_;
};

// Takes "<name><number>" off the front. What it lets pass too easily, invariant 3 catches.
bool take_number(std::string_view& bytes, std::string_view name, int base, size_t max_digits,
                 uint64_t& value) {
  if (!bytes.starts_with(name)) return false;
  bytes.remove_prefix(name.size());
  const char* limit = bytes.data() + std::min(bytes.size(), max_digits);
  const auto [end, error] = std::from_chars(bytes.data(), limit, value, base);
  if (error != std::errc()) return false;
  bytes.remove_prefix(static_cast<size_t>(end - bytes.data()));
  return true;
}

bool take_decimal(std::string_view& bytes, std::string_view name, uint64_t& value) {
  return take_number(bytes, name, 10, kDecimalDigits, value);
}

bool take_hex(std::string_view& bytes, std::string_view name, uint64_t& value) {
  return take_number(bytes, name, 16, kHexDigits, value);
}

// Of a short text and a number, with both halves of the salt.
uint64_t salted_checksum(const LogSalt& salt, std::string_view text, uint64_t number) {
  std::array<char, 512> bytes;
  CHECK(text.size() + 2 * sizeof(uint64_t) <= bytes.size());
  char* end = bytes.data();
  std::memcpy(end, text.data(), text.size());
  end += text.size();
  std::memcpy(end, &number, sizeof(number));
  end += sizeof(number);
  std::memcpy(end, &salt.high, sizeof(salt.high));
  end += sizeof(salt.high);
  return XXH3_64bits_withSeed(bytes.data(), static_cast<size_t>(end - bytes.data()), salt.low);
}

void write_fields(LineWriter& out, const BatchLine& line) {
  out.text(kBatchLinePrefix);
  out.decimal(line.first);
  out.text(" records=");
  out.decimal(line.records);
  out.text(" bytes=");
  out.decimal(line.bytes);
  out.text(" synced=");
  out.decimal(line.synced);
}

uint64_t batch_checksum(const LogSalt& salt, const BatchLine& line, std::string_view records) {
  char text[kMaxBatchLineBytes];
  LineWriter fields(text);
  write_fields(fields, line);
  const uint64_t inner = XXH3_64bits_withSeed(records.data(), records.size(), salt.low);
  return salted_checksum(salt, fields.written(), inner);
}

// The whole line, from fields that are complete.
size_t write_line(const LogSalt& salt, const BatchLine& line, char* out) {
  LineWriter writer(out);
  write_fields(writer, line);
  writer.text(" xxh3=");
  writer.hex(line.xxh3);
  const uint64_t check = salted_checksum(salt, writer.written(), line.bytes);
  writer.text(" line=");
  writer.hex(check);
  writer.text("\r\n");
  return writer.written().size();
}

}  // namespace

LogSalt random_salt() {
  LogSalt salt;
  CHECK(getentropy(&salt, sizeof(salt)) == 0);
  return salt;
}

std::string encode_header(const SegmentHeader& header) {
  std::array<char, kSegmentHeaderBytes> bytes;
  LineWriter out(bytes.data());
  out.text(kHeaderPrefix);
  out.text(" first=");
  out.padded_decimal(header.first);
  out.text(" follows=");
  out.padded_decimal(header.follows);
  out.text(" synced=");
  out.padded_decimal(header.synced);
  out.text(" seed=");
  out.hex(header.hash_seed);
  out.text(" salt=");
  out.hex(header.salt.high);
  out.hex(header.salt.low);
  const uint64_t check = salted_checksum(header.salt, out.written(), header.first);
  out.text(" xxh3=");
  out.hex(check);
  out.text("\n");
  CHECK(out.written().size() == kSegmentHeaderBytes);
  return std::string(out.written());
}

std::optional<SegmentHeader> parse_header(std::string_view bytes) {
  if (bytes.size() < kSegmentHeaderBytes || !bytes.starts_with(kHeaderPrefix)) return std::nullopt;
  bytes = bytes.substr(0, kSegmentHeaderBytes);
  std::string_view rest = bytes.substr(kHeaderPrefix.size());
  SegmentHeader header;
  if (!take_decimal(rest, " first=", header.first) ||
      !take_decimal(rest, " follows=", header.follows) ||
      !take_decimal(rest, " synced=", header.synced) ||
      !take_hex(rest, " seed=", header.hash_seed) || !take_hex(rest, " salt=", header.salt.high) ||
      !take_hex(rest, "", header.salt.low)) {
    return std::nullopt;
  }
  if (header.first == 0 || header.follows >= header.first) return std::nullopt;
  if (encode_header(header) != bytes) return std::nullopt;  // invariant 3, and the checksum
  return header;
}

size_t encode_line(const LogSalt& salt, std::string_view records, BatchLine& line, char* out) {
  CHECK(line.bytes == records.size());
  line.xxh3 = batch_checksum(salt, line, records);
  line.line_bytes = write_line(salt, line, out);
  return line.line_bytes;
}

std::optional<BatchLine> parse_line(const LogSalt& salt, std::string_view bytes) {
  if (!bytes.starts_with(kBatchLinePrefix)) return std::nullopt;
  std::string_view rest = bytes;
  BatchLine line;
  uint64_t check = 0;
  if (!take_decimal(rest, kBatchLinePrefix, line.first) ||
      !take_decimal(rest, " records=", line.records) ||
      !take_decimal(rest, " bytes=", line.bytes) || !take_decimal(rest, " synced=", line.synced) ||
      !take_hex(rest, " xxh3=", line.xxh3) || !take_hex(rest, " line=", check)) {
    return std::nullopt;
  }
  char again[kMaxBatchLineBytes];
  line.line_bytes = write_line(salt, line, again);
  if (!bytes.starts_with(std::string_view(again, line.line_bytes))) return std::nullopt;
  // Sums of these are built without looking again.
  if (line.first == 0 || line.records > UINT64_MAX - line.first) return std::nullopt;
  return line;
}

bool records_match(const LogSalt& salt, const BatchLine& line, std::string_view records) {
  return records.size() == line.bytes && batch_checksum(salt, line, records) == line.xxh3;
}

}  // namespace iris::persistence
