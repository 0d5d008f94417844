#include "runtime/data/audio/audio_file.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(FileRange, ReadsAsFarAsItGoes) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "digits";
  test::write_file(file, "0123456789");
  FileRange range(file);
  EXPECT_EQ(range.size(), 10);
  EXPECT_EQ(range.read(7, 5), "789");
  EXPECT_EQ(range.read(11, 5), "");
  range.narrow(2, 5);
  EXPECT_EQ(range.size(), 5);
  EXPECT_EQ(range.read(0, 99), "23456");
  std::array<char, 4> bytes = {};
  EXPECT_EQ(range.read(3, bytes), 2);
  EXPECT_EQ(bytes, (std::array<char, 4>{'5', '6', 0, 0}));
  range.narrow(1, 99);
  EXPECT_EQ(range.read(0, 99), "3456");
}

TEST(FileRange, NamesWhatIsNoFile) {
  const test::TemporaryFolder folder;
  const auto gone = folder.path() / "gone";
  EXPECT_EQ(test::message_of<DataError>([&] { FileRange{gone}; }),
            gone.string() + ": no such file");
  EXPECT_EQ(test::message_of<DataError>([&] { FileRange{folder.path()}; }),
            folder.path().string() + ": a folder, not a file");
}

}  // namespace
}  // namespace penstock::runtime
