#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

/// Tests what goes wrong with downloads of LibriSpeech and Common Voice. ManifestTest has the rest.
class CorporaTest : public testing::Test, protected test::ManifestFolder {
 protected:
  static constexpr const char* kColumns =
      "client_id\tpath\tsentence_id\tsentence\tsentence_domain\tup_votes\tlocale\tsegment\n";
  std::string refusal(const std::string& name) const {
    return message_of<DataError>([&] { read(in(name)); });
  }
};

TEST_F(CorporaTest, LibrispeechMayBeConverted) {
  for (const std::string extension : {"flac", "wav", "opus", "ogg", "mp3"}) {
    const std::string folder = "clean-" + extension + "/84/12/84-12";
    put(folder + ".trans.txt", "84-12-0000 GO DO YOU HEAR\n84-12-0001 BUT IN LESS\n");
    put(folder + "-0000." + extension, "");
    const auto entries = read(in("clean-" + extension));
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].audio, in(folder + "-0000." + extension));
    EXPECT_EQ(entries[1].audio, in(folder + "-0001." + extension));
  }
}

TEST_F(CorporaTest, LibrispeechsBadLinesAreNamed) {
  put("clean/84/12/84-12.trans.txt", "84-12-0000\n 84-12-0001 TEXT\n84-12-0002\tTEXT\n84-1 A\n");
  expect_parts(refusal("clean"),
               {"3 faults", "84-12.trans.txt:1: is not an utterance's name, a space and its text",
                "84-12.trans.txt:2: is not", "84-12.trans.txt:3: is not"});
}

TEST_F(CorporaTest, CommonVoiceMayLackItsFirstRecording) {
  put("cv/de/clips/b.wav", "");
  put("cv/fr/b.mp3", "");
  for (const std::string table : {"cv/de/train.tsv", "cv/fr/train.tsv"})
    put(table, std::string(kColumns) + "1\ta.mp3\t9\tA\tx\t2\tde\t\n1\tb.mp3\t9\tB\tx\t2\tde\t\n" +
                   "1\tc.mp3\t9\tC\tx\t2\tde\t\n");
  const auto converted = read(in("cv/de/train.tsv"));
  EXPECT_EQ(converted[0].audio, in("cv/de/clips/a.mp3"));
  EXPECT_EQ(converted[1].audio, in("cv/de/clips/b.wav"));
  EXPECT_EQ(converted[2].audio, in("cv/de/clips/c.wav"));
  const auto beside = read(in("cv/fr/train.tsv"));
  EXPECT_EQ(beside[1].audio, in("cv/fr/b.mp3"));
  EXPECT_EQ(beside[2].audio, in("cv/fr/c.mp3"));
}

TEST_F(CorporaTest, CommonVoicesOtherTablesAreRefused) {
  put("cv/de/clips/a.mp3", "");
  const char* const advice =
      ": is no list of recordings and texts. Of Common Voice's tables, name train.tsv, dev.tsv, "
      "test.tsv, validated.tsv or other.tsv";
  expect_parts(error_message("cv/de/clip_durations.tsv", "clip\tduration[ms]\na.mp3\t4500\n"),
               {"clip_durations.tsv", advice});
  expect_parts(error_message("cv/de/reported.tsv", "sentence_id\tsentence\tlocale\treason\n"),
               {"reported.tsv", advice});
  expect_parts(error_message("cv/de/validated_sentences.tsv", "sentence_id\tsentence\tsource\n"),
               {"validated_sentences.tsv", advice});
}

TEST_F(CorporaTest, CommonVoicesFolderSaysWhichTableToName) {
  put("cv/de/clips/a.mp3", "");
  put("cv/de/train.tsv", kColumns);
  expect_parts(refusal("cv/de"), {"Of its lists, name a single one, such as ", "train.tsv"});
}

TEST_F(CorporaTest, CommonVoicesBadLinesAreNamed) {
  put("cv/de/clips/a.mp3", "");
  expect_parts(error_message("cv/de/train.tsv", std::string(kColumns) +
                                                    "1\ta.mp3\t9\t\"Hallo\tx\t2\tde\t\n"
                                                    "1\ta.mp3\n1\t\t9\tHallo\tx\t2\tde\t\n"),
               {"2 faults", "train.tsv:3: has no path or no sentence",
                "train.tsv:4: has no path or no sentence"});
}

}  // namespace
}  // namespace penstock::runtime
