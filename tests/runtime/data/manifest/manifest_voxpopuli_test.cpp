#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

/// Lays out a language as voxpopuli.get_asr_data writes it to transcribed_data/en.
class VoxpopuliTest : public testing::Test, protected test::ManifestFolder {
 protected:
  static constexpr const char* kHeader =
      "id\traw_text\tnormalized_text\tspeaker_id\tsplit\tgender\n";
  static std::string row(const std::string& id) {
    return id + "\tMr President!\tmr president \t125\ttrain\tfemale\n";
  }
};

TEST_F(VoxpopuliTest, RecordingsAreFoundByTheirNames) {
  const std::string first = "20100210-0900-PLENARY-11-en_20100210-16:01:58_4", second = "2012-x_0";
  put("en/2010/" + first + ".ogg", "");
  put("en/train/part_0/" + second + ".wav", "");
  const auto entries = read(put("en/asr_train.tsv", kHeader + row(first) + row(second)));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].audio, in("en/2010/" + first + ".ogg"));
  EXPECT_EQ(entries[0].text, "mr president");
  EXPECT_EQ(entries[0].where, "asr_train.tsv:2");
  EXPECT_EQ(entries[1].audio, in("en/train/part_0/" + second + ".wav"));
  EXPECT_EQ(name_of(manifest_format(in("en/asr_train.tsv"))), "VoxPopuli TSV");
}

/// The tables of Hugging Face have two columns more.
TEST_F(VoxpopuliTest, ColumnsAreNamed) {
  put("en/a.ogg", "");
  const auto entries = read(put("en/asr_dev.tsv",
                                "normalized_text\tis_gold_transcript\taccent\tid\n"
                                "hello\tTrue\tNone\ta\n"));
  EXPECT_EQ(entries[0].text, "hello");
  EXPECT_EQ(entries[0].audio, in("en/a.ogg"));
}

/// Such a table names its recordings itself.
TEST_F(VoxpopuliTest, TablesWithRecordingsAreNone) {
  for (const std::string column : {"path", "audio", "wav_filename"}) {
    const auto entries = read(put("own.tsv", "id\t" + column +
                                                 "\tsentence\tnormalized_text\n"
                                                 "a\tb.wav\tHello!\thello\n"));
    EXPECT_EQ(name_of(manifest_format(in("own.tsv"))), "table of recordings and texts");
    ASSERT_EQ(entries.size(), 1u) << column;
    EXPECT_EQ(entries[0].audio, in("b.wav"));
    EXPECT_EQ(entries[0].text, "Hello!");
  }
}

/// An index is written beside the table, which must not look like a change of the corpus.
TEST_F(VoxpopuliTest, ItsOwnFolderIsNoSource) {
  put("en/2010/a.ogg", "");
  Faults faults;
  ManifestSink sink{[](const ManifestEntry&) {}};
  read_manifest(put("en/asr_train.tsv", kHeader + row("a")), sink, faults);
  EXPECT_EQ(sink.sources, (std::vector{in("en/asr_train.tsv"), in("en/2010")}));
}

/// The likeliest mistakes, and what is said of them.
TEST_F(VoxpopuliTest, SaysWhatToDoAboutMistakes) {
  put("en/2010/a.ogg", "");
  put("en/2011/a.wav", "");
  put("en/2011/b.ogg", "");
  expect_parts(
      error_message("en/asr_train.tsv", kHeader + row("c") + row("a") + row("b") + "b\tB\n"),
      {"3 faults", "asr_train.tsv:2: has no recording c.* among the 2 recordings below ",
       "/en: unpack them there", "asr_train.tsv:3: has two recordings, ", "en/2010/a.ogg",
       "en/2011/a.wav: leave one there",
       "asr_train.tsv:5: has 2 fields, but the first line names 6"});
  expect_parts(
      error_message("asr_en.tsv.gz", "session_id|id_|original_text|normed_text\nx|1|A|a\n"),
      {"asr_en.tsv.gz: has VoxPopuli's annotations of whole sessions: cut these, by python "
       "-m voxpopuli.get_asr_data, and name its asr_train.tsv"});
}

}  // namespace
}  // namespace penstock::runtime
