#include "tests/unit/persistence/simulated_disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace iris::persistence {

namespace {

std::string name_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

class SimulatedDisk::OpenFile : public File {
 public:
  OpenFile(SimulatedDisk& disk, std::shared_ptr<Inode> inode)
      : disk_(disk), inode_(std::move(inode)) {}

  int64_t append(std::string_view bytes) override {
    const std::lock_guard guard(disk_.mutex_);
    const int error = disk_.count_call();
    inode_->dirty = true;
    if (error != 0) {
      if (disk_.fault_.partial) write_at_end(bytes.substr(0, bytes.size() / 2));
      // A full disk first takes what fits and says how much; then it takes nothing.
      const bool says_so = disk_.fault_.partial && error == -ENOSPC && bytes.size() > 1;
      return says_so ? static_cast<int64_t>(bytes.size() / 2) : error;
    }
    write_at_end(bytes);
    return static_cast<int64_t>(bytes.size());
  }

  int prepare(uint64_t size_bytes) override {
    const std::lock_guard guard(disk_.mutex_);
    const int error = disk_.count_call();
    if (error != 0 && disk_.fault_.partial) size_bytes = end_ + (size_bytes - end_) / 2;
    if (error != 0 && !disk_.fault_.partial) return error;
    inode_->content.resize(std::max<uint64_t>(size_bytes, inode_->content.size()));
    inode_->dirty = true;
    return error;
  }

  int64_t read(uint64_t offset, std::span<char> out) override {
    const std::lock_guard guard(disk_.mutex_);
    if (const int error = disk_.count_call(); error != 0) return error;
    if (offset >= inode_->content.size()) return 0;
    const size_t count = std::min<size_t>(out.size(), inode_->content.size() - offset);
    std::memcpy(out.data(), inode_->content.data() + offset, count);
    return static_cast<int64_t>(count);
  }

  int sync() override {
    std::function<void()> hook;
    {
      const std::lock_guard guard(disk_.mutex_);
      hook = disk_.on_sync_;
    }
    if (hook) hook();
    const std::lock_guard guard(disk_.mutex_);
    const int error = disk_.count_call();
    ++disk_.syncs_;
    disk_.sync_inode(*inode_, error != 0);
    return error;
  }

  int truncate(uint64_t size_bytes) override {
    const std::lock_guard guard(disk_.mutex_);
    if (const int error = disk_.count_call(); error != 0) return error;
    inode_->content.resize(size_bytes);
    end_ = size_bytes;
    inode_->dirty = true;
    for (auto& [begin, end] : inode_->dropped) {
      begin = std::min(begin, size_bytes);
      end = std::min(end, size_bytes);
    }
    return 0;
  }

  void drop_cached() override {
    const std::lock_guard guard(disk_.mutex_);
    if (!inode_->dirty) return;
    inode_->content = inode_->synced;
    inode_->dropped.clear();
    inode_->dirty = false;
  }

  int64_t size() override {
    const std::lock_guard guard(disk_.mutex_);
    if (const int error = disk_.count_call(); error != 0) return error;
    return static_cast<int64_t>(inode_->content.size());
  }

