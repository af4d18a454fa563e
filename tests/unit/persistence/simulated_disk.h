// A disk in memory that can do what real ones do at their worst.
//
//   - It counts its calls, and fails the i-th one, once or from then on, with any errno; an append
//     may take a part of the bytes first.
//   - It knows what is synced: of each file the content, of the directory the names. power_cut()
//     keeps that, and of everything since a random part: of each file sector by sector, so that
//     holes appear before good bytes, and of the names one by one.
//   - After a failed sync it behaves like Linux: what was to be written is dropped, the next sync
//     says that all is well, and reading gives the bytes from memory as if they were on disk.
//
// One directory, whatever the paths say. Safe to use from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "persistence/file_system.h"

namespace iris::persistence {

class SimulatedDisk : public FileSystem {
 public:
  struct Fault {
    uint64_t call = 0;  // the first is 1; 0: none
    bool for_ever = false;
    int error = -5;  // -EIO
    // An append that fails takes half of its bytes before.
    bool partial = false;
  };

  // --- what a test does ---
  void fail(const Fault& fault);
  uint64_t calls() const;
  uint64_t syncs() const;
  // Called in each call, before it has an effect.
  void on_call(std::function<void()> hook);
  // Called in each sync of a file, before it has an effect and with the disk usable by others: it
  // may wait for something.
  void on_sync(std::function<void()> hook);
  // Everything that is not synced is dropped or kept by chance. Files that are open are lost.
  void power_cut(uint64_t seed);
  // A copy of what power_cut() would leave, without touching this disk.
  std::unique_ptr<SimulatedDisk> after_power_cut(uint64_t seed) const;
  // A copy of what is seen now: a killed process loses nothing of it.
  std::unique_ptr<SimulatedDisk> copy() const;

  std::vector<std::string> names() const;
  std::string content(const std::string& name) const;
  // As if it had always been there: synced.
  void put(const std::string& name, std::string content);
  void drop(const std::string& name);
  void flip(const std::string& name, uint64_t bit);
  uint64_t size(const std::string& name) const;
  // All names with their contents.
  std::map<std::string, std::string> everything() const;

  // --- FileSystem ---
  OpenedFile create(const std::string& path) override;
  OpenedFile open_for_reading(const std::string& path) override;
  OpenedFile open_for_repair(const std::string& path) override;
  OpenedFile lock(const std::string& path) override;
  int rename(const std::string& from, const std::string& to) override;
  int remove(const std::string& path) override;
  int sync_directory(const std::string& path) override;
  int list(const std::string& directory, std::vector<std::string>& names) override;

 private:
  struct Inode {
    std::string content;  // as processes see it
    std::string synced;   // as the disk has it
    bool dirty = false;   // they differ
    // What failed syncs have dropped: later ones do not write it.
    std::vector<std::pair<uint64_t, uint64_t>> dropped;
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;
  class OpenFile;

  // 0, or what this call must return.
  int count_call();
  OpenedFile open(const std::string& path);
  static void sync_inode(Inode& inode, bool failing);
  void copy_to(SimulatedDisk& other) const;
  static std::string survivor(const Inode& inode, std::mt19937_64& random);

  mutable std::recursive_mutex mutex_;
  Names names_;
  Names synced_names_;
  Fault fault_;
  uint64_t calls_ = 0;
  uint64_t syncs_ = 0;
  std::function<void()> on_call_;
  std::function<void()> on_sync_;
};

}  // namespace iris::persistence
