#include "runtime/recognise/logits_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "comm/threads.h"
#include "runtime/checkpoint/safetensors/safetensors.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr std::int64_t kClasses = 3;

/// Recording i of the whole list has i % 4 frames.
std::vector<float> logits_of(std::size_t i) {
  std::vector<float> logits;
  for (std::size_t k = 0; k < i % 4 * kClasses; ++k)
    logits.push_back(static_cast<float>(100 * i + k));
  return logits;
}

/// Written by so many ranks, which keep recordings in turns and backwards, by windows.
void write_windows(const std::filesystem::path& path, int ranks,
                   const std::vector<std::size_t>& windows) {
  comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
    LogitsFile file;
    std::size_t first = 0;
    for (const std::size_t window : windows) {
      for (std::size_t i = window; i-- > 0;)
        if (static_cast<int>(i) % ranks == world.rank())
          file.keep(i, logits_of(first + i), kClasses);
      file.collect(world, window);
      first += window;
    }
    EXPECT_FALSE(file.empty());
    if (world.rank() == 0) file.write(path);
  });
}

TEST(LogitsFile, HoldsRecordingsInTheirOrder) {
  const test::TemporaryFolder folder;
  for (const int ranks : {1, 2, 3}) {
    const std::filesystem::path path = folder.path() / "logits";
    write_windows(path, ranks, {4, 1, 0, 6});
    const SafetensorsFile file(path);
    ASSERT_EQ(file.entries().size(), 11u);
    for (std::size_t i = 0; i < 11; ++i) {
      const SafetensorsEntry& entry = file.entry(fmt::format("{:05}", i));
      EXPECT_EQ(entry.shape, (std::vector<std::uint64_t>{i % 4, kClasses}));
      const std::vector<float> expected = logits_of(i);
      const auto bytes = file.bytes(entry);
      ASSERT_EQ(bytes.size(), sizeof(float) * expected.size());
      if (!expected.empty()) {
        EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0);
      }
    }
  }
}

TEST(LogitsFile, IsEmptyUntilARankKeepsSome) {
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    LogitsFile file;
    file.collect(world, 2);
    EXPECT_TRUE(file.empty());
    if (world.rank() == 1) file.keep(0, std::vector<float>{1, 2, 3}, kClasses);
    file.collect(world, 1);
    EXPECT_FALSE(file.empty());
  });
}

TEST(LogitsFile, LeavesTheOldFileWhereItCannotWrite) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(write_windows(folder.path() / "gone" / "logits", 1, {3}), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "gone"));
}

}  // namespace
}  // namespace penstock::runtime