 private:
  void write_at_end(std::string_view bytes) {
    std::string& content = inode_->content;
    content.resize(std::max(content.size(), end_ + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(end_));
    end_ += bytes.size();
  }

  SimulatedDisk& disk_;
  const std::shared_ptr<Inode> inode_;
  size_t end_ = 0;
};

// --- what a test does ---

void SimulatedDisk::fail(const Fault& fault) {
  const std::lock_guard guard(mutex_);
  fault_ = fault;
}

uint64_t SimulatedDisk::calls() const {
  const std::lock_guard guard(mutex_);
  return calls_;
}

uint64_t SimulatedDisk::syncs() const {
  const std::lock_guard guard(mutex_);
  return syncs_;
}

void SimulatedDisk::on_sync(std::function<void()> hook) {
  const std::lock_guard guard(mutex_);
  on_sync_ = std::move(hook);
}

void SimulatedDisk::on_call(std::function<void()> hook) {
  const std::lock_guard guard(mutex_);
  on_call_ = std::move(hook);
}

int SimulatedDisk::count_call() {
  if (on_call_) on_call_();
  ++calls_;
  const bool hit =
      fault_.call != 0 && (fault_.for_ever ? calls_ >= fault_.call : calls_ == fault_.call);
  return hit ? fault_.error : 0;
}

void SimulatedDisk::sync_inode(Inode& inode, bool failing) {
  if (!inode.dirty) return;
  if (failing) {
    const size_t common = std::min(inode.content.size(), inode.synced.size());
    const auto differs = std::mismatch(inode.content.begin(),
                                       inode.content.begin() + static_cast<std::ptrdiff_t>(common),
                                       inode.synced.begin())
                             .first;
    inode.dropped.emplace_back(differs - inode.content.begin(), inode.content.size());
    return;
  }
  std::string synced = inode.content;
  for (const auto& [begin, end] : inode.dropped) {
    for (size_t i = begin; i < std::min<size_t>(end, synced.size()); ++i) {
      synced[i] = i < inode.synced.size() ? inode.synced[i] : '\0';
    }
  }
  inode.synced = std::move(synced);
  inode.dirty = !inode.dropped.empty();
}

// Sector by sector what was synced or what came since; behind the synced part zeros for what did
// not make it. The length is anything from the one to the other.
std::string SimulatedDisk::survivor(const Inode& inode, std::mt19937_64& random) {
  if (!inode.dirty) return inode.synced;
  static constexpr size_t kSectors[] = {16, 64, 512, 4096};
  const size_t sector = kSectors[random() % 4];
  const size_t shorter = std::min(inode.synced.size(), inode.content.size());
  const size_t longer = std::max(inode.synced.size(), inode.content.size());
  size_t size = longer;
  if (random() % 4 == 0) size = shorter + random() % (longer - shorter + 1);
  if (random() % 8 == 0) size = inode.synced.size();
  const uint64_t keep_of_8 = random() % 9;
  std::string left(size, '\0');
  for (size_t begin = 0; begin < size; begin += sector) {
    const size_t end = std::min(begin + sector, size);
    const std::string& source = random() % 8 < keep_of_8 ? inode.content : inode.synced;
    for (size_t i = begin; i < std::min(end, source.size()); ++i) left[i] = source[i];
  }
  return left;
}

void SimulatedDisk::power_cut(uint64_t seed) {
  const std::lock_guard guard(mutex_);
  std::mt19937_64 random(seed);
  Names left;
  const auto keep = [&](const std::string& name, const std::shared_ptr<Inode>& inode) {
    auto copied = std::make_shared<Inode>();
    copied->content = copied->synced = survivor(*inode, random);
    left[name] = std::move(copied);
  };
  Names all = names_;
  all.insert(synced_names_.begin(), synced_names_.end());
  for (const auto& [name, unused] : all) {
    const auto now = names_.find(name);
    const auto before = synced_names_.find(name);
    const std::shared_ptr<Inode> is = now == names_.end() ? nullptr : now->second;
    const std::shared_ptr<Inode> was = before == synced_names_.end() ? nullptr : before->second;
    const std::shared_ptr<Inode>& chosen = random() % 2 == 0 ? is : was;
    if (chosen != nullptr) keep(name, chosen);
  }
  names_ = synced_names_ = std::move(left);
  fault_ = {};
  on_call_ = on_sync_ = nullptr;
}

void SimulatedDisk::copy_to(SimulatedDisk& other) const {
  const std::lock_guard guard(mutex_);
  std::map<const Inode*, std::shared_ptr<Inode>> copies;
  const auto copied = [&](const Names& from) {
    Names to;
    for (const auto& [name, inode] : from) {
      std::shared_ptr<Inode>& twin = copies[inode.get()];
      if (twin == nullptr) twin = std::make_shared<Inode>(*inode);
      to[name] = twin;
    }
    return to;
  };
  other.names_ = copied(names_);
  other.synced_names_ = copied(synced_names_);
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::copy() const {
  auto other = std::make_unique<SimulatedDisk>();
  copy_to(*other);
  return other;
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::after_power_cut(uint64_t seed) const {
  auto other = copy();
  other->power_cut(seed);
  return other;
}

std::vector<std::string> SimulatedDisk::names() const {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> all;
  for (const auto& [name, unused] : names_) all.push_back(name);
  return all;
}

std::string SimulatedDisk::content(const std::string& name) const {
  const std::lock_guard guard(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? std::string() : found->second->content;
}

void SimulatedDisk::put(const std::string& name, std::string content) {
  const std::lock_guard guard(mutex_);
  auto inode = std::make_shared<Inode>();
  inode->content = inode->synced = std::move(content);
  names_[name] = synced_names_[name] = std::move(inode);
}

void SimulatedDisk::drop(const std::string& name) {
  const std::lock_guard guard(mutex_);
  names_.erase(name);
  synced_names_.erase(name);
}

void SimulatedDisk::flip(const std::string& name, uint64_t bit) {
  const std::lock_guard guard(mutex_);
  Inode& inode = *names_.at(name);
  inode.synced[bit / 8] = static_cast<char>(inode.synced[bit / 8] ^ (1 << bit % 8));
  inode.content[bit / 8] = inode.synced[bit / 8];
}

uint64_t SimulatedDisk::size(const std::string& name) const {
  const std::lock_guard guard(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? 0 : found->second->content.size();
}

std::map<std::string, std::string> SimulatedDisk::everything() const {
  const std::lock_guard guard(mutex_);
  std::map<std::string, std::string> all;
  for (const auto& [name, inode] : names_) all[name] = inode->content;
  return all;
}

// --- FileSystem ---

OpenedFile SimulatedDisk::create(const std::string& path) {
  const std::lock_guard guard(mutex_);
  if (const int error = count_call(); error != 0) return {.file = nullptr, .error = error};
  auto [entry, is_new] = names_.try_emplace(name_of(path), nullptr);
  if (!is_new) return {.file = nullptr, .error = -EEXIST};
  entry->second = std::make_shared<Inode>();
  return {.file = std::make_unique<OpenFile>(*this, entry->second), .error = 0};
}

OpenedFile SimulatedDisk::open(const std::string& path) {
  const std::lock_guard guard(mutex_);
  if (const int error = count_call(); error != 0) return {.file = nullptr, .error = error};
  const auto found = names_.find(name_of(path));
  if (found == names_.end()) return {.file = nullptr, .error = -ENOENT};
  return {.file = std::make_unique<OpenFile>(*this, found->second), .error = 0};
}

OpenedFile SimulatedDisk::open_for_reading(const std::string& path) {
  return open(path);
}

OpenedFile SimulatedDisk::open_for_repair(const std::string& path) {
  return open(path);
}

OpenedFile SimulatedDisk::lock(const std::string& path) {
  OpenedFile opened = create(path);
  return opened.error == -EEXIST ? open(path) : std::move(opened);
}

int SimulatedDisk::rename(const std::string& from, const std::string& to) {
  const std::lock_guard guard(mutex_);
  if (const int error = count_call(); error != 0) return error;
  const auto found = names_.find(name_of(from));
  if (found == names_.end()) return -ENOENT;
  names_[name_of(to)] = found->second;
  names_.erase(name_of(from));
  return 0;
}

int SimulatedDisk::remove(const std::string& path) {
  const std::lock_guard guard(mutex_);
  if (const int error = count_call(); error != 0) return error;
  return names_.erase(name_of(path)) == 1 ? 0 : -ENOENT;
}

int SimulatedDisk::sync_directory(const std::string&) {
  const std::lock_guard guard(mutex_);
  if (const int error = count_call(); error != 0) return error;
  synced_names_ = names_;
  return 0;
}

int SimulatedDisk::list(const std::string&, std::vector<std::string>& names) {
  const std::lock_guard guard(mutex_);
  if (const int error = count_call(); error != 0) return error;
  names.clear();
  for (const auto& [name, unused] : names_) names.push_back(name);
  return 0;
}

}  // namespace iris::persistence
