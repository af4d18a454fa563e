// The way back at the start: the newest snapshot with its tail, then the log strictly after it. See
// docs/persistence.md for what is repaired and what is refused.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "persistence/file_system.h"
#include "persistence/log_format.h"
#include "server/engine.h"

namespace iris::server {

// For INFO while it runs, and to end it before its time.
struct LoadProgress {
  std::atomic<int64_t> began_ms{0};
  std::atomic<uint64_t> bytes_done{0};
  std::atomic<uint64_t> bytes_in_all{0};
  std::atomic<bool> cancelled{false};
};

struct RecoveryResult {
  std::string error;                // not empty: the start must be refused with this text
  bool cancelled = false;           // then there is an error too, which is none to report
  persistence::Lsn last_lsn = 0;    // the state is exact at this LSN
  persistence::Lsn next_after = 0;  // the largest LSN in any file: the next one is beyond it
  uint64_t snapshot_bytes = 0;
};

// Fills the engine's keyspace, which is empty, and its hash seed. Works in short exclusive steps,
// so that PING and INFO are answered meanwhile.
RecoveryResult recover(Engine& engine, persistence::FileSystem& files, const std::string& directory,
                       LoadProgress& progress);

}  // namespace iris::server
