// MEMORY: what keys cost, and where the memory of the process goes.

#include <string>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "server/call.h"
#include "server/command_help.h"
#include "server/commands/families.h"
#include "server/commands/memory_doctor.h"
#include "server/text.h"

namespace iris::server {

namespace {

// A key's place in its slot's map: name, entry, and the map's own note of hash and distance.
constexpr uint64_t kPlaceBytes = sizeof(std::pair<std::string, Entry>) + sizeof(uint64_t);
// A slot of a database that holds or has held keys.
constexpr uint64_t kSlotBytes = sizeof(tsl::robin_map<std::string, Entry>) + sizeof(uint64_t);
// What a client costs without its buffers: the connection with its libuv handle, and its record.
constexpr uint64_t kClientBytes = 1024;

// A name of up to 15 bytes lies inside its std::string.
uint64_t name_bytes(std::string_view name) {
  return name.size() <= std::string().capacity() ? 0 : name.size() + 1;
}

uint64_t table_bytes(const Database& database) {
  if (database.size() == 0) return 0;
  return Database::kSlots * kSlotBytes + database.size() * kPlaceBytes;
}

// False: an error was answered. A filter knows its size, so there is nothing to sample.
bool check_samples(Call& call) {
  for (size_t i = 3; i < call.args.size(); i += 2) {
    if (!equal_ignoring_case(call.args[i], "samples") || i + 1 == call.args.size()) {
      call.fail_syntax();
      return false;
    }
    const auto samples = parse_integer(call.args[i + 1]);
    if (!samples) {
      call.fail("ERR value is not an integer or out of range");
      return false;
    }
    if (*samples < 0) {
      call.fail_syntax();
      return false;
    }
  }
  return true;
}

void usage(Call& call) {
  if (!check_samples(call)) return;
  const Entry* entry = call.peek(call.args[2]);
  if (entry == nullptr) {
    call.reply.null();
    return;
  }
  call.reply.integer(
      static_cast<int64_t>(entry->value->memory_bytes() + kPlaceBytes + name_bytes(call.args[2])));
}

MemoryFigures current_figures(Engine& engine) {
  MemoryFigures figures;
  figures.used_bytes = engine.memory.used_bytes();
  figures.peak_bytes = std::max(engine.memory.peak_bytes(), figures.used_bytes);
  figures.limit_bytes = engine.config.maxmemory_bytes;
  figures.resident_bytes = resident_bytes();
  figures.mapped_bytes = mapped_bytes();
  for (const auto& client : engine.clients.list()) {
    figures.clients++;
    figures.client_buffers_bytes += client->input_bytes.load(std::memory_order_relaxed) +
                                    client->output_bytes.load(std::memory_order_relaxed);
  }
  figures.allocator = allocator_figures();
  return figures;
}

// Collects the pairs of a map, whose number must be said before them.
class StatsReply {
 public:
  void bytes(std::string name, uint64_t value) {
    pairs_.push_back({std::move(name), static_cast<int64_t>(value), 0, Kind::kInteger});
  }
  void difference(std::string name, uint64_t a, uint64_t b) { bytes(std::move(name), a - b); }
  void real(std::string name, double value) {
    pairs_.push_back({std::move(name), 0, value, Kind::kReal});
  }
  void quotient(std::string name, uint64_t a, uint64_t b) {
    real(std::move(name), b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b));
  }
  void database(size_t index, uint64_t table) {
    pairs_.push_back(
        {"db." + std::to_string(index), static_cast<int64_t>(table), 0, Kind::kDatabase});
  }
  void write(protocol::ReplyWriter& reply) const {
    reply.map(pairs_.size());
    for (const Pair& pair : pairs_) {
      reply.bulk(pair.name);
      if (pair.kind == Kind::kReal) {
        reply.real(pair.real);
        continue;
      }
      if (pair.kind == Kind::kDatabase) {
        reply.map(2);
        reply.bulk("overhead.hashtable.main");
        reply.integer(pair.integer);
        // Expiry times are kept in the entries themselves.
        reply.bulk("overhead.hashtable.expires");
        reply.integer(0);
        continue;
      }
      reply.integer(pair.integer);
    }
  }

