#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

/// Lays out a language as huggingface.co/datasets/google/fleurs has it in data/en_us.
class FleursTest : public testing::Test, protected test::ManifestFolder {
 protected:
  static std::string row(const std::string& file, const std::string& samples = "108800") {
    return "903\t" + file + "\tA \"Raw\" Text.\ta raw text \ta | r a w | t e x t |\t" + samples +
           "\tMALE\n";
  }
};

TEST_F(FleursTest, TablesHaveNormalisedTexts) {
  for (const std::string folder :
       {"1/en_us/audio/train/", "2/en_us/train/", "3/en_us/audio/", "4/en_us/"}) {
    put(folder + "100.wav", "");
    const std::string table = folder.substr(0, 1) + "/en_us/train.tsv";
    const auto entries = read(put(table, row("100.wav") + row("101.wav", "16000")));
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].audio, in(folder + "100.wav"));
    EXPECT_EQ(entries[0].text, "a raw text");
    EXPECT_EQ(entries[0].duration, 6.8);
    EXPECT_EQ(entries[0].where, "train.tsv:1");
    EXPECT_EQ(entries[1].duration, 1);
    EXPECT_EQ(name_of(manifest_format(in(table))), "FLEURS TSV");
  }
}

TEST_F(FleursTest, RecordingsMayLieWhereLhotsePutsThem) {
  put("en_us/dev/100.wav", "");
  const auto entries = read(put("metadata/en_us/dev.tsv", row("100.wav")));
  EXPECT_EQ(entries[0].audio.lexically_normal(), in("en_us/dev/100.wav"));
}

/// An index is written beside the table, which must not look like a change of the corpus.
TEST_F(FleursTest, TheFolderOfRecordingsIsASource) {
  const auto sources = [&](const std::string& table) {
    Faults faults;
    ManifestSink sink{[](const ManifestEntry&) {}};
    read_manifest(put(table, row("100.wav")), sink, faults);
    return sink.sources;
  };
  put("1/audio/train/100.wav", "");
  put("2/100.wav", "");
  EXPECT_EQ(sources("1/train.tsv"), (std::vector{in("1/train.tsv"), in("1/audio/train")}));
  EXPECT_EQ(sources("2/train.tsv"), (std::vector{in("2/train.tsv")}));
}

/// The likeliest mistakes, and what is said of them.
TEST_F(FleursTest, SaysWhatToDoAboutMistakes) {
  expect_parts(error_message("en_us/train.tsv", row("100.wav")),
               {"train.tsv: its first recording is neither ", "en_us/audio/train/100.wav nor ",
                "en_us/train/100.wav: unpack audio/train.tar.gz there, by tar -xzf"});
  put("en_us/audio/train/100.wav", "");
  expect_parts(
      error_message("en_us/train.tsv", row("100.wav") + "903\t101.wav\tText\ttext\t108800\tMALE\n" +
                                           row("") + row("102.wav", "0") + row("103.wav", "x") +
                                           row("104.wav", "99999999999999999999")),
      {"5 faults",
       "train.tsv:2: has 6 fields, not the 7 of FLEURS: sentence, recording, text as "
       "written, text, characters, samples and gender",
       "train.tsv:3: names no recording",
       "train.tsv:4: its number of samples \"0\" is no "
       "whole number above 0",
       "train.tsv:5: its number of samples \"x\"", "train.tsv:6: its number of samples \"9999"});
}

}  // namespace
}  // namespace penstock::runtime
