#include "persistence/log_buffer.h"

#include <cstring>
#include <mutex>

namespace iris::persistence {

namespace {

// From here on a record gets a block of its own and is copied outside the lock.
constexpr size_t kOwnBlockFromBytes = LogBlock::kBytes / 16;
// Enough for the block being filled, the one being written, and a burst. More would only keep
// memory that a full buffer once needed.
constexpr size_t kMaxSpareBlocks = 4;

}  // namespace

LogBlock::LogBlock(size_t capacity_bytes)
    : capacity(capacity_bytes),
      memory(std::make_unique_for_overwrite<char[]>(kMaxBatchLineBytes + capacity_bytes)) {}

LogBlockList& LogBlockList::operator=(LogBlockList&& other) noexcept {
  if (this != &other) {
    clear();
    append(other);
  }
  return *this;
}

void LogBlockList::push_back(std::unique_ptr<LogBlock> block) {
  LogBlock* added = block.release();
  added->next = nullptr;
  (head_ == nullptr ? head_ : tail_->next) = added;
  tail_ = added;
}

std::unique_ptr<LogBlock> LogBlockList::pop_front() {
  std::unique_ptr<LogBlock> block(head_);
  if (head_ != nullptr) head_ = head_->next;
  if (head_ == nullptr) tail_ = nullptr;
  return block;
}

void LogBlockList::append(LogBlockList& other) {
  if (other.empty()) return;
  (head_ == nullptr ? head_ : tail_->next) = other.head_;
  tail_ = other.tail_;
  other.head_ = other.tail_ = nullptr;
}

void LogBlockList::clear() {
  while (!empty()) pop_front();
}

std::unique_ptr<LogBlock> LogBuffer::new_block(size_t capacity_bytes) {
  memory_bytes_.fetch_add(capacity_bytes, std::memory_order_relaxed);
  return std::make_unique<LogBlock>(capacity_bytes);
}

LogBuffer::Appended LogBuffer::append(std::string_view record) {
  if (record.size() >= kOwnBlockFromBytes) return append_own_block(record);
  std::unique_ptr<LogBlock> fresh;
  for (;;) {
    lock_.lock();
    LogBlock* block = current_with_room(record.size(), fresh);
    if (block != nullptr) {
      std::memcpy(block->records_begin() + block->used, record.data(), record.size());
      const Appended appended = admit(*block, record.size());
      lock_.unlock();
      // A block that is left over: another thread was first, and there was room again.
      if (fresh) memory_bytes_.fetch_sub(LogBlock::kBytes, std::memory_order_relaxed);
      return appended;
    }
    lock_.unlock();
    fresh = new_block(LogBlock::kBytes);  // invariant 1
  }
}

// Under the lock. Null: there is no spare block, and `fresh` is none.
LogBlock* LogBuffer::current_with_room(size_t size_bytes, std::unique_ptr<LogBlock>& fresh) {
  if (current_ != nullptr && current_->capacity - current_->used >= size_bytes) return current_;
  std::unique_ptr<LogBlock> block;
  if (!spares_.empty()) {
    block = spares_.pop_front();
    --spare_count_;
  } else {
    block = std::move(fresh);
  }
  if (block == nullptr) return nullptr;
  current_ = block.get();
  chain_.push_back(std::move(block));
  return current_;
}

LogBuffer::Appended LogBuffer::append_own_block(std::string_view record) {
  std::unique_ptr<LogBlock> block = new_block(record.size());
  std::memcpy(block->records_begin(), record.data(), record.size());
  const std::lock_guard guard(lock_);
  LogBlock& added = *block;
  chain_.push_back(std::move(block));
  current_ = nullptr;
  return admit(added, record.size());
}

// Under the lock: the record's bytes are in the block; numbers and publishes it.
LogBuffer::Appended LogBuffer::admit(LogBlock& block, size_t size_bytes) {
  const Lsn lsn = end_.load(std::memory_order_relaxed) + 1;
  if (block.records == 0) block.first = lsn;
  ++block.records;
  block.used += size_bytes;
  const bool first = since_ns_.load(std::memory_order_relaxed) == 0;
  if (first) since_ns_.store(clock_.now_ns(), std::memory_order_relaxed);
  const bool was_full = pending_bytes_ >= LogBlock::kBytes;
  pending_bytes_ += size_bytes;
  appended_bytes_.store(appended_bytes_.load(std::memory_order_relaxed) + size_bytes,
                        std::memory_order_relaxed);
  end_.store(lsn, std::memory_order_release);
  return {.lsn = lsn, .first = first, .full = !was_full && pending_bytes_ >= LogBlock::kBytes};
}

Lsn LogBuffer::cut() {
  const std::lock_guard guard(lock_);
  current_ = nullptr;  // invariant 2
  const Lsn lsn = end_.load(std::memory_order_relaxed);
  cuts_.push_back(lsn);
  cuts_made_.fetch_add(1, std::memory_order_release);
  return lsn;
}

Lsn LogBuffer::skip() {
  const std::lock_guard guard(lock_);
  current_ = nullptr;
  const Lsn lsn = end_.load(std::memory_order_relaxed) + 1;
  end_.store(lsn, std::memory_order_release);
  return lsn;
}

uint64_t LogBuffer::buffered_bytes() const {
  // In this order: what was released had been appended before, and that is seen with it.
  const uint64_t released = released_bytes_.load();
  return appended_bytes_.load(std::memory_order_relaxed) - released;
}

LogBuffer::Pending LogBuffer::pending() {
  const std::lock_guard guard(lock_);
  return {.bytes = pending_bytes_,
          .since_ns = since_ns_.load(std::memory_order_relaxed),
          .cut = !cuts_.empty()};
}

LogBuffer::Taken LogBuffer::take() {
  Taken taken;
  const std::lock_guard guard(lock_);
  taken.blocks.append(chain_);
  taken.cuts.swap(cuts_);
  taken.since_ns = since_ns_.exchange(0, std::memory_order_relaxed);
  current_ = nullptr;
  pending_bytes_ = 0;
  return taken;
}

void LogBuffer::recycle(std::unique_ptr<LogBlock> block) {
  released_bytes_.fetch_add(block->used);
  if (block->capacity == LogBlock::kBytes) {
    block->used = 0;
    block->records = 0;
    const std::lock_guard guard(lock_);
    if (spare_count_ < kMaxSpareBlocks) {
      ++spare_count_;
      spares_.push_back(std::move(block));
      return;
    }
  }
  memory_bytes_.fetch_sub(block->capacity, std::memory_order_relaxed);
}

}  // namespace iris::persistence
