// The machine's own files, in a directory of their own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "persistence/data_directory.h"
#include "persistence/file_system.h"
#include "tests/unit/persistence/log_test_support.h"

namespace iris::persistence {
namespace {

class PosixFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "iris-files-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return path_in(directory_, name); }

  std::string directory_;
  FileSystem& files_ = real_file_system();
};

TEST_F(PosixFileSystemTest, AFileIsCreatedOnceForItsOwnerAlone) {
  const OpenedFile created = files_.create(path("a"));
  ASSERT_EQ(created.error, 0);
  EXPECT_EQ(files_.create(path("a")).error, -EEXIST);
  struct stat status;
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(PosixFileSystemTest, AppendingGoesOnAtTheEndAfterATruncate) {
  const OpenedFile created = files_.create(path("a"));
  ASSERT_EQ(created.error, 0);
  EXPECT_EQ(created.file->append("hello world"), 11);
  EXPECT_EQ(created.file->truncate(5), 0);
  EXPECT_EQ(created.file->append("!"), 1);
  EXPECT_EQ(created.file->sync(), 0);
  EXPECT_EQ(files_.sync_directory(directory_), 0);
  const OpenedFile reading = files_.open_for_reading(path("a"));
  ASSERT_EQ(reading.error, 0);
  EXPECT_EQ(reading.file->size(), 6);
  std::array<char, 16> bytes;
  ASSERT_EQ(reading.file->read(0, bytes), 6);
  EXPECT_EQ(std::string_view(bytes.data(), 6), "hello!");
  EXPECT_EQ(reading.file->read(6, bytes), 0);
  EXPECT_EQ(reading.file->append("x"), -EBADF);
  const OpenedFile repair = files_.open_for_repair(path("a"));
  ASSERT_EQ(repair.error, 0);
  EXPECT_EQ(repair.file->truncate(2), 0);
  EXPECT_EQ(reading.file->size(), 2);
}

// Whether the descriptor that this process has of the file is set to go past the kernel's memory.
bool is_direct(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) != path) continue;
    std::ifstream info("/proc/self/fdinfo/" + entry.path().filename().string());
    for (std::string name; info >> name;) {
      if (name == "flags:") return (info >> name) && (std::stol(name, nullptr, 8) & O_DIRECT) != 0;
    }
  }
  return false;
}

TEST_F(PosixFileSystemTest, WholeBlocksGoPastTheKernelsMemoryAndOthersBetweenThem) {
  const int probe = ::open(path("probe").c_str(), O_RDWR | O_CREAT | O_DIRECT, 0600);
  const bool possible = probe != -1;
  if (possible) ::close(probe);

  const OpenedFile created = files_.create(path("a"));
  ASSERT_EQ(created.error, 0);
  created.file->bypass_cache();
  struct alignas(File::kBlockBytes) Blocks {
    char bytes[2 * File::kBlockBytes];
  };
  const auto blocks = std::make_unique<Blocks>();
  std::string expected;
  const auto append = [&](size_t begin, size_t size, char fill) {
    std::memset(blocks->bytes, fill, sizeof blocks->bytes);
    const std::string_view bytes(blocks->bytes + begin, size);
    EXPECT_EQ(created.file->append(bytes), static_cast<int64_t>(size));
    expected += bytes;
  };
  append(0, sizeof blocks->bytes, 'a');
  EXPECT_EQ(is_direct(path("a")), possible);
  append(1, File::kBlockBytes, 'b');  // not where a block begins in memory
  EXPECT_FALSE(is_direct(path("a")));
  append(0, File::kBlockBytes, 'c');
  EXPECT_EQ(is_direct(path("a")), possible);
  append(0, 100, 'd');                // no whole block
  append(0, File::kBlockBytes, 'e');  // not where one begins in the file
  EXPECT_EQ(created.file->prepare(expected.size() + 3 * File::kBlockBytes), 0);
  append(0, File::kBlockBytes - 100, 'f');
  append(0, File::kBlockBytes, 'g');
  EXPECT_EQ(is_direct(path("a")), possible);
  EXPECT_EQ(created.file->sync(), 0);

  std::string found(expected.size(), '?');
  ASSERT_EQ(created.file->read(0, found), static_cast<int64_t>(found.size()));
  EXPECT_TRUE(found == expected);
}

