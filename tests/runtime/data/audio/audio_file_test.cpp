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

/// A SPHERE header whose samples take 2^66 bytes, which 64 bits do not hold.
TEST(MissingEnd, CountsBeyondTheLargestNumber) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "a.sph";
  std::string header =
      "NIST_1A\n   1024\nsample_count -i 9223372036854775807\nchannel_count -i 4\n"
      "sample_n_bytes -i 2\nend_head\n";
  header.resize(1024);
  test::write_file(file, header);
  EXPECT_EQ(missing_end(FileRange(file)),
            "its header promises 9223372036854775807 bytes of audio, but the file holds 0");
}

}  // namespace
}  // namespace penstock::runtime