 private:
  enum class Kind { kInteger, kReal, kDatabase };
  struct Pair {
    std::string name;
    int64_t integer;
    double real;
    Kind kind;
  };
  std::vector<Pair> pairs_;
};

// The ratios compare what the kernel sees with what is asked for; mapped filters, which the
// allocator does not know, count on both sides.
void add_allocator_stats(StatsReply& stats, const MemoryFigures& figures) {
  const AllocatorFigures& allocator = figures.allocator;
  const uint64_t known_resident = allocator.resident + figures.mapped_bytes;
  stats.bytes("allocator.allocated", allocator.allocated);
  stats.bytes("allocator.active", allocator.active);
  stats.bytes("allocator.resident", allocator.resident);
  stats.real("allocator-fragmentation.ratio", figures.allocator_fragmentation());
  stats.difference("allocator-fragmentation.bytes", allocator.active, allocator.allocated);
  stats.quotient("allocator-rss.ratio", allocator.resident, allocator.active);
  stats.difference("allocator-rss.bytes", allocator.resident, allocator.active);
  stats.quotient("rss-overhead.ratio", figures.resident_bytes, known_resident);
  stats.difference("rss-overhead.bytes", figures.resident_bytes, known_resident);
  stats.real("fragmentation", figures.fragmentation());
  stats.difference("fragmentation.bytes", figures.resident_bytes, figures.used_bytes);
}

void stats(Call& call) {
  const Engine& engine = call.engine;
  const MemoryFigures figures = current_figures(call.engine);
  const uint64_t startup = engine.memory.startup_bytes();
  const uint64_t clients = figures.client_buffers_bytes + figures.clients * kClientBytes;
  StatsReply reply;
  reply.bytes("peak.allocated", figures.peak_bytes);
  reply.bytes("total.allocated", figures.used_bytes);
  reply.bytes("startup.allocated", startup);
  for (const char* none : {"replication.backlog", "clients.slaves"}) reply.bytes(none, 0);
  reply.bytes("clients.normal", clients);
  for (const char* none : {"cluster.links", "aof.buffer", "lua.caches", "functions.caches"}) {
    reply.bytes(none, 0);
  }
  uint64_t overhead = startup + clients;
  uint64_t keys = 0;
  for (size_t db = 0; db < engine.keyspace.databases(); db++) {
    const Database& database = engine.keyspace.database(db);
    if (database.size() == 0) continue;
    reply.database(db, table_bytes(database));
    overhead += table_bytes(database);
    keys += database.size();
  }
  const auto above = [](uint64_t a, uint64_t b) { return a > b ? a - b : 0; };
  const uint64_t dataset = above(figures.used_bytes, overhead);
  const uint64_t net = above(figures.used_bytes, startup);
  reply.bytes("overhead.total", overhead);
  reply.bytes("keys.count", keys);
  reply.bytes("keys.bytes-per-key", keys == 0 ? 0 : net / keys);
  reply.bytes("dataset.bytes", dataset);
  reply.quotient("dataset.percentage", dataset * 100, net);
  reply.quotient("peak.percentage", figures.used_bytes * 100, figures.peak_bytes);
  add_allocator_stats(reply, figures);
  reply.write(call.reply);
}

void doctor(Call& call) {
  call.reply.verbatim("txt", memory_diagnosis(current_figures(call.engine)));
}

void malloc_stats(Call& call) {
  call.reply.verbatim("txt", allocator_report());
}

void purge(Call& call) {
  {
    OutsideStep outside(call);  // gigabytes take their time
    purge_allocator();
  }
  call.reply.ok();
}

const CommandSpec kSubcommands[] = {
    {"doctor",
     2,
     0,
     {},
     "server",
     "4.0.0",
     "O(1)",
     "Returns what is wrong with the use of memory, in sentences",
     "",
     doctor},
    {"malloc-stats",
     2,
     0,
     {},
     "server",
     "4.0.0",
     "O(1)",
     "Returns the allocator's own report",
     "",
     malloc_stats},
    {"purge",
     2,
     0,
     {},
     "server",
     "4.0.0",
     "O(N), where N is the memory that is given back",
     "Makes the allocator give unused memory back to the system",
     "",
     purge},
    {"stats",
     2,
     0,
     {},
     "server",
     "4.0.0",
     "O(N), where N is the number of clients",
     "Returns where the memory goes",
     "",
     stats},
    {"usage",
     -3,
     kReadonly,
     {2, 2, 1},
     "server",
     "4.0.0",
     "O(1)",
     "Returns the memory of a key and its value",
     "key [SAMPLES count:integer]",
     usage},
    {"help",
     2,
     kLoading | kStale,
     {},
     "server",
     "4.0.0",
     "O(1)",
     "Returns this help",
     "",
     reply_with_help},
};

const CommandSpec kCommands[] = {
    {"memory",
     -2,
     0,
     {},
     "server",
     "4.0.0",
     "Depends on the subcommand",
     "A container for memory commands",
     "",
     nullptr,
     Plan::kNone,
     {},
     kSubcommands},
};

}  // namespace

std::span<const CommandSpec> memory_commands() {
  return kCommands;
}

}  // namespace iris::server
