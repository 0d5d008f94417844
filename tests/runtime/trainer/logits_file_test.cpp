#include "runtime/trainer/logits_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "comm/threads.h"
#include "runtime/checkpoint/safetensors.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// Written by so many ranks, of which the last has the logits, the second recording's none.
void write_three(const std::filesystem::path& path, int ranks) {
  comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
    LogitsFile file(3);
    if (world.rank() == ranks - 1) {
      file.keep(2, std::vector<float>{7, 8, 9}, 3);
      file.keep(0, std::vector<float>{1, 2, 3, 4, 5, 6}, 3);
      file.keep(1, std::vector<float>{}, 3);
    }
    file.write(world, path);
  });
}

TEST(LogitsFile, HoldsRecordingsInTheirOrder) {
  const test::TemporaryFolder folder;
  for (const int ranks : {1, 2, 3}) {
    const std::filesystem::path path = folder.path() / "logits";
    write_three(path, ranks);
    const SafetensorsFile file(path);
    ASSERT_EQ(file.entries().size(), 3u);
    EXPECT_EQ(file.entry("00000").shape, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(file.entry("00001").shape, (std::vector<std::uint64_t>{0, 3}));
    std::vector<float> last(3);
    std::memcpy(last.data(), file.bytes(file.entry("00002")).data(), sizeof(float) * last.size());
    EXPECT_EQ(last, (std::vector<float>{7, 8, 9})) << ranks;
  }
}

TEST(LogitsFile, LeavesTheOldFileWhereItCannotWrite) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(write_three(folder.path() / "gone" / "logits", 1), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "gone"));
}

}  // namespace
}  // namespace penstock::runtime
