// The parts that commands work on, in one place: main builds it, workers and commands get a
// reference. It owns no thread but the reaper's and knows no sockets.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "filters/stripe_table.h"
#include "server/client_registry.h"
#include "server/clock.h"
#include "server/command_table.h"
#include "server/config.h"
#include "server/control.h"
#include "server/journal.h"
#include "server/keyspace.h"
#include "server/latency_monitor.h"
#include "server/memory.h"
#include "server/monitors.h"
#include "server/reaper.h"
#include "server/slow_log.h"
#include "server/stats.h"
#include "server/world_lock.h"

namespace iris::server {

class Storage;

// Facts of this run that INFO shows.
struct RunFacts {
  std::string run_id;  // 40 hex digits, new at every start
  std::string executable;
  std::string config_file;  // absolute; empty: started without one
  int64_t started_ms = 0;
  uint32_t threads = 1;
};

class Engine {
 public:
  // Members of the world lock: the workers, numbered from 0, the control thread and the storage
  // thread.
  Engine(Config config, RunFacts facts, Clock& clock, Control& control);

  // In the exclusive state: a snapshot begins to read filters, or does so no more. A single worker
  // takes stripes only meanwhile.
  void set_snapshot_reads(bool reads) { stripes.set_shared(reads || facts.threads > 1); }

  // Read inside the world lock, changed in its exclusive state.
  Config config;
  RunFacts facts;
  Clock& clock;
  Control& control;
  CommandTable commands;
  WorldLock world;
  filters::StripeTable stripes;
  Journal journal;
  Keyspace keyspace;
  Memory memory;
  Stats stats;
  ClientRegistry clients;
  Monitors monitors;
  SlowLog slow_log;
  LatencyMonitor latency;
  Reaper reaper;
  // Of all filters that are made here, and kept in the data directory: a stranger cannot find items
  // that collide, and all filters of a server can be merged.
  uint64_t hash_seed;
  // What is on disk; null in tests that need none.
  Storage* storage = nullptr;
  // The keyspace is still being loaded: commands that need it are refused.
  std::atomic<bool> loading{false};
  // Storage's status has it too; this one every batch may look at.
  std::atomic<bool> last_snapshot_failed{false};
};

}  // namespace iris::server
