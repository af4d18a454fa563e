// Other servers, of which there are none: clients ask for replicas and clusters, and each question
// has the answer of a Redis that stands alone.

#include "server/call.h"
#include "server/commands/families.h"
#include "server/text.h"

namespace iris::server {

namespace {

void role(Call& call) {
  call.reply.array(3);
  call.reply.bulk("master");
  call.reply.integer(0);  // the replication offset
  call.reply.array(0);    // the replicas
}

// Nobody will ever acknowledge anything, so there is nothing to wait for.
void wait(Call& call) {
  const auto replicas = parse_integer(call.args[1]);
  const auto timeout_ms = parse_integer(call.args[2]);
  if (!replicas) {
    call.fail("ERR value is not an integer or out of range");
  } else if (!timeout_ms) {
    call.fail("ERR timeout is not an integer or out of range");
  } else if (*timeout_ms < 0) {
    call.fail("ERR timeout is negative");
  } else {
    call.reply.integer(0);
  }
}

void refuse_cluster(Call& call) {
  call.fail("ERR This instance has cluster support disabled");
}

constexpr uint32_t kAlways = kLoading | kStale | kFast;

const CommandSpec kCommands[] = {
    {"role",
     1,
     kAlways | kNoScript,
     {},
     "server",
     "2.8.12",
     "O(1)",
     "Returns the role in replication: always master",
     "",
     role,
     Plan::kNone,
     "@dangerous"},
    {"wait",
     3,
     kNoScript,
     {},
     "generic",
     "3.0.0",
     "O(1)",
     "Returns how many replicas have acknowledged the writes: there are none",
     "numreplicas:integer timeout:integer",
     wait},
    {"cluster",
     -2,
     0,
     {},
     "cluster",
     "3.0.0",
     "O(1)",
     "Answers that this server is not part of a cluster",
     "subcommand [arg [arg ...]]",
     refuse_cluster},
    {"readonly",
     1,
     kAlways,
     {},
     "cluster",
     "3.0.0",
     "O(1)",
     "Answers that this server is not part of a cluster",
     "",
     refuse_cluster},
    {"readwrite",
     1,
     kAlways,
     {},
     "cluster",
     "3.0.0",
     "O(1)",
     "Answers that this server is not part of a cluster",
     "",
     refuse_cluster},
};

}  // namespace

std::span<const CommandSpec> admin_cluster_commands() {
  return kCommands;
}

}  // namespace iris::server
