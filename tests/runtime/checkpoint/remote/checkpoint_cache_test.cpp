#include "runtime/checkpoint/remote/checkpoint_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/checkpoint/manifest.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

class CachedFolders : public testing::Test {
 protected:
  CheckpointCache cache(std::uint64_t bytes = 1 << 20) const {
    return CheckpointCache({folder_.path() / "cache", bytes});
  }
  /// Fills from seven threads at once: three times "odd" and four times "even".
  void fill_at_once(std::uint64_t limit) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 7; ++i)
      threads.emplace_back([this, i, limit] {
        const std::string name = i % 2 == 0 ? "even" : "odd";
        EXPECT_EQ(test::read_file(cache(limit).filled(filling(name)).folder / "shard").size(),
                  1000U);
      });
  }
  /// Writes a folder of about so many bytes.
  CheckpointCache::Filling filling(const std::string& name, std::size_t bytes = 1000) {
    return {name, bytes, [this, bytes](const fs::path& partial) {
              ++written_;
              test::write_file(partial / "shard", std::string(bytes, 'x'));
              test::write_file(partial / kManifestFile, "{}");
            }};
  }
  bool has(const std::string& name) const {
    return fs::exists(folder_.path() / "cache/checkpoints" / name);
  }

  test::TemporaryFolder folder_;
  std::atomic<int> written_ = 0;
};

TEST_F(CachedFolders, AreWrittenOnce) {
  for (int i = 0; i < 3; ++i) {
    const CachedCheckpoint found = cache().filled(filling("one"));
    EXPECT_EQ(test::read_file(found.folder / "shard").size(), 1000U);
  }
  EXPECT_EQ(written_, 1);
  EXPECT_FALSE(has("one.partial"));
}

// A reader's lock lets all that want "even" see that it is not there before one of them fills it.
TEST_F(CachedFolders, AreFilledOnceByAllAtOnce) {
  (void)cache();
  std::optional<FileHandle> reader(std::in_place, folder_.path() / "cache/checkpoints/even.lock",
                                   O_CREAT | O_RDWR);
  ASSERT_EQ(::flock(reader->descriptor(), LOCK_SH), 0);
  std::jthread closing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    reader.reset();
  });
  fill_at_once(1 << 20);
  EXPECT_EQ(written_, 2);
}

// Each then removes the other folder as soon as nobody has it in use.
TEST_F(CachedFolders, AreWholeAlsoWithoutRoomForTwo) { fill_at_once(1); }

// A removal may have waited for the lock, and then the lock's file is gone.
TEST_F(CachedFolders, AreWrittenAgainAfterARemovalMeanwhile) {
  const fs::path folder = cache().filled(filling("one")).folder;
  const fs::path lock = folder.string() + ".lock";
  std::optional<FileHandle> remover(std::in_place, lock, O_RDWR);
  ASSERT_EQ(::flock(remover->descriptor(), LOCK_EX), 0);
  std::jthread removing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    fs::remove_all(folder);
    fs::remove(lock);
    remover.reset();
  });
  EXPECT_TRUE(fs::exists(cache().filled(filling("one")).folder / kManifestFile));
  EXPECT_EQ(written_, 2);
  EXPECT_TRUE(fs::exists(lock));
}

TEST_F(CachedFolders, UnusedLongestGoFirst) {
  for (const char* name : {"one", "two", "three"}) {
    (void)cache(2500).filled(filling(name));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(has("one") || has("one.lock"));
  EXPECT_TRUE(has("two") && has("three"));
  (void)cache(2500).filled(filling("two"));
  (void)cache(2500).filled(filling("four"));
  EXPECT_TRUE(has("two") && has("four"));
  EXPECT_FALSE(has("three"));
}

TEST_F(CachedFolders, InUseStayBeyondTheLimit) {
  CachedCheckpoint first = cache(0).filled(filling("one"));
  const auto held = CheckpointCache::hold(first.folder);
  ASSERT_NE(held, nullptr);
  first.in_use.reset();
  (void)cache(0).filled(filling("two"));
  EXPECT_TRUE(has("one") && has("two"));
  (void)cache(0).filled(filling("three"));
  EXPECT_TRUE(has("one") && has("three"));
  EXPECT_FALSE(has("two"));
}

TEST_F(CachedFolders, GoOnAfterAnInterruption) {
  CheckpointCache::Filling broken = filling("one");
  broken.write = [](const fs::path& partial) {
    test::write_file(partial / "half", "x");
    throw CheckpointError("cut");
  };
  EXPECT_THROW((void)cache().filled(broken), CheckpointError);
  EXPECT_FALSE(has("one"));
  CheckpointCache::Filling next = filling("one");
  bool went_on = false;
  next.write = [&, write = next.write](const fs::path& partial) {
    went_on = fs::exists(partial / "half");
    write(partial);
  };
  (void)cache().filled(next);
  EXPECT_TRUE(went_on);
}

// A removal takes the manifest first.
TEST_F(CachedFolders, RemainsOfARemovalAreReplaced) {
  const fs::path folder = cache().filled(filling("one")).folder;
  fs::remove(folder / kManifestFile);
  (void)cache().filled(filling("one"));
  EXPECT_EQ(written_, 2);
  EXPECT_TRUE(fs::exists(folder / kManifestFile));
}

TEST_F(CachedFolders, NeedRoomOnTheDisk) {
  CheckpointCache::Filling huge = filling("one");
  huge.bytes = std::uint64_t{1} << 60;
  const std::string message =
      test::message_of<CheckpointError>([&] { (void)cache().filled(huge); });
  EXPECT_NE(message.find("but the checkpoint needs "), std::string::npos) << message;
  EXPECT_EQ(written_, 0);
}

TEST_F(CachedFolders, NeedACache) {
  EXPECT_THROW(CheckpointCache(CacheFolder{}), ConfigError);
  test::write_file(folder_.path() / "file", "");
  EXPECT_THROW(CheckpointCache({folder_.path() / "file", 1}), Error);
}

}  // namespace
}  // namespace penstock::runtime
