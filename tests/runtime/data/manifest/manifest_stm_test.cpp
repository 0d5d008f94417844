#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

/// Lays out a set as TEDLIUM_release-3/legacy has it.
class StmTest : public testing::Test, protected test::ManifestFolder {
 protected:
  void put_talk(const std::string& set, const std::string& talk, const std::string& lines) const {
    put(set + "/stm/" + talk + ".stm", lines);
    put(set + "/sph/" + talk + ".sph", "");
  }
  std::string refusal(const std::string& folder) const {
    return message_of<DataError>([&] { read(in(folder)); });
  }
};

TEST_F(StmTest, SegmentsHaveTimesAndTexts) {
  put_talk("test", "b",
           "b 1 b 0 3.5 <NA> ignore_time_segment_in_scoring\n;; a comment\n"
           "b 1 b 3.5 5.25 <NA> we 're <unk> here\n");
  put_talk("test", "c", "c 1 c 0 1 <NA> IGNORE_TIME_SEGMENT_IN_SCORING\n");
  put_talk("test", "a", "a 1 a 1 2 <o,f0,male> first\n");
  const auto entries = read(in("test"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].audio, in("test/sph/a.sph"));
  EXPECT_EQ(entries[0].text, "first");
  EXPECT_EQ(entries[1].audio, in("test/sph/b.sph"));
  EXPECT_EQ(entries[1].text, "we're here");
  EXPECT_EQ(entries[1].offset, 3.5);
  EXPECT_EQ(entries[1].duration, 1.75);
  EXPECT_EQ(entries[1].where, "b.stm:3");
  EXPECT_EQ(name_of(manifest_format(in("test"))), "folder of STM files");
}

TEST_F(StmTest, OneFileLeavesOtherLayoutsAlone) {
  put("pairs/a.wav", "");
  put("pairs/a.txt", "hello");
  put("pairs/score/all.stm", "x 1 x 0 1 <NA> x\n");
  EXPECT_EQ(name_of(manifest_format(in("pairs"))), "folder of recordings and texts");
  EXPECT_EQ(read(in("pairs")).size(), 1u);
  put("tars/0.tar", "");
  put("tars/all.stm", "x 1 x 0 1 <NA> x\n");
  EXPECT_EQ(name_of(manifest_format(in("tars"))), "WebDataset tars");
  put_talk("talks", "a", "a 1 a 1 2 <NA> x\n");
  put("talks/README.txt", "Read me.");
  EXPECT_EQ(name_of(manifest_format(in("talks"))), "folder of STM files");
}

/// The likeliest mistakes, and what is said of them.
TEST_F(StmTest, SaysWhatToDoAboutMistakes) {
  put_talk("legacy/dev", "a", "a 1 a 1 2 <NA> x\n");
  put_talk("legacy/test", "b", "b 1 b 1 2 <NA> x\n");
  expect_parts(refusal("legacy"), {"legacy: has .stm files in several folders, such as ",
                                   "legacy/dev/stm and ", "legacy/test/stm: name a single set"});
  expect_parts(refusal("legacy/dev/stm/a.stm"),
               {"a.stm: is one recording's STM: name the folder of its set"});
  expect_parts(refusal("legacy/dev/stm"),
               {"stm: there are no recordings below ",
                "unpack them there, or name the folder that has texts and recordings"});
  put("legacy/dev/wav/a.wav", "");
  expect_parts(refusal("legacy/dev"), {"1 faults", "a.stm:1: has two recordings, ",
                                       "sph/a.sph and ", "wav/a.wav: leave one there"});
  put_talk("call", "c",
           "c 1 x 1 2 <NA> x\nc 2 y 1 2 <NA> x\nc B y 1 2 <NA> x\nc 1 y 2 1 <NA> x\n"
           "c 1\nc 1 x 1 2 <NA> { um / uh }\n");
  expect_parts(refusal("call"),
               {"5 faults",
                "c.stm:2: is of channel 2, but penstock mixes channels: split them into "
                "files",
                "c.stm:3: is of channel B", "c.stm:4: begins at \"2\" s and ends at \"1\" s",
                "c.stm:5: is not a recording, channel, speaker, begin, end, labels and text",
                "c.stm:6: leaves a choice, { um / uh }, but a text is one"});
}

}  // namespace
}  // namespace penstock::runtime
