// Reading the log back: all segments of a directory, strictly after an LSN, without a gap.
//
// A batch is bad if its line, its length or its checksum is not right. If any valid annotation or
// segment header after it says that its LSN was synced, the log is damaged: nothing is changed, and
// the answer names file and offset. Otherwise the first bad batch and all after it is a torn tail
// (a power cut may leave holes before good batches): it is cut off, later segments are removed, and
// both are synced. If numbers were seen in it, an empty segment is left behind that begins beyond
// them.
//
// The header of a segment is synced before anything is appended. So a short file without a sound
// header never held a record and is removed; a longer one is damaged.
//
// An error of the disk is no damage to cut off: the start is refused with its text, and may be
// tried again. What was replayed is on disk when this returns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "persistence/file_system.h"
#include "persistence/log_format.h"

namespace iris::persistence {

struct LogRecovery {
  // Empty: the log is sound now, and all of it is on disk. Otherwise the start must be refused with
  // this text.
  std::string damage;
  // What was cut off, in a sentence for the log; empty: nothing.
  std::string warning;
  Lsn last_lsn = 0;        // of the last record that was replayed, or `after`
  Lsn largest_seen = 0;    // in any file, cut off or not: the next one must be beyond
  uint64_t records = 0;    // replayed
  uint64_t hash_seed = 0;  // of the newest segment; meaningless if has_seed is false
  bool has_seed = false;
};

struct LogReplay {
  // One record. A text refuses it (it does not fit the state): the log counts as damaged there.
  std::function<std::string(Lsn lsn, std::string_view record)> apply;
  // The records of a batch have been applied; the disk is asked for the next one after this.
  std::function<void(uint64_t bytes_done, uint64_t bytes_in_all)> batch_ended;
};

// Two passes over each batch: its checksum first, its records then.
LogRecovery recover_log(FileSystem& files, const std::string& directory, Lsn after,
                        const LogReplay& replay);

}  // namespace iris::persistence
