// A disk in memory for the tests of single files: counts the calls that change something, fails
// the i-th of them, takes appends in small bites, and loses at a power cut what was not synced.
#pragma once

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "persistence/file_system.h"

namespace iris::persistence {

// Where the tests' files lie.
inline const std::string kDataDirectory = "data";

class MemoryFiles : public FileSystem {
 public:
  struct Content {
    std::string now;
    std::string synced;
  };

  // What becomes of names and bytes that were not synced, when the power is cut.
  struct PowerCut {
    bool keep_names = false;
    bool keep_bytes = false;
  };

  // --- the tests' side ---
  // Calls that change the disk so far: create, append, sync, truncate, rename, remove,
  // sync_directory.
  uint64_t calls() const { return calls_.size(); }
  // What they were, in one word each.
  const std::vector<std::string>& call_names() const { return calls_; }
  // The call with this number (from 0) fails, and all after it too if `for_ever`.
  void fail_call(uint64_t number, int error, bool for_ever = false);
  // From the call with this number on nothing reaches the disk: the process is dead.
  void stop_at_call(uint64_t number) { stop_at_ = number; }
  // An append or a read takes at most this much.
  void set_bite(size_t bytes) { bite_ = bytes; }
  // What is left after a power cut, as a new disk without faults.
  std::unique_ptr<MemoryFiles> after_power_cut(PowerCut how) const;

  std::vector<std::string> names() const;
  bool has(const std::string& path) const { return files_.count(path) != 0; }
  const std::string& content(const std::string& path) const { return files_.at(path)->now; }
  void set_content(const std::string& path, std::string bytes);

  // --- FileSystem ---
  OpenedFile create(const std::string& path) override;
  OpenedFile open_for_reading(const std::string& path) override;
  OpenedFile open_for_repair(const std::string& path) override;
  OpenedFile lock(const std::string& path) override;
  int rename(const std::string& from, const std::string& to) override;
  int remove(const std::string& path) override;
  int sync_directory(const std::string& path) override;
  int list(const std::string& directory, std::vector<std::string>& names) override;

  // 0, or the error with which this call fails. For MemoryFile.
  int next_call(const char* name);
  size_t bite() const { return bite_; }

 private:
  using Names = std::map<std::string, std::shared_ptr<Content>>;

  Names files_;
  Names synced_names_;
  std::vector<std::string> calls_;
  std::optional<uint64_t> fail_at_;
  std::optional<uint64_t> stop_at_;
  int error_ = 0;
  bool for_ever_ = false;
  size_t bite_ = SIZE_MAX;
};

}  // namespace iris::persistence
