// CF.RESERVE, CF.INITBYDIM, CF.MERGE: making filters; CF.COMPACT: making them smaller; CF.INFO,
// CF.DEBUG, CF.STATS: looking at them.

#include <algorithm>
#include <bit>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/commands/spectral_key.h"
#include "server/spectral_value.h"
#include "server/text.h"

namespace iris::server {

namespace {

using filters::SpectralFilter;
using filters::SpectralParams;
using filters::SpectralParamsError;
using filters::SpectralPolicy;
using filters::SpectralRequest;

// --- CF.RESERVE ---

// The values of the options as they came; in any order, but judged in RedisBloom's.
struct ReserveWords {
  std::optional<std::string_view> max_iterations;
  std::optional<std::string_view> bucket_size;
  std::optional<std::string_view> expansion;
  std::optional<std::string_view> rate;
  std::optional<std::string_view> policy;
};

bool collect_words(Call& call, ReserveWords& words) {
  if (call.args.size() % 2 == 0) {
    call.fail_arity();  // an option without its value
    return false;
  }
  for (size_t i = 3; i < call.args.size(); i += 2) {
    const std::string_view name = call.args[i];
    const std::string_view value = call.args[i + 1];
    if (equal_ignoring_case(name, "maxiterations")) {
      words.max_iterations = value;
    } else if (equal_ignoring_case(name, "bucketsize")) {
      words.bucket_size = value;
    } else if (equal_ignoring_case(name, "expansion")) {
      words.expansion = value;
    } else if (equal_ignoring_case(name, "error")) {
      words.rate = value;
    } else if (equal_ignoring_case(name, "policy")) {
      words.policy = value;
    } else {
      call.fail_syntax();
      return false;
    }
  }
  return true;
}

// Reads one option and judges it before the next one is read: the first error counts, be it a word
// that is no number or a number out of range. Capacity and rate are judged last.
bool take_number(Call& call, const std::optional<std::string_view>& word, std::string_view error,
                 SpectralRequest& request, int64_t SpectralRequest::*field) {
  if (!word) return true;
  const auto number = parse_integer(*word);
  if (!number) {
    call.fail(error);
    return false;
  }
  request.*field = *number;
  SpectralRequest judged = request;
  judged.capacity = 2 * SpectralParams::kMaxBucketSize;
  judged.rate = SpectralRequest().rate;
  const auto result = SpectralParams::make(judged);
  const auto* wrong = std::get_if<SpectralParamsError>(&result);
  if (wrong != nullptr) call.fail(error_text(*wrong));
  return wrong == nullptr;
}

bool take_rate(Call& call, std::string_view word, SpectralRequest& request) {
  const auto rate = parse_real(word);
  if (!rate) call.fail("Bad error rate");
  if (rate) request.rate = *rate;
  return rate.has_value();
}

bool take_policy(Call& call, std::string_view word, SpectralRequest& request) {
  if (equal_ignoring_case(word, "ms")) {
    request.policy = SpectralPolicy::kMinimumSelection;
  } else if (equal_ignoring_case(word, "mi")) {
    request.policy = SpectralPolicy::kMinimalIncrease;
  } else {
    call.fail("ERR policy must be one of MS, MI");
    return false;
  }
  return true;
}

bool parse_reserve(Call& call, SpectralRequest& request) {
  ReserveWords words;
  const auto capacity = parse_integer(call.args[2]);
  if (!capacity) {
    call.fail("Bad capacity");
    return false;
  }
  request.capacity = *capacity;
  return collect_words(call, words) &&
         take_number(call, words.max_iterations, "Couldn't parse MAXITERATIONS", request,
                     &SpectralRequest::max_iterations) &&
         take_number(call, words.bucket_size, "Couldn't parse BUCKETSIZE", request,
                     &SpectralRequest::bucket_size) &&
         take_number(call, words.expansion, "Couldn't parse EXPANSION", request,
                     &SpectralRequest::expansion) &&
         (!words.rate || take_rate(call, *words.rate, request)) &&
         (!words.policy || take_policy(call, *words.policy, request));
}

// Makes the filter if the key is free.
void reserve_key(Call& call, const SpectralParams::Result& params) {
  if (const auto* error = std::get_if<SpectralParamsError>(&params)) {
    call.fail(error_text(*error));
    return;
  }
  const SpectralState state = find_spectral(call, call.args[1]).state;
  if (state != SpectralState::kMissing) {
    call.fail(state == SpectralState::kOtherType ? kWrongType : kItemExists);
    return;
  }
  if (create_spectral(call, call.args[1], std::get<SpectralParams>(params)) != nullptr) {
    call.reply.ok();
  }
}

void reserve(Call& call) {
  SpectralRequest request = default_spectral_request(call.engine.config);
  if (parse_reserve(call, request)) reserve_key(call, SpectralParams::make(request));
}

void initbydim(Call& call) {
  const auto counters = parse_integer(call.args[2]);
  if (!counters) {
    call.fail("ERR bad number of counters");
    return;
  }
  const auto hashes = parse_integer(call.args[3]);
  if (!hashes) {
    call.fail("ERR bad number of hashes");
    return;
  }
  reserve_key(call, SpectralParams::make_explicit(*counters, *hashes));
}

// --- CF.MERGE ---

std::string_view merge_error_text(filters::SpectralMergeError error) {
  using filters::SpectralMergeError;
  switch (error) {
    case SpectralMergeError::kNone:
      break;
    case SpectralMergeError::kPolicy:
      return "ERR filters cannot be merged: they differ in their policy";
    case SpectralMergeError::kSeed:
      return "ERR filters cannot be merged: they differ in their hash seed";
    case SpectralMergeError::kLayers:
      return "ERR filters cannot be merged: one of them has grown to more than one layer";
    case SpectralMergeError::kCounters:
      return "ERR filters cannot be merged: they differ in their number of counters";
    case SpectralMergeError::kHashes:
      return "ERR filters cannot be merged: they differ in their number of hashes";
    case SpectralMergeError::kCapacity:
      return "ERR filters cannot be merged: they differ in their capacity";
    case SpectralMergeError::kOverflow:
      return error_text(filters::SpectralStatus::kOverflow);
    case SpectralMergeError::kNoMemory:
      return kNoMemoryToCreate;
  }
  return "ERR filters cannot be merged";
}

// What the merged filter can take: the cells of one filter and the extensions of all.
uint64_t merged_bytes(const std::vector<const SpectralFilter*>& sources) {
  uint64_t bytes = sources[0]->memory_bytes();
  for (const SpectralFilter* source : sources) bytes += source->layer(0).extension_bytes();
  return bytes;
}

// The destination's own counts are part of the sum. It is replaced when the whole sum is there, so
// an error changes nothing.
void merge(Call& call) {
  const SpectralKey destination = find_spectral(call, call.args[1]);
  std::vector<const SpectralFilter*> sources;
  for (const std::string_view key : call.args.subspan(2)) {
    const SpectralFilter* source = require_spectral(call, key, kNotFound);
    if (source == nullptr) return;
    sources.push_back(source);
  }
  int64_t expire_at_ms = kNeverExpires;
  if (destination.state != SpectralState::kMissing) {
    const SpectralFilter* own = require_spectral(call, call.args[1], kNotFound);
    if (own == nullptr) return;
    sources.insert(sources.begin(), own);
    expire_at_ms = call.peek(call.args[1])->expire_at_ms;
  }
  if (!allow_new_filter(call, merged_bytes(sources))) return;
  Keyspace& keyspace = call.engine.keyspace;
  SpectralFilter::Merged merged = SpectralFilter::merged(sources, keyspace.next_id());
  if (merged.filter == nullptr) {
    call.fail(merge_error_text(merged.error));
    return;
  }
  const HashedKey key = Database::hashed(call.args[1]);
  keyspace.remove_if_expired(call.session.db, key, call.now_ms);
  std::vector<uint64_t> ids;
  ids.reserve(sources.size());
  for (const SpectralFilter* source : sources) ids.push_back(source->id());
  keyspace.put(call.session.db, key, std::make_unique<SpectralValue>(std::move(merged.filter)),
               expire_at_ms, call.now_ms, {Birth::Kind::kMerged, {}, ids});
  call.reply.ok();
}

// --- CF.COMPACT ---

// A quarter of a megabyte of cells: up to half a millisecond, where all blocks have extensions.
constexpr uint64_t kChunksPerTurn = 4;

// The chunks of a filter from `next` on, turn by turn.
class CompactTurns {
 public:
  CompactTurns(const Call& call, const SpectralFilter& filter, uint64_t next)
      : engine_(call.engine),
        db_(call.session.db),
        key_(call.args[1]),
        filter_id_(filter.id()),
        next_(next) {}

