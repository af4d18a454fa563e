#include "tests/unit/persistence/memory_files.h"

#include <algorithm>
#include <cstring>

namespace iris::persistence {

namespace {

class MemoryFile : public File {
 public:
  MemoryFile(MemoryFiles& files, std::shared_ptr<MemoryFiles::Content> content)
      : files_(files), content_(std::move(content)) {}

  int64_t append(std::string_view bytes) override {
    if (const int error = files_.next_call("append"); error != 0) return error;
    const std::string_view taken = bytes.substr(0, files_.bite());
    content_->now += taken;
    return static_cast<int64_t>(taken.size());
  }

  int64_t read(uint64_t offset, std::span<char> out) override {
    if (offset >= content_->now.size()) return 0;
    const size_t size = std::min({out.size(), content_->now.size() - offset, files_.bite()});
    std::memcpy(out.data(), content_->now.data() + offset, size);
    return static_cast<int64_t>(size);
  }

  int prepare(uint64_t) override { return 0; }

  int sync() override {
    if (const int error = files_.next_call("sync"); error != 0) return error;
    content_->synced = content_->now;
    return 0;
  }

  int truncate(uint64_t size_bytes) override {
    if (const int error = files_.next_call("truncate"); error != 0) return error;
    content_->now.resize(size_bytes);
    return 0;
  }

  int64_t size() override { return static_cast<int64_t>(content_->now.size()); }

 private:
  MemoryFiles& files_;
  std::shared_ptr<MemoryFiles::Content> content_;
};

}  // namespace

void MemoryFiles::fail_call(uint64_t number, int error, bool for_ever) {
  fail_at_ = number;
  error_ = error;
  for_ever_ = for_ever;
}

int MemoryFiles::next_call(const char* name) {
  const uint64_t number = calls_.size();
  calls_.emplace_back(name);
  if (stop_at_.has_value() && number >= *stop_at_) return -EIO;
  if (!fail_at_.has_value()) return 0;
  return number == *fail_at_ || (for_ever_ && number > *fail_at_) ? error_ : 0;
}

std::unique_ptr<MemoryFiles> MemoryFiles::after_power_cut(PowerCut how) const {
  auto disk = std::make_unique<MemoryFiles>();
  for (const auto& [name, content] : how.keep_names ? files_ : synced_names_) {
    disk->set_content(name, how.keep_bytes ? content->now : content->synced);
  }
  return disk;
}

std::vector<std::string> MemoryFiles::names() const {
  std::vector<std::string> names;
  for (const auto& [name, content] : files_) names.push_back(name);
  return names;
}

void MemoryFiles::set_content(const std::string& path, std::string bytes) {
  auto content = std::make_shared<Content>();
  content->synced = bytes;
  content->now = std::move(bytes);
  files_[path] = content;
  synced_names_[path] = content;
}

OpenedFile MemoryFiles::create(const std::string& path) {
  if (const int error = next_call("create"); error != 0) return {nullptr, error};
  if (has(path)) return {nullptr, -EEXIST};
  files_[path] = std::make_shared<Content>();
  return {std::make_unique<MemoryFile>(*this, files_[path]), 0};
}

OpenedFile MemoryFiles::open_for_reading(const std::string& path) {
  if (!has(path)) return {nullptr, -ENOENT};
  return {std::make_unique<MemoryFile>(*this, files_[path]), 0};
}

OpenedFile MemoryFiles::open_for_repair(const std::string& path) {
  return open_for_reading(path);
}

OpenedFile MemoryFiles::lock(const std::string& path) {
  if (!has(path)) return create(path);
  return open_for_reading(path);
}

int MemoryFiles::rename(const std::string& from, const std::string& to) {
  if (const int error = next_call("rename"); error != 0) return error;
  if (!has(from)) return -ENOENT;
  files_[to] = files_[from];
  files_.erase(from);
  return 0;
}

int MemoryFiles::remove(const std::string& path) {
  if (const int error = next_call("remove"); error != 0) return error;
  return files_.erase(path) == 1 ? 0 : -ENOENT;
}

int MemoryFiles::sync_directory(const std::string&) {
  if (const int error = next_call("sync_directory"); error != 0) return error;
  synced_names_ = files_;
  return 0;
}

int MemoryFiles::list(const std::string& directory, std::vector<std::string>& names) {
  names.clear();
  const std::string prefix = directory + "/";
  for (const auto& [name, content] : files_) {
    if (name.rfind(prefix, 0) == 0) names.push_back(name.substr(prefix.size()));
  }
  return 0;
}

}  // namespace iris::persistence
