// The parts that commands work on, in one place: main builds it, workers and commands get a
// reference. It owns no thread but the reaper's and knows no sockets.
#pragma once

#include <cstdint>
#include <string>

#include "filters/stripe_table.h"
#include "server/client_registry.h"
#include "server/clock.h"
#include "server/command_table.h"
#include "server/config.h"
#include "server/control.h"
#include "server/keyspace.h"
#include "server/latency_monitor.h"
#include "server/memory.h"
#include "server/monitors.h"
#include "server/reaper.h"
#include "server/slow_log.h"
#include "server/stats.h"
#include "server/world_lock.h"

namespace iris::server {

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
  // Members of the world lock: the workers, numbered from 0, and the control thread.
  Engine(Config config, RunFacts facts, Clock& clock, Control& control);

  // Read inside the world lock, changed in its exclusive state.
  Config config;
  RunFacts facts;
  Clock& clock;
  Control& control;
  CommandTable commands;
  WorldLock world;
  filters::StripeTable stripes;
  Keyspace keyspace;
  Memory memory;
  Stats stats;
  ClientRegistry clients;
  Monitors monitors;
  SlowLog slow_log;
  LatencyMonitor latency;
  Reaper reaper;
  // Of all filters that are made here: see DESIGN "Hash".
  uint64_t hash_seed;
};

}  // namespace iris::server
