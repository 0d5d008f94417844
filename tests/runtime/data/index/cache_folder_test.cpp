#include "runtime/data/index/cache_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "comm/threads.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

class CacheFolderTest : public testing::Test {
 protected:
  fs::path in(const std::string& name) const { return folder_.path() / name; }
  fs::path file(const std::string& manifest, const std::string& suffix = ".index") const {
    return cached_file(cache_, "/data/" + manifest, suffix);
  }
  void put(const std::string& manifest, const std::string& suffix, int hours_ago) {
    ASSERT_TRUE(write_cached(cache_, file(manifest, suffix),
                             [](const auto& write) { write(std::string(100, 'x')); }));
    fs::last_write_time(file(manifest, suffix),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
  }

  test::TemporaryFolder folder_;
  CacheFolder cache_{in("deep/cache"), 1000};
};

TEST_F(CacheFolderTest, RemovesWhatWasUsedLongestAgo) {
  put("a", ".index", 3);
  put("b", ".index", 5);
  put("b", ".labels", 1);  // used last when its labels were
  put("c", ".index", 2);
  cache_.bytes = 399;
  prune_cache(cache_, {});
  EXPECT_FALSE(fs::exists(file("a")));
  EXPECT_TRUE(fs::exists(file("b")) && fs::exists(file("b", ".labels")) && fs::exists(file("c")));
  mark_used(file("c"));
  cache_.bytes = 100;
  prune_cache(cache_, {});
  EXPECT_FALSE(fs::exists(file("b")) || fs::exists(file("b", ".labels")));
  EXPECT_TRUE(fs::exists(file("c")));
}

TEST_F(CacheFolderTest, RemovesNothingThatIsInUse) {
  put("a", ".index", 3);
  put("a", ".labels", 3);
  put("b", ".index", 2);
  cache_.bytes = 1;
  {
    const auto used = open_in_use(file("a", ".labels"));
    ASSERT_TRUE(used);
    prune_cache(cache_, file("b"));
    EXPECT_TRUE(fs::exists(file("a")) && fs::exists(file("a", ".labels")));
    EXPECT_TRUE(fs::exists(file("b")));  // which was written just now
  }
  prune_cache(cache_, file("b"));
  EXPECT_FALSE(fs::exists(file("a")) || fs::exists(file("a", ".labels")));
}

TEST_F(CacheFolderTest, RemovesNoFileOfTheUsers) {
  cache_.bytes = 1;
  fs::create_directories(cache_.path);
  const std::vector<std::string> others = {"train.jsonl.index", "notes.txt", "x-12.index",
                                           "x-0123456789abcdef.index.txt"};
  for (const std::string& name : others) test::write_file(cache_.path / name, "a user's");
  prune_cache(cache_, {});
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(cache_.path / name)) << name;
}

TEST_F(CacheFolderTest, SweepsWhatDeadRunsBegan) {
  put("a", ".index", 0);
  const fs::path old = file("a").string() + ".12-34.partial";
  const fs::path recent = file("a").string() + ".12-35.partial";
  test::write_file(old, "half");
  test::write_file(recent, "half");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(30));
  prune_cache(cache_, {});
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(recent) && fs::exists(file("a")));
}

TEST_F(CacheFolderTest, ServesManyWritersAtOnce) {
  cache_.bytes = 300;
  comm::run_as_threads({.ranks = 4}, [&](comm::Communicator& world) {
    for (int i = 0; i < 25; ++i) {
      const fs::path own = file(fmt::format("{}", (world.rank() + i) % 6));
      EXPECT_TRUE(write_cached(cache_, own, [](const auto& write) { write("whole"); }));
      if (const auto used = open_in_use(own)) {
        EXPECT_EQ(test::read_file(own), "whole");
      }
    }
  });
}

TEST_F(CacheFolderTest, IsOfTheUserAlone) {
  put("a", ".index", 0);
  EXPECT_EQ(fs::status(cache_.path).permissions(), fs::perms::owner_all);
}

TEST_F(CacheFolderTest, FailsWithoutAnError) {
  test::write_file(in("deep"), "a file");
  EXPECT_FALSE(write_cached(cache_, file("a"), [](const auto& write) { write("x"); }));
  EXPECT_FALSE(write_cached({}, {}, [](const auto& write) { write("x"); }));
  EXPECT_FALSE(open_in_use(file("a")));
}

/// Sets a variable of the environment for as long as it lives; nullptr: it is not set.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const {
    if (value == nullptr)
      ::unsetenv(name_);
    else
      ::setenv(name_, value, 1);
  }
  const char* name_;
  std::optional<std::string> before_;
};

TEST(CacheFolderPath, FollowsTheEnvironment) {
  const Variable home("HOME", "/home/anna");
  {
    const Variable caches("XDG_CACHE_HOME", "/caches");
    EXPECT_EQ(cache_folder().path, "/caches/penstock");
    EXPECT_EQ(cache_folder("/mine").path, "/mine");
    EXPECT_EQ(cache_folder("/mine", 0).path, "");
    EXPECT_EQ(cache_folder("/mine", 0.5).bytes, std::uint64_t{1} << 29);
  }
  const Variable relative("XDG_CACHE_HOME", "caches");
  EXPECT_EQ(cache_folder().path, "/home/anna/.cache/penstock");
  const Variable none("HOME", nullptr);
  EXPECT_EQ(cache_folder().path, "");
}

}  // namespace
}  // namespace penstock::runtime
