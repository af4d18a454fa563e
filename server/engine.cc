#include "server/engine.h"

#include <random>
#include <utility>

#include "server/commands/families.h"

namespace iris::server {

namespace {

uint64_t random_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace

Engine::Engine(Config initial_config, RunFacts run_facts, Clock& clock_source,
               Control& process_control)
    : config(std::move(initial_config)),
      facts(std::move(run_facts)),
      clock(clock_source),
      control(process_control),
      commands(command_families()),
      world(facts.threads + 2),
      journal(facts.threads + 2),
      keyspace(config.databases, &journal),
      stats(facts.threads + 1, commands.ids()),
      hash_seed(random_seed()) {
  set_snapshot_reads(false);
}

}  // namespace iris::server
