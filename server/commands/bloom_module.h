// Tools look for a module named `bf` to find out whether a server has Bloom filters: HELLO and
// MODULE LIST tell of it.
#pragma once

#include "protocol/reply_writer.h"

namespace iris::server {

// RedisBloom's numbering of its version 8.0.0, whose commands these are.
constexpr int kBloomModuleVersion = 80000;

inline void reply_with_bloom_module(protocol::ReplyWriter& reply) {
  reply.map(4);
  reply.bulk("name");
  reply.bulk("bf");
  reply.bulk("ver");
  reply.integer(kBloomModuleVersion);
  reply.bulk("path");
  reply.bulk("");
  reply.bulk("args");
  reply.array(0);
}

}  // namespace iris::server
