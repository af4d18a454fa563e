// The command line of loadgen, checked: an Options that parse_options() returned can be run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "bench/loadgen/item_choice.h"
#include "bench/loadgen/reply_counter.h"
#include "bench/loadgen/request_batch.h"

namespace iris::loadgen {

struct Options {
  std::string host = "127.0.0.1";
  uint64_t port = 6379;
  std::string unix_socket;  // instead of host and port

  uint64_t connections = 50;
  uint64_t pipeline = 1;
  uint64_t threads = 1;
  double seconds = 3;
  uint64_t requests = 0;  // 0: as many as `seconds` allow
  double rate = 0;        // requests a second of all connections; 0: as fast as replies come

  ItemSpan items;
  uint64_t item_bytes = 12;
  bool binary = false;
  KeySpan keys;
  uint64_t seed = 1;

  ReplyKind expect = ReplyKind::kAnyButError;
  pid_t pid = 0;
  bool json = false;
  bool help = false;

  std::vector<std::string> command;  // at least one word

  RequestTemplate request() const;
  size_t batch_bytes() const;
  // Different items that the run may ask for; of a sequential one by time nobody knows: 0.
  uint64_t used_items() const;
};

// The options, or what is wrong with the command line.
std::variant<Options, std::string> parse_options(const std::vector<std::string>& arguments);

std::string help_text();

}  // namespace iris::loadgen
