// BF.RESERVE, BF.INITBYDIM, BF.MERGE: making filters; BF.CARD, BF.INFO, BF.DEBUG, BF.STATS: looking
// at them.

#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/bloom_value.h"
#include "server/call.h"
#include "server/commands/bloom_key.h"
#include "server/commands/families.h"
#include "server/text.h"

namespace iris::server {

namespace {

using filters::BloomFilter;
using filters::BloomParams;
using filters::BloomParamsError;
using ParamsResult = std::variant<BloomParams, BloomParamsError>;

// --- making filters ---

// Whether the request is right so far: RESERVE answers the first error from left to right, be it a
// word that is no number or a number out of range.
bool fits_so_far(Call& call, const filters::BloomRequest& request) {
  const ParamsResult result = BloomParams::make(request);
  const auto* error = std::get_if<BloomParamsError>(&result);
  if (error != nullptr) call.fail(error_text(*error));
  return error == nullptr;
}

bool parse_layout(Call& call, std::string_view word, filters::LayoutChoice& layout) {
  using filters::LayoutChoice;
  for (const auto& [name, choice] :
       {std::pair{"blocked", LayoutChoice::kBlocked}, std::pair{"paged", LayoutChoice::kPaged},
        std::pair{"classic", LayoutChoice::kClassic}, std::pair{"auto", LayoutChoice::kAuto}}) {
    if (equal_ignoring_case(word, name)) {
      layout = choice;
      return true;
    }
  }
  call.fail("ERR layout must be one of AUTO, BLOCKED, PAGED, CLASSIC");
  return false;
}

bool parse_reserve_options(Call& call, filters::BloomRequest& request) {
  for (size_t i = 4; i < call.args.size(); i++) {
    const bool has_value = i + 1 < call.args.size();
    if (equal_ignoring_case(call.args[i], "nonscaling")) {
      request.nonscaling = true;
    } else if (equal_ignoring_case(call.args[i], "expansion")) {
      const auto expansion = has_value ? parse_integer(call.args[i + 1]) : std::nullopt;
      if (!expansion) {
        call.fail(has_value ? "ERR bad expansion" : "ERR no expansion");
        return false;
      }
      request.expansion = *expansion;
      i++;
    } else if (equal_ignoring_case(call.args[i], "layout") && has_value) {
      if (!parse_layout(call, call.args[++i], request.layout)) return false;
    } else {
      call.fail_syntax();
      return false;
    }
  }
  return true;
}

bool parse_reserve(Call& call, filters::BloomRequest& request) {
  const auto rate = parse_real(call.args[2]);
  if (!rate) {
    call.fail("ERR bad error rate");
    return false;
  }
  request.rate = *rate;
  request.capacity = 1;
  if (!fits_so_far(call, request)) return false;
  const auto capacity = parse_integer(call.args[3]);
  if (!capacity) {
    call.fail("ERR bad capacity");
    return false;
  }
  request.capacity = *capacity;
  return fits_so_far(call, request) && parse_reserve_options(call, request);
}

// Makes the filter if the key is free.
void reserve_key(Call& call, const ParamsResult& params) {
  if (const auto* error = std::get_if<BloomParamsError>(&params)) {
    call.fail(error_text(*error));
    return;
  }
  const BloomState state = find_bloom(call, call.args[1]).state;
  if (state != BloomState::kMissing) {
    call.fail(state == BloomState::kOtherType ? kWrongType : kItemExists);
    return;
  }
  if (create_bloom(call, call.args[1], std::get<BloomParams>(params)) != nullptr) call.reply.ok();
}

void reserve(Call& call) {
  filters::BloomRequest request = default_bloom_request(call.engine.config);
  if (parse_reserve(call, request)) reserve_key(call, BloomParams::make(request));
}

void initbydim(Call& call) {
  const auto bits = parse_integer(call.args[2]);
  if (!bits) {
    call.fail("ERR bad number of bits");
    return;
  }
  const auto hashes = parse_integer(call.args[3]);
  if (!hashes) {
    call.fail("ERR bad number of hashes");
    return;
  }
  reserve_key(call, BloomParams::make_explicit(*bits, *hashes));
}

// --- BF.MERGE ---

std::string merge_error_text(filters::MergeError error) {
  const char* what = "geometry";
  switch (error) {
    case filters::MergeError::kNone:
      break;
    case filters::MergeError::kLayout:
      what = "layout";
      break;
    case filters::MergeError::kSeed:
      what = "hash seed";
      break;
    case filters::MergeError::kLayerCount:
      what = "number of layers";
      break;
    case filters::MergeError::kBits:
      what = "number of bits";
      break;
    case filters::MergeError::kHashes:
      what = "number of hashes";
      break;
    case filters::MergeError::kCapacity:
      what = "capacity";
      break;
  }
  return std::string("ERR filters cannot be merged: they differ in their ") + what;
}

// The destination, and the sources that fit it; empty after an error reply.
std::vector<BloomFilter*> merge_sources(Call& call, const BloomFilter* destination) {
  std::vector<BloomFilter*> sources;
  for (const std::string_view key : call.args.subspan(2)) {
    BloomFilter* source = require_bloom(call, key, kNotFound);
    if (source == nullptr) return {};
    if (destination == nullptr) destination = source;
    const filters::MergeError error = destination->merge_error(*source);
    if (error != filters::MergeError::kNone) {
      call.fail(merge_error_text(error));
      return {};
    }
    sources.push_back(source);
  }
  return sources;
}

// The destination's own items are part of the union. It is replaced when the whole union is there,
// so an error changes nothing.
void merge(Call& call) {
  const BloomKey found = find_bloom(call, call.args[1]);
  if (found.state == BloomState::kOtherType || found.state == BloomState::kLoading) {
    call.fail(found.state == BloomState::kLoading ? kStillLoading : kWrongType);
    return;
  }
  std::vector<BloomFilter*> sources = merge_sources(call, found.filter);
  if (sources.empty()) return;
  int64_t expire_at_ms = kNeverExpires;
  if (found.filter != nullptr) {
    sources.insert(sources.begin(), found.filter);
    expire_at_ms = call.peek(call.args[1])->expire_at_ms;
  }
  if (!allow_new_filter(call, sources[0]->memory_bytes())) return;
  Keyspace& keyspace = call.engine.keyspace;
  std::vector<uint64_t> ids;
  ids.reserve(sources.size());
  for (const BloomFilter* source : sources) ids.push_back(source->id());
  std::unique_ptr<BloomFilter> united = BloomFilter::united(sources, keyspace.next_id());
  if (united == nullptr) {
    call.fail(kNoMemoryToCreate);
    return;
  }
  const HashedKey key = Database::hashed(call.args[1]);
  keyspace.remove_if_expired(call.session.db, key, call.now_ms);
  keyspace.put(call.session.db, key, std::make_unique<BloomValue>(std::move(united)), expire_at_ms,
               call.now_ms, {Birth::Kind::kMerged, {}, ids});
  call.reply.ok();
}

// --- looking at filters ---

void card(Call& call) {
  const BloomKey found = find_bloom(call, call.args[1]);
  if (found.state == BloomState::kMissing) {
    call.reply.integer(0);
  } else if (BloomFilter* filter = require_bloom(call, call.args[1], kNotFound)) {
    call.reply.integer(static_cast<int64_t>(filter->item_count()));
  }
}

struct InfoField {
  std::string_view option;
  std::string_view name;
  void (*render)(const BloomFilter&, protocol::ReplyWriter&);
};

// RedisBloom's fields and no other: go-redis fails on a name that it does not know.
constexpr InfoField kInfoFields[] = {
    {"capacity", "Capacity",
     [](const BloomFilter& filter, protocol::ReplyWriter& reply) {
       reply.integer(as_integer(filter.capacity()));
     }},
    {"size", "Size",
     [](const BloomFilter& filter, protocol::ReplyWriter& reply) {
       reply.integer(as_integer(filter.info_size_bytes()));
     }},
    {"filters", "Number of filters",
     [](const BloomFilter& filter, protocol::ReplyWriter& reply) {
       reply.integer(as_integer(filter.layer_count()));
     }},
    {"items", "Number of items inserted",
     [](const BloomFilter& filter, protocol::ReplyWriter& reply) {
       reply.integer(as_integer(filter.item_count()));
     }},
    {"expansion", "Expansion rate",
     [](const BloomFilter& filter, protocol::ReplyWriter& reply) {
       if (filter.params().scaling()) {
         reply.integer(filter.params().expansion());
       } else {
         reply.null();
       }
     }},
};

void info(Call& call) {
  if (call.args.size() > 3) {
    call.fail_arity();
    return;
  }
  const BloomFilter* filter = require_bloom(call, call.args[1], kNotFound);
  if (filter == nullptr) return;
  if (call.args.size() == 2) {
    call.reply.map(std::size(kInfoFields));
    for (const InfoField& field : kInfoFields) {
      call.reply.bulk(field.name);
      field.render(*filter, call.reply);
    }
    return;
  }
  for (const InfoField& field : kInfoFields) {
    if (!equal_ignoring_case(field.option, call.args[2])) continue;
    if (call.reply.version() == protocol::Version::kResp3) {
      call.reply.map(1);
      call.reply.bulk(field.name);
    } else {
      call.reply.array(1);
    }
    field.render(*filter, call.reply);
    return;
  }
  call.fail("Invalid information value");
}

void debug(Call& call) {
  const BloomFilter* filter = require_bloom(call, call.args[1], kNotFound);
  if (filter == nullptr) return;
  call.reply.array(filter->layer_count() + 1);
  call.reply.bulk("size:" + std::to_string(filter->item_count()));
  for (const filters::BloomLayer& layer : filter->layers()) {
    const filters::LayerGeometry& geometry = layer.geometry();
    char line[256];
    std::snprintf(line, sizeof line,
                  "bytes:%lu bits:%lu hashes:%u hashwidth:64 capacity:%ld size:%lu ratio:%g",
                  geometry.cell_bytes(), geometry.bits, geometry.hashes,
                  as_integer(geometry.capacity), layer.item_count(), geometry.rate);
    call.reply.bulk(line);
  }
}

void stats(Call& call) {
  const BloomFilter* filter = require_bloom(call, call.args[1], kNotFound);
  if (filter == nullptr) return;
  const filters::BloomStats figures = filter->stats();
  call.reply.map(8);
  call.reply.bulk("layout");
  call.reply.bulk(layout_name(figures.newest_layout));
  call.reply.bulk("bits");
  call.reply.integer(as_integer(figures.bits));
  call.reply.bulk("hashes");
  call.reply.integer(figures.newest_hashes);
  call.reply.bulk("bits per item");
  call.reply.real(figures.bits_per_item);
  call.reply.bulk("fill ratio");
  call.reply.real(figures.fill_ratio);
  call.reply.bulk("error rate promised");
  call.reply.real(figures.promised_rate);
  call.reply.bulk("error rate now");
  call.reply.real(figures.current_rate);
  call.reply.bulk("seed");
  call.reply.bulk(std::to_string(filter->seed()));
}

constexpr uint32_t kMakeFlags = kWrite | kDenyOom | kExclusive;

const CommandSpec kCommands[] = {
    {"bf.reserve",
     -4,
     kMakeFlags | kFast,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(1)",
     "Makes an empty Bloom filter",
     "key error_rate:double capacity:integer [EXPANSION expansion:integer] [NONSCALING] "
     "[LAYOUT (BLOCKED | PAGED | CLASSIC)]",
     reserve},
    {"bf.initbydim",
     4,
     kMakeFlags | kFast,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(1)",
     "Makes an empty Bloom filter of so many bits and hashes; it never fills or grows",
     "key bits:integer hashes:integer",
     initbydim},
    {"bf.merge",
     -3,
     kMakeFlags,
     {1, -1, 1},
     "bf",
     "1.0.0",
     "O(n), where n is the size of the filters in bytes",
     "Adds all items of some Bloom filters to another one of the same shape",
     "destination source [source ...]",
     merge},
    {"bf.card",
     2,
     kReadonly | kFast,
     {1, 1, 1},
     "bf",
     "2.4.4",
     "O(1)",
     "Tells how many items were added to a Bloom filter",
     "key",
     card},
    {"bf.info",
     -2,
     kReadonly | kFast,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(1)",
     "Tells about a Bloom filter",
     "key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]",
     info},
    {"bf.debug",
     2,
     kReadonly,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(n), where n is the number of layers",
     "Tells about each layer of a Bloom filter",
     "key",
     debug},
    {"bf.stats",
     2,
     kReadonly,
     {1, 1, 1},
     "bf",
     "1.0.0",
     "O(n), where n is the size of the filter, 16 MB of it at most",
     "Tells the layout, the fill and the error rates of a Bloom filter",
     "key",
     stats},
};

}  // namespace

std::span<const CommandSpec> bloom_admin_commands() {
  return kCommands;
}

}  // namespace iris::server
