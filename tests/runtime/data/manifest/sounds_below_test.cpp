#include "runtime/data/manifest/sounds_below.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of;

class SoundsBelowTest : public testing::Test, protected test::ManifestFolder {};

TEST_F(SoundsBelowTest, AreFoundByTheirNames) {
  put("f/a.flac", "");
  put("f/deep/down/b.2.WAV", "");
  put("f/b.txt", "");
  put("f/twice.ogg", "");
  put("f/deep/twice.wav", "");
  Faults faults;
  std::vector<std::filesystem::path> sources;
  TarListings tars(sources, nullptr);
  std::size_t skipped = 0;
  const ManifestReading reading{in("f"), {}, faults, sources, tars, skipped};
  const SoundsBelow sounds(reading, in("f"));
  EXPECT_EQ(sounds.named("a"), in("f/a.flac"));
  EXPECT_EQ(sounds.named("b.2"), in("f/deep/down/b.2.WAV"));
  expect_parts(message_of<DataError>([&] { (void)sounds.named("b"); }),
               {"has no recording b.* among the 3 recordings below "});
  expect_parts(message_of<DataError>([&] { (void)sounds.named("twice"); }),
               {"has two recordings, ", "deep/twice.wav and ", "twice.ogg: leave one there"});
  EXPECT_EQ(sources, (std::vector{in("f"), in("f/deep"), in("f/deep/down")}));
}

/// A manifest that was read before may need the folder.
TEST_F(SoundsBelowTest, LeaveEarlierSourcesAlone) {
  put("f/deep/a.flac", "");
  Faults faults;
  std::vector<std::filesystem::path> sources{in("f"), in("g")};
  TarListings tars(sources, nullptr);
  std::size_t skipped = 0;
  const ManifestReading reading{in("f/table.tsv"), {}, faults, sources, tars, skipped};
  EXPECT_EQ(SoundsBelow(reading, in("f")).named("a"), in("f/deep/a.flac"));
  EXPECT_EQ(sources, (std::vector{in("f"), in("g"), in("f/deep")}));
}

}  // namespace
}  // namespace penstock::runtime
