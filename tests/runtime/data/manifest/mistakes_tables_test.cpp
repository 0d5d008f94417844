#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/runtime/corpus_mistakes.h"

namespace penstock::runtime {
namespace {

using test::CorpusFiles, test::expect_accepted, test::expect_refused, test::in_utf16,
    test::lfs_pointer, test::sound_bytes, test::web_page;

/// Tests the likeliest mistakes with tables: Common Voice, FLEURS, VoxPopuli and anybody's.
class TableMistakes : public testing::Test {
 protected:
  static constexpr const char* kCommonVoice =
      "client_id\tpath\tsentence_id\tsentence\tlocale\tsegment\n";
  static constexpr const char* kRow = "1\ta.wav\t9\tHallo\tde\t\n";
  static CorpusFiles common_voice() {
    return {{"cv/de/clips/a.wav", sound_bytes()},
            {"cv/de/train.tsv", std::string(kCommonVoice) + kRow},
            {"cv/de/dev.tsv", std::string(kCommonVoice) + kRow}};
  }
  static CorpusFiles train(const std::string& text) { return {{"cv/de/train.tsv", text}}; }

  static CorpusFiles fleurs(const std::string& file = "100.wav") {
    return {{"en_us/audio/train/100.wav", sound_bytes()},
            {"en_us/train.tsv", "903\t" + file + "\tRaw.\ttext\tt e x t\t16000\tMALE\n"}};
  }

