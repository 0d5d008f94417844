#include "runtime/data/remote/object_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecond = 1'000'000'000;

class Cached : public testing::Test {
 protected:
  /// Fills the file `name` with `bytes` bytes and returns its handle.
  FileHandle fill(const ObjectCache& cache, const std::string& name, std::int64_t bytes) const {
    return cache.filled(place(name), {bytes, kSecond}, {[&](const fs::path& partial) {
                          test::write_file(partial, std::string(bytes, name.back()));
                        }});
  }
  fs::path place(const std::string& name) const { return folder_.path() / "s3/b" / name; }
  bool is_whole(const ObjectCache& cache, const std::string& name, std::int64_t bytes) const {
    return cache.open(place(name), {bytes, kSecond}).has_value();
  }
  /// Returns the bytes that whole and partial files take on the disk.
  std::uint64_t taken() const {
    std::uint64_t sum = 0;
    for (const auto& item : fs::recursive_directory_iterator(folder_.path()))
      if (item.is_regular_file() &&
          (item.status().permissions() & fs::perms::owner_read) != fs::perms::none &&
          item.path().filename() != "size")
        sum += item.file_size();
    return sum;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Cached, AHollowFileHasSizeAndTimeAlone) {
  const ObjectCache cache(folder_.path(), 1000);
  const FileStamp stamp{123, 77 * kSecond};
  cache.note(place("a"), stamp);
  EXPECT_EQ(stamp_of(place("a")), stamp);
  EXPECT_FALSE(cache.open(place("a"), stamp));
  EXPECT_EQ(taken(), 0u);
}

TEST_F(Cached, AWholeFileIsFilledOnce) {
  const ObjectCache cache(folder_.path(), 1000);
  (void)fill(cache, "a", 10);
  (void)cache.filled(place("a"), {10, kSecond}, {[](const fs::path&) { FAIL(); }});
  EXPECT_EQ(test::read_file(place("a")), std::string(10, 'a'));
  EXPECT_FALSE(cache.open(place("a"), {10, 2 * kSecond}));  // another object of that name
  EXPECT_FALSE(cache.open(place("a"), {11, kSecond}));
}

TEST_F(Cached, TheOldestLoseTheirBytes) {
  const ObjectCache cache(folder_.path(), 1000);
  for (const char* name : {"a", "b", "c"}) {
    (void)fill(cache, name, 300);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock of files is coarse
  }
  EXPECT_TRUE(is_whole(cache, "a", 300));  // a is the latest now
  (void)fill(cache, "d", 300);
  EXPECT_TRUE(is_whole(cache, "a", 300));
  EXPECT_FALSE(is_whole(cache, "b", 300));
  EXPECT_EQ(stamp_of(place("b")), (FileStamp{300, kSecond}));
  EXPECT_LE(taken(), 1000u);
}

TEST_F(Cached, WhatIsInUseStays) {
  const ObjectCache cache(folder_.path(), 1000);
  const FileHandle used = fill(cache, "a", 600);
  (void)fill(cache, "b", 300);
  (void)fill(cache, "c", 300);
  EXPECT_TRUE(is_whole(cache, "a", 600));
  EXPECT_FALSE(is_whole(cache, "b", 300));
}

TEST_F(Cached, AFileLargerThanTheLimitIsRefused) {
  const ObjectCache cache(folder_.path(), 1000);
  const std::string fault = test::message_of<FileError>([&] { (void)fill(cache, "a", 1001); });
  EXPECT_NE(fault.find("set data.cache_gib=0.01 or more"), std::string::npos) << fault;
}

TEST_F(Cached, RemainsAreContinuedOnlyIfVerified) {
  const ObjectCache cache(folder_.path(), 1000);
  for (const bool resumes : {true, false}) {
    const std::string name = resumes ? "a" : "b";
    const auto die = [](const fs::path& partial) {
      test::write_file(partial, "12345");
      throw DataError("cut");
    };
    EXPECT_THROW((void)cache.filled(place(name), {10, kSecond}, {die, resumes}), DataError);
    std::string found;
    (void)cache.filled(place(name), {10, kSecond},
                       {[&](const fs::path& partial) {
                          found = test::read_file(partial);
                          test::write_file(partial, "1234567890");
                        },
                        resumes});
    EXPECT_EQ(found, resumes ? "12345" : "");
  }
}

// Whoever fills a file holds its exclusive lock for a moment after the file has its name.
TEST_F(Cached, ALockedFileIsNotFilledAgain) {
  const ObjectCache cache(folder_.path(), 1000);
  (void)fill(cache, "a", 10);
  std::optional<FileHandle> other(std::in_place, place("a"), O_RDWR);
  ASSERT_EQ(::flock(other->descriptor(), LOCK_EX), 0);
  std::jthread unlocking([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    other.reset();
  });
  (void)cache.filled(place("a"), {10, kSecond}, {[](const fs::path&) { FAIL(); }});
  EXPECT_EQ(taken(), 10u);
}

TEST_F(Cached, ThreadsAndProcessesFillAFileOnce) {
  const fs::path log = folder_.path() / "log";
  test::write_file(log, "");
  const auto open_all = [&] {
    const ObjectCache cache(folder_.path() / "cache", 1 << 20);
    for (int i = 0; i < 20; ++i) {
      const fs::path file = folder_.path() / "cache/s3/b" / std::to_string(i);
      const FileHandle handle = cache.filled(file, {1000, kSecond}, {[&](const fs::path& partial) {
                                               const FileHandle lines(log, O_WRONLY | O_APPEND);
                                               (void)!::write(lines.descriptor(), "x", 1);
                                               test::write_file(partial, std::string(1000, 'y'));
                                             }});
      if (test::read_file(file) != std::string(1000, 'y')) ::_exit(1);
    }
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i)
    if (children.push_back(::fork()); children.back() == 0) {
      std::jthread other(open_all);
      open_all();
      other.join();
      ::_exit(0);
    }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(test::read_file(log), std::string(20, 'x'));
}

}  // namespace
}  // namespace penstock::runtime
