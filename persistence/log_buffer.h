// The producers' side of the log: records on their way to the log's thread.
//
//     workers --append--> [ block ][ block ][ big record ][ current block ... ]
//                                                               | take(): the whole chain at once
//     log's thread  <-------------------------------------------+
//                   -- recycle() --> spare blocks
//
// A record is copied into the current block of a chain; when it is full, the next one is linked.
// Nothing that was copied is ever moved. The log's thread takes the chain, writes each block as one
// batch, and gives the blocks back.
//
// Invariants
//   1. The spin lock is held for the copying of one small record, or for a few pointers: memory is
//      got and given back, and big records are copied, outside it.
//   2. A block holds whole records with consecutive LSNs, at least one, and never records from both
//      sides of a cut: cut() seals the current block. So a block is a batch.
//   3. A cut is handed out by the same take() as the last record before it, or by a later one, but
//      not later than the first record after it.
//   4. end() is stored with release after the record is in the chain, and before append() returns:
//      who sees a change that was made after append() sees an end() that covers it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "filters/spin_lock.h"
#include "persistence/log_clock.h"
#include "persistence/log_format.h"

namespace iris::persistence {

// Records that lie behind one another, with room in front for the line of their batch.
struct LogBlock {
  static constexpr size_t kBytes = size_t{1} << 20;

  explicit LogBlock(size_t capacity_bytes);

  std::string_view records_view() const { return {records_begin(), used}; }
  char* records_begin() const { return memory.get() + kMaxBatchLineBytes; }
  Lsn last() const { return first + records - 1; }

  const size_t capacity;
  size_t used = 0;
  Lsn first = 0;
  uint64_t records = 0;
  LogBlock* next = nullptr;  // owned by the list
  const std::unique_ptr<char[]> memory;
};

// Owns its blocks, in order.
class LogBlockList {
 public:
  LogBlockList() = default;
  ~LogBlockList() { clear(); }
  LogBlockList(LogBlockList&& other) noexcept { append(other); }
  LogBlockList& operator=(LogBlockList&& other) noexcept;
  LogBlockList(const LogBlockList&) = delete;
  LogBlockList& operator=(const LogBlockList&) = delete;

  bool empty() const { return head_ == nullptr; }
  LogBlock* front() const { return head_; }
  void push_back(std::unique_ptr<LogBlock> block);
  std::unique_ptr<LogBlock> pop_front();
  // Moves all blocks of `other` to the end of this list.
  void append(LogBlockList& other);
  void clear();

 private:
  LogBlock* head_ = nullptr;
  LogBlock* tail_ = nullptr;
};

class LogBuffer {
 public:
  LogBuffer(const LogClock& clock, Lsn last_lsn) : clock_(clock), end_(last_lsn) {}

  struct Appended {
    Lsn lsn;
    bool first;  // nothing was pending before
    bool full;   // a whole block is pending since this record
  };
  Appended append(std::string_view record);
  Lsn end() const { return end_.load(std::memory_order_acquire); }
  // Marks a border between segments behind the last record; returns its LSN.
  Lsn cut();
  // Uses up a number for changes that were not recorded; returns it. Nobody appends meanwhile.
  Lsn skip();

  // Appended and not yet released: what backlogs.
  uint64_t buffered_bytes() const;
  // What the blocks take, full or spare.
  uint64_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }
  // When the oldest record that is not yet taken was appended; 0 if there is none.
  int64_t pending_since_ns() const { return since_ns_.load(std::memory_order_relaxed); }
  uint64_t cuts() const { return cuts_made_.load(std::memory_order_acquire); }

  // --- the log's thread ---
  struct Pending {
    uint64_t bytes;
    int64_t since_ns;  // 0: no record
    bool cut;
  };
  Pending pending();

  struct Taken {
    LogBlockList blocks;
    std::vector<Lsn> cuts;  // ascending
    int64_t since_ns = 0;   // of the oldest record
  };
  Taken take();
  // A block that was written, or given up: it does not count as buffered any more.
  void recycle(std::unique_ptr<LogBlock> block);

 private:
  std::unique_ptr<LogBlock> new_block(size_t capacity_bytes);
  Appended append_own_block(std::string_view record);
  LogBlock* current_with_room(size_t size_bytes, std::unique_ptr<LogBlock>& fresh);
  Appended admit(LogBlock& block, size_t size_bytes);

  const LogClock& clock_;

  // What append() touches lies together, away from what others read.
  alignas(64) filters::SpinLock lock_;
  LogBlock* current_ = nullptr;  // the last of chain_ if it takes records, else null
  uint64_t pending_bytes_ = 0;
  std::atomic<Lsn> end_;
  std::atomic<int64_t> since_ns_{0};
  std::atomic<uint64_t> appended_bytes_{0};
  LogBlockList chain_;
  LogBlockList spares_;
  size_t spare_count_ = 0;
  std::vector<Lsn> cuts_;
  std::atomic<uint64_t> cuts_made_{0};

  alignas(64) std::atomic<uint64_t> released_bytes_{0};
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace iris::persistence
