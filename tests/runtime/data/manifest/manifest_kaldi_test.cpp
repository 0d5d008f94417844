#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

class KaldiFolderTest : public testing::Test, protected test::ManifestFolder {
 protected:
  std::string refused() const {
    return message_of<DataError>([&] { read(in("train")); });
  }
};

TEST_F(KaldiFolderTest, HasAnUtteranceForEachText) {
  put("train/wav.scp", "b-2 /x/b 2.flac\na-1\ta.wav\n\nunused /x/u.wav\n");
  put("train/a.wav", "");
  put("train/text", "b-2 two  words\r\na-1 ONE\n");
  const auto entries = read(in("train"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].audio, in("train/a.wav"));
  EXPECT_EQ(entries[0].text, "ONE");
  EXPECT_EQ(entries[0].where, "text:2");
  EXPECT_EQ(entries[0].offset, std::nullopt);
  EXPECT_EQ(entries[1].audio, "/x/b 2.flac");
  EXPECT_EQ(entries[1].text, "two  words");
  EXPECT_EQ(name_of(manifest_format(in("train"))), "Kaldi folder");
}

TEST_F(KaldiFolderTest, MayNameLanguages) {
  put("train/wav.scp", "a /x/a.wav\nb /x/b.wav\n");
  put("train/text", "a one\nb two\n");
  put("train/utt2lang", "b de\n\nc\n");
  const auto entries = read(in("train"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].language, "");
  EXPECT_EQ(entries[1].language, "de");
}

TEST_F(KaldiFolderTest, MayCutRecordingsIntoSegments) {
  put("train/wav.scp", "call /x/call.wav\n");
  put("train/segments", "call-1 call 0.25 1.75\ncall-2 call 1.75 -1\n");
  put("train/text", "call-1 hello\ncall-2 good bye\n");
  const auto entries = read(in("train"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].offset, 0.25);
  EXPECT_EQ(entries[0].duration, 1.5);
  EXPECT_EQ(entries[1].audio, "/x/call.wav");
  EXPECT_EQ(entries[1].offset, 1.75);
  EXPECT_EQ(entries[1].duration, std::nullopt);
}

TEST_F(KaldiFolderTest, RunsNoCommandsAndSaysSo) {
  put("train/wav.scp",
      "a sph2pipe -f wav -p -c 1 a.sph |\nb feats.ark:17\nc\nd /x/d.wav\nd /x/e.wav\n");
  put("train/text", "a one\nd two\ne three\nf\n");
  expect_parts(refused(),
               {"7 faults",
                "wav.scp:1: is the command \"sph2pipe -f wav -p -c 1 a.sph |\", but penstock runs "
                "none: convert the recordings into files",
                "wav.scp:2: names a Kaldi archive, \"feats.ark:17\", but a sound file is needed",
                "wav.scp:3: has nothing after \"c\"", "wav.scp:5: names \"d\" a second time",
                "text:1: wav.scp has no recording \"a\" that can be used",
                "text:3: wav.scp has no recording \"e\"", "text:4: has nothing after \"f\""});
}

TEST_F(KaldiFolderTest, NamesSegmentsThatCannotBe) {
  put("train/wav.scp", "call /x/call.wav\n");
  put("train/segments",
      "1 call 0.25\n2 call 3 2\n3 call one 2\n4 tape 0 1\n5 call -0.5 1\n6 call 0 1\n8 call 0 1 "
      "2\n");
  put("train/text", "1 a\n2 a\n3 a\n4 a\n5 a\n7 a\n8 a\n");
  expect_parts(refused(),
               {"8 faults", "segments:1: is not an utterance, its recording, and",
                "segments:2: it begins at 3 s and ends at 2 s", "segments:3: is not",
                "text:4: wav.scp has no recording \"tape\"", "segments:5: it begins at -0.5 s",
                "text:6: segments has no utterance \"7\"",
                "segments:6: text has no utterance \"6\"", "segments:7: is not"});
}

TEST_F(KaldiFolderTest, NeedsTexts) {
  put("train/wav.scp", "a /x/a.wav\n");
  expect_parts(refused(), {"train/text: cannot be read"});
}

}  // namespace
}  // namespace penstock::runtime