TEST_F(PosixFileSystemTest, PreparedZerosLieBehindTheEnd) {
  const OpenedFile created = files_.create(path("a"));
  ASSERT_EQ(created.error, 0);
  EXPECT_EQ(created.file->append("one"), 3);
  EXPECT_EQ(created.file->prepare(200'000), 0);
  EXPECT_EQ(created.file->size(), 200'000);
  EXPECT_EQ(created.file->append("two"), 3);
  EXPECT_EQ(created.file->size(), 200'000);
  std::array<char, 8> bytes;
  ASSERT_EQ(created.file->read(0, bytes), 8);
  EXPECT_EQ(std::string_view(bytes.data(), 8), std::string_view("onetwo\0\0", 8));
  ASSERT_EQ(created.file->read(199'999, bytes), 1);
  EXPECT_EQ(bytes[0], '\0');
  EXPECT_EQ(created.file->truncate(6), 0);
  EXPECT_EQ(created.file->append("!"), 1);
  EXPECT_EQ(created.file->size(), 7);
}

TEST_F(PosixFileSystemTest, WhatIsNotThereIsAnErrorByValue) {
  EXPECT_EQ(files_.open_for_reading(path("a")).error, -ENOENT);
  EXPECT_EQ(files_.open_for_repair(path("a")).error, -ENOENT);
  EXPECT_EQ(files_.remove(path("a")), -ENOENT);
  EXPECT_EQ(files_.rename(path("a"), path("b")), -ENOENT);
  std::vector<std::string> names;
  EXPECT_EQ(files_.list(path("nowhere"), names), -ENOENT);
  EXPECT_EQ(files_.sync_directory(path("nowhere")), -ENOENT);
}

TEST_F(PosixFileSystemTest, TheSecondWhoWantsTheLockIsRefusedUntilTheFirstLetsGo) {
  OpenedFile first = files_.lock(path("iris.lock"));
  ASSERT_EQ(first.error, 0);
  EXPECT_EQ(files_.lock(path("iris.lock")).error, -EWOULDBLOCK);
  first.file.reset();
  EXPECT_EQ(files_.lock(path("iris.lock")).error, 0);
}

TEST_F(PosixFileSystemTest, NamesAreListedAndToldApart) {
  for (const std::string& name :
       {log_name(7), log_name(42), snapshot_name(41), temporary_name(snapshot_name(50)),
        std::string("iris.lock"), std::string("iris-1.log"), std::string("iris-x.log")}) {
    ASSERT_EQ(files_.create(path(name)).error, 0);
  }
  ASSERT_EQ(files_.rename(path(log_name(7)), path(log_name(8))), 0);
  DataFiles found;
  ASSERT_EQ(list_data_files(files_, directory_, found), 0);
  EXPECT_EQ(found.logs, (std::vector<Lsn>{8, 42}));
  EXPECT_EQ(found.snapshots, (std::vector<Lsn>{41}));
  EXPECT_EQ(found.temporaries,
            (std::vector<std::string>{"iris-00000000000000000050.snapshot.tmp"}));
}

TEST_F(PosixFileSystemTest, ALogOnTheRealDiskComesBack) {
  CountingListener listener;
  Log log(files_, directory_, kTestSeed, 0, listener);
  ASSERT_EQ(log.start(SyncPolicy::kAlways), "");
  for (uint64_t i = 1; i <= 1000; ++i) {
    log.append(test_record(i));
    if (i == 500) {
      EXPECT_EQ(log.wait_for_cut(log.cut()), "");
    }
  }
  ASSERT_EQ(log.stop(), "");
  uint64_t next = 1;
  LogReplay replay;
  replay.apply = [&](Lsn lsn, std::string_view record) -> std::string {
    EXPECT_EQ(lsn, next);
    EXPECT_EQ(record, test_record(next++));
    return {};
  };
  const LogRecovery outcome = recover_log(files_, directory_, 0, replay);
  EXPECT_EQ(outcome.damage, "");
  EXPECT_EQ(outcome.warning, "");
  EXPECT_EQ(outcome.records, 1000U);
}

}  // namespace
}  // namespace iris::persistence