  static constexpr const char* kVoxpopuli = "id\traw_text\tnormalized_text\tspeaker_id\tsplit\n";
  static CorpusFiles voxpopuli() {
    return {{"v/en/2010/a.wav", sound_bytes()},
            {"v/en/asr_train.tsv", std::string(kVoxpopuli) + "a\tA!\ta b\t1\ttrain\n"}};
  }
  static CorpusFiles table(const std::string& text) {
    return {{"t/a.wav", sound_bytes()}, {"t/t.csv", text}};
  }
  static std::string with_commas(std::string text) {
    std::ranges::replace(text, '\t', ',');
    return text;
  }
};

TEST_F(TableMistakes, CommonVoiceWithNamesThatAreNoTables) {
  expect_refused(
      common_voice(),
      {{"cv-corpus-de.tar.gz",
        {"is a compressed archive: unpack it, by tar -xf "},
        {{"cv-corpus-de.tar.gz", "\x1f\x8b"}}},
       {"cv", {"Of its lists, name a single one, such as ", "cv/de/train.tsv"}},
       {"cv/de", {"Of its lists, name a single one, such as ", "cv/de/train.tsv"}},
       {"cv/de/clips",
        {"has 1 recording, but no transcripts that are known. Name what lists its recordings, "
         "perhaps ",
         "cv/de/train.tsv"}},
       {"cv/de/Train.tsv", {"no such file or folder; did you mean train.tsv?"}},
       {"cv/fr/train.tsv", {"no such file or folder: there is no fr in ", "/cv"}},
       {"cv/de/invalidated.tsv",
        {"has recordings that listeners rejected. Of Common Voice's tables, name train.tsv"},
        {{"cv/de/invalidated.tsv", std::string(kCommonVoice) + kRow}}},
       {"cv/de/clip_durations.tsv",
        {"Of Common Voice's tables, name train.tsv"},
        {{"cv/de/clip_durations.tsv", "clip\tduration[ms]\na.mp3\t4500\n"}}},
       {"cv/de/train.csv",
        {"its columns are separated by tabs, not by commas: name it train.tsv"},
        {{"cv/de/train.csv", std::string(kCommonVoice) + kRow}}}});
}

TEST_F(TableMistakes, CommonVoiceWithFilesThatAreWrong) {
  const std::string row = kRow, head = kCommonVoice;
  expect_refused(
      common_voice(),
      {{"cv/de/train.tsv",
        {"train.tsv:2: ", "cv/de/clips/a.wav: no such file, nor is there a folder ", "cv/de/clips"},
        {},
        {"cv/de/clips"}},
       {"cv/de/train.tsv",
        {"train.tsv:3: ", "cv/de/clips/b.wav: no such file"},
        train(head + row + "1\tb.wav\t9\tHallo\tde\t\n")},
       {"cv/de/train.tsv",
        {"its first line has 6 fields, \"1\", \"a.wav\"",
         "and names no column of recordings: name it there, such as path"},
        train(row)},
       {"cv/de/train.tsv",
        {"train.tsv:3: names the columns a second time: remove the line, which joining tables by "
         "cat leaves"},
        train(head + row + head + row)},
       {"cv/de/train.tsv",
        {"train.tsv:3: has 7 fields, but the first line names 6: a sentence may have a tab"},
        train(head + row + "1\ta.wav\t9\tHal\tlo\tde\t\n")},
       {"cv/de/train.tsv",
        {"train.tsv:3: has no path or no sentence"},
        train(head + row + "1\ta.wav\t9")},
       {"cv/de/train.tsv",
        {"its columns are separated by \",\", not by tabs: name it train.csv"},
        train(with_commas(head + row))},
       {"cv/de/train.tsv",
        {"train.tsv: is text of UTF-16, not UTF-8"},
        train(in_utf16(head + row))},
       {"cv/de/train.tsv",
        {"train.tsv:2: its text is not UTF-8 at byte 4"},
        train(head + "1\ta.wav\t9\tHall\xf6\tde\t\n")},
       {"cv/de/train.tsv",
        {"train.tsv: is a pointer of Git LFS, not the file"},
        train(test::lfs_pointer())},
       {"cv/de/train.tsv",
        {"train.tsv: is a web page (\"404 Not Found\")"},
        train(test::web_page())},
       {"cv/de/train.tsv", {"holds no utterances"}, train(head)},
       {"cv/de/train.tsv",
        {"clips/a.wav: not audio that libsndfile can read: it is a web page"},
        {{"cv/de/clips/a.wav", web_page()}}}});
}

TEST_F(TableMistakes, CommonVoiceMayBeConverted) {
  CorpusFiles corpus = common_voice();
  corpus["cv/de/train.tsv"] =
      "\xef\xbb\xbf" + std::string(kCommonVoice) + "1\ta.mp3\t9\tHallo\tde\t\r\n";
  expect_accepted(corpus, "cv/de/train.tsv", 1);
}

/// Editors remove the tab before an empty last column.
TEST_F(TableMistakes, CommonVoiceMayLackItsLastFields) {
  CorpusFiles corpus = common_voice();
  corpus["cv/de/train.tsv"] =
      std::string(kCommonVoice) + "1\ta.wav\t9\tHallo\tde\n1\ta.wav\t9\tHallo\n";
  expect_accepted(corpus, "cv/de/train.tsv", 2);
}

/// The name invalidated.tsv alone says nothing of a table of another corpus.
TEST_F(TableMistakes, InvalidatedTablesOfOthersAreRead) {
  expect_accepted({{"t/a.wav", sound_bytes()}, {"t/invalidated.tsv", "a.wav\thello\n"}},
                  "t/invalidated.tsv", 1);
}

TEST_F(TableMistakes, FleursWithNamesThatAreNoTables) {
  expect_refused(fleurs(), {{"en_us",
                             {"Of its lists, name a single one, such as ", "en_us/train.tsv"},
                             {{"en_us/audio/train.tar.gz", "\x1f\x8b"}},
                             {"en_us/audio/train"}},
                            {"en_us/audio/train",
                             {"has 1 recording, but no transcripts that are known. Name what lists "
                              "its recordings, perhaps ",
                              "en_us/train.tsv"}},
                            {"en_us/audio/train.tar.gz",
                             {"is a compressed archive: unpack it, by tar -xf "},
                             {{"en_us/audio/train.tar.gz", "\x1f\x8b"}}},
                            {"en_US/train.tsv", {"there is no en_US in ", "; did you mean en_us?"}},
                            {"en_us/validation.tsv", {"no such file or folder"}}});
}

TEST_F(TableMistakes, FleursWithFilesThatAreWrong) {
  const std::string row = "903\t100.wav\tRaw.\ttext\tt e x t\t16000\tMALE\n";
  const auto said = [](const std::string& text, std::vector<std::string> parts) {
    return test::Mistake{"en_us/train.tsv", std::move(parts), {{"en_us/train.tsv", text}}};
  };
  expect_refused(
      fleurs(),
      {{"en_us/train.tsv",
        {"its first recording is neither ", "unpack audio/train.tar.gz there, by tar -xzf"},
        {},
        {"en_us/audio"}},
       said(row + "903\t101.wav\tRaw.\ttext\tt e x t\t16000\tMALE\n",
            {"train.tsv:2: ", "101.wav: no such file"}),
       said(row + "903\t100.wav\tRaw.\tte", {"train.tsv:2: has 4 fields, not the 7 of FLEURS"}),
       said(row + "903\t100.wav\tRaw.\ttext\tt e x t\tlong\tMALE\n",
            {"train.tsv:2: its number of samples \"long\""}),
       said(with_commas(row),
            {"its columns are separated by \",\", not by tabs: name it train.csv"}),
       said(lfs_pointer(), {"train.tsv: is a pointer of Git LFS"}),
       said(in_utf16(row), {"train.tsv: is text of UTF-16"}),
       {"en_us/train.tsv",
        {"100.wav: not audio that libsndfile can read: it is a pointer of Git LFS"},
        {{"en_us/audio/train/100.wav", lfs_pointer()}}}});
  CorpusFiles windows = fleurs();
  windows["en_us/train.tsv"] =
      "\xef\xbb\xbf"
      "903\t100.wav\tRaw.\ttext\tt e x t\t16000\tMALE\r\n";
  expect_accepted(windows, "en_us/train.tsv", 1);
}

TEST_F(TableMistakes, VoxpopuliWithItsFilesAmiss) {
  const std::string head = kVoxpopuli, row = "a\tA!\ta b\t1\ttrain\n";
  const auto said = [](const std::string& text, std::vector<std::string> parts) {
    return test::Mistake{"v/en/asr_train.tsv", std::move(parts), {{"v/en/asr_train.tsv", text}}};
  };
  expect_refused(
      voxpopuli(),
      {{"v/en", {"Of its lists, name a single one, such as ", "v/en/asr_train.tsv"}},
       {"v/en/2010", {"Name what lists its recordings, perhaps ", "v/en/asr_train.tsv"}},
       {"v/en/asr_test.tsv", {"no such file or folder"}},
       {"v/asr_en.tsv.gz",
        {"has VoxPopuli's annotations of whole sessions: cut these"},
        {{"v/asr_en.tsv.gz", "session_id|id_|original_text\n"}}},
       {"v/en/asr_train.tsv",
        {"there are no recordings below ", "v/en: unpack them there"},
        {},
        {"v/en/2010"}},
       said(head + row + "b\tB!\tb\t1\ttrain\n",
            {"asr_train.tsv:3: has no recording b.* among the 1 recording below "}),
       {"v/en/asr_train.tsv",
        {"asr_train.tsv:2: has two recordings, ", "leave one there"},
        {{"v/en/2011/a.ogg", ""}}},
       said(head + row + head, {"asr_train.tsv:3: names the columns a second time"}),
       said(head + row + "a\tA!\ta", {"asr_train.tsv:3: has 3 fields, but the first line names 5"}),
       said(row, {"its first line has 5 fields, \"a\", \"A!\"", "names no column of recordings"}),
       said(web_page(), {"asr_train.tsv: is a web page"}),
       said(head + "a\tA!\t\xe9t\xe9\t1\ttrain\n",
            {"asr_train.tsv:2: its text is not UTF-8 at byte 0"}),
       {"v/en/asr_train.tsv",
        {"a.wav: not audio that libsndfile can read: it is a web page"},
        {{"v/en/2010/a.wav", web_page()}}}});
  CorpusFiles windows = voxpopuli();
  windows["v/en/asr_train.tsv"] =
      "\xef\xbb\xbf"
      "id\tnormalized_text\r\na\ta b\r\n";
  expect_accepted(windows, "v/en/asr_train.tsv", 1);
}

TEST_F(TableMistakes, TablesOfOtherForms) {
  const auto said = [](const std::string& text, std::vector<std::string> parts) {
    return test::Mistake{"t/t.csv", std::move(parts), {{"t/t.csv", text}}};
  };
  expect_refused(
      table(""),
      {said("path;text\na.wav;hello\n",
            {"t.csv: its columns are separated by \";\", not by commas: write commas between "
             "columns, and put texts with commas in quotes"}),
       said("path\ttext\na.wav\thello\n",
            {"its columns are separated by tabs, not by commas: name it t.tsv"}),
       said("a|hello\n", {"its columns are separated by \"|\", not by commas"}),
       said("hello,a.wav\n", {"has the text before the recording: name the columns in a first "
                              "line, by sed -i '1i text,path' "}),
       said("recording,speaker,words\na.wav,1,hello\n",
            {"its first line has 3 fields, \"recording\", \"speaker\", \"words\", and names no "
             "column of recordings: name it there, such as path, and put texts with commas in "
             "quotes"}),
       said("path,speaker\na.wav,1\n",
            {"and names no column of texts: name it there, such as text"}),
       said("a.wav,hello\na.wav,hello, you\n",
            {"t.csv:2: has 3 fields, not 2: put a text with a comma in quotes"}),
       said("path,text\na.wav,\"hello\n", {"t.csv:2: a quote is opened and not closed"}),
       said("path,text\na.wav,hi\npath,text\n", {"t.csv:3: names the columns a second time"}),
       said("path,text,offset,duration\na.wav,hello,100,500\n",
            {"t.csv:2: ",
             "a.wav: its offset is 100 s, but the recording lasts 1 s; are its times "
             "milliseconds?"}),
       said("path,text,offset,duration\na.wav,hello,0.5,-1\n",
            {"t.csv:2: its duration -1 is not a number above 0"}),
       said("/home/bob/a.wav,hello\n",
            {"t.csv:1: /home/bob/a.wav: no such file, nor is there a folder /home/bob"}),
       said(in_utf16("a.wav,hello\n"), {"t.csv: is text of UTF-16"}),
       said("a.wav,h\xe9llo\n", {"t.csv:1: its text is not UTF-8 at byte 1, \"h\xef\xbf\xbd\""}),
       said("PK\x03\x04 sheet", {"t.csv: is a zip archive, as Excel's tables are too"})});
  for (const char* text :
       {"Path,Text\na.wav,hello\n", "\xef\xbb\xbf\"path\",\"text\"\r\n\"a.wav\",\"hi, you\"\r\n",
        "a.wav,file\n", "text,path\nhello,a.wav\n"})
    expect_accepted(table(text), "t/t.csv", 1);
}

}  // namespace
}  // namespace penstock::runtime