  std::string operator()() {
    Entry* entry = engine_.keyspace.find(db_, Database::hashed(key_), engine_.clock.wall_ms());
    // Gone or replaced: as if that had come just after this command.
    if (entry == nullptr || entry->value->kind() != ValueKind::kSpectral) return kDone;
    SpectralFilter& filter = static_cast<SpectralValue&>(*entry->value).filter();
    if (filter.id() != filter_id_) return kDone;
    next_ = filter.compact(engine_.stripes, next_, kChunksPerTurn);
    return next_ == 0 ? kDone : "";
  }

 private:
  static constexpr const char* kDone = "+OK\r\n";

  Engine& engine_;
  uint32_t db_;
  std::string key_;
  uint64_t filter_id_;
  uint64_t next_;
};

void compact(Call& call) {
  SpectralFilter* filter = require_spectral(call, call.args[1], "Cuckoo filter was not found");
  if (filter == nullptr) return;
  // EXEC is one step, however long.
  const uint64_t count = call.exclusive ? UINT64_MAX : kChunksPerTurn;
  const uint64_t next = filter->compact(call.engine.stripes, 0, count);
  if (next == 0) {
    call.reply.ok();
    return;
  }
  call.session.waits_for_answer = true;
  call.engine.control.go_on_later(*call.session.record, CompactTurns(call, *filter, next));
}

// --- looking at filters ---

// What a cuckoo filter of this capacity would have.
uint64_t bucket_count(const SpectralFilter& filter) {
  const SpectralParams& params = filter.params();
  const uint64_t capacity =
      params.explicit_dimensions() ? params.first_layer().cells : params.first_layer().capacity;
  const auto bucket_size = static_cast<uint64_t>(params.request().bucket_size);
  return std::bit_ceil(std::max<uint64_t>(capacity / bucket_size, 1));
}

// RedisBloom's fields and no other: go-redis fails on a name that it does not know.
void info(Call& call) {
  const SpectralFilter* filter = require_spectral(call, call.args[1], kNotFound);
  if (filter == nullptr) return;
  const SpectralRequest& request = filter->params().request();
  const std::pair<std::string_view, int64_t> fields[] = {
      {"Size", as_integer(filter->memory_bytes())},
      {"Number of buckets", as_integer(bucket_count(*filter))},
      {"Number of filters", as_integer(filter->layer_count())},
      {"Number of items inserted", as_integer(filter->sum())},
      {"Number of items deleted", as_integer(filter->deleted())},
      {"Bucket size", request.bucket_size},
      {"Expansion rate", request.expansion},
      {"Max iterations", request.max_iterations},
  };
  call.reply.map(std::size(fields));
  for (const auto& [name, value] : fields) {
    call.reply.bulk(name);
    call.reply.integer(value);
  }
}

void debug(Call& call) {
  const SpectralFilter* filter = require_spectral(call, call.args[1], kNotFound);
  if (filter == nullptr) return;
  const SpectralRequest& request = filter->params().request();
  char line[256];
  std::snprintf(line, sizeof line,
                "bktsize:%ld buckets:%lu items:%lu deletes:%lu filters:%zu max_iterations:%ld "
                "expansion:%ld",
                request.bucket_size, bucket_count(*filter), filter->sum(), filter->deleted(),
                filter->layer_count(), request.max_iterations, request.expansion);
  call.reply.bulk(line);
}

void stats(Call& call) {
  const SpectralFilter* filter = require_spectral(call, call.args[1], kNotFound);
  if (filter == nullptr) return;
  const filters::SpectralStats figures = filter->stats();
  call.reply.map(12);
  call.reply.bulk("layout");
  call.reply.bulk(layout_name(figures.layout));
  call.reply.bulk("counters");
  call.reply.integer(as_integer(figures.counters));
  call.reply.bulk("hashes");
  call.reply.integer(figures.hashes);
  call.reply.bulk("bits per item");
  call.reply.real(figures.bits_per_item);
  call.reply.bulk("fill ratio");
  call.reply.real(figures.fill_ratio);
  call.reply.bulk("error rate promised");
  call.reply.real(figures.promised_rate);
  call.reply.bulk("error rate now");
  call.reply.real(figures.current_rate);
  call.reply.bulk("policy");
  call.reply.bulk(figures.policy == SpectralPolicy::kMinimalIncrease ? "MI" : "MS");
  call.reply.bulk("blocks");
  call.reply.integer(as_integer(figures.blocks));
  call.reply.bulk("extended blocks");
  call.reply.integer(as_integer(figures.extended_blocks));
  call.reply.bulk("extension bytes");
  call.reply.integer(as_integer(figures.extension_bytes));
  call.reply.bulk("seed");
  call.reply.bulk(std::to_string(filter->seed()));
}

constexpr uint32_t kMakeFlags = kWrite | kDenyOom | kExclusive;

const CommandSpec kCommands[] = {
    {"cf.reserve",
     -3,
     kMakeFlags | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(1)",
     "Makes an empty spectral filter",
     "key capacity:integer [BUCKETSIZE bucketsize:integer] [MAXITERATIONS maxiterations:integer] "
     "[EXPANSION expansion:integer] [ERROR error:double] [POLICY (MS | MI)]",
     reserve},
    {"cf.initbydim",
     4,
     kMakeFlags | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(1)",
     "Makes an empty spectral filter of so many counters and hashes; it never fills or grows",
     "key counters:integer hashes:integer",
     initbydim},
    {"cf.merge",
     -3,
     kMakeFlags,
     {1, -1, 1},
     "cf",
     "1.0.0",
     "O(n), where n is the size of the filters in bytes",
     "Adds all counts of some spectral filters to another one of the same shape",
     "destination source [source ...]",
     merge},
    {"cf.compact",
     2,
     kWrite | kSlow | kAnsweredLater,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(n), where n is the size of the filter in bytes",
     "Gives back the memory that a spectral filter does not need any more",
     "key",
     compact},
    {"cf.info",
     2,
     kReadonly | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(1)",
     "Tells about a spectral filter",
     "key",
     info},
    {"cf.debug",
     2,
     kReadonly,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(1)",
     "Tells about a spectral filter on one line",
     "key",
     debug},
    {"cf.stats",
     2,
     kReadonly | kFast,
     {1, 1, 1},
     "cf",
     "1.0.0",
     "O(1)",
     "Tells the layout, the fill and the error rates of a spectral filter",
     "key",
     stats},
};

}  // namespace

std::span<const CommandSpec> spectral_admin_commands() {
  return kCommands;
}

}  // namespace iris::server
