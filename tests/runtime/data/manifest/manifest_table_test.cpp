#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/manifest_folder.h"
#include "tests/support/system/process.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

class TableTest : public testing::Test, protected test::ManifestFolder {};

TEST_F(TableTest, HasRecordingsAndTexts) {
  const auto entries = read(put("two.csv",
                                "a/1.wav, hello there \r\n"
                                "\"b, c.wav\",\"say \"\"yes\"\", or no\"\n"
                                "3.wav,\n"));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].audio, in("a/1.wav"));
  EXPECT_EQ(entries[0].text, "hello there");
  EXPECT_EQ(entries[0].where, "two.csv:1");
  EXPECT_EQ(entries[1].audio, in("b, c.wav"));
  EXPECT_EQ(entries[1].text, "say \"yes\", or no");
  EXPECT_EQ(entries[2].text, "");
  const auto tabbed = read(put("two.tsv", "1.wav\tone, two\n"));
  EXPECT_EQ(tabbed[0].text, "one, two");
}

TEST_F(TableTest, MayNameItsColumns) {
  const auto entries = read(put("mozilla.csv",
                                "\xef\xbb\xbfwav_filename,wav_filesize,transcript\n"
                                "clips/1.wav,32044,hello\n"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].audio, in("clips/1.wav"));
  EXPECT_EQ(entries[0].text, "hello");
  const auto tabbed = read(put("named.tsv", "text\tspeaker\taudio\nhi\t7\t1.wav\n"));
  ASSERT_EQ(tabbed.size(), 1u);
  EXPECT_EQ(tabbed[0].audio, in("1.wav"));
  EXPECT_EQ(tabbed[0].text, "hi");
}

/// A column of another case counts only for what a table needs, and only without an exact one.
TEST_F(TableTest, PrefersColumnsOfExactNames) {
  const auto exact = read(put("exact.csv",
                              "Path,path,Sentence,text,Duration,Offset,Language\n"
                              "no.wav,1.wav,no,hello,4500,100,no\n"));
  ASSERT_EQ(exact.size(), 1u);
  EXPECT_EQ(exact[0].audio, in("1.wav"));
  EXPECT_EQ(exact[0].text, "hello");
  EXPECT_EQ(exact[0].duration, std::nullopt);
  EXPECT_EQ(exact[0].offset, std::nullopt);
  EXPECT_EQ(exact[0].language, "");
  const auto other = read(put("other.csv", "Transcript,Duration,File\nhello,4500,1.wav\n"));
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].audio, in("1.wav"));
  EXPECT_EQ(other[0].text, "hello");
}

/// A bad first row is left out as any other is, where data.bad_utterances says so.
TEST_F(TableTest, ReadsOnAfterABadFirstRow) {
  Faults faults;
  const auto entries = read_manifest(put("t.csv", "1.wav,hello, you\n2.wav,hello\n"), faults);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].audio, in("2.wav"));
  EXPECT_EQ(faults.size(), 1u);
  expect_parts(faults.listed(), {"t.csv:1: has 3 fields, not 2"});
}

TEST_F(TableTest, ShowsTheBeginningOfAForeignLine) {
  std::string line = "\xff" + std::string(58, 'x') + "é";
  for (int i = 0; i < 100000; ++i) line += ",field";
  const std::string message = error_message("long.csv", line + "\n");
  expect_parts(message, {"its first line has 100001 fields, \"\xef\xbf\xbdxxx",
                         "xx\", \"field\", \"field\", \"field\", \"field\", \"field\", …, and"});
  EXPECT_LT(message.size(), 1000u);
}

TEST_F(TableTest, NamesLinesThatAreNoRows) {
  expect_parts(
      error_message("bad.csv",
                    "1.wav,hello\n2.wav\n3.wav,hello, you\n4.wav,\"open\n,text\n5.wav,x\n"),
      {"4 faults", "bad.csv:2: has 1 field, not 2: put a text with a comma in quotes",
       "bad.csv:3: has 3 fields, not 2", "bad.csv:4: a quote is opened and not closed",
       "bad.csv:5: names no recording"});
  expect_parts(error_message("bad.tsv", "audio\tspeaker\ttext\n1.wav\thello\n"),
               {"bad.tsv:2: has 2 fields, not 3"});
}

TEST_F(TableTest, MayNameSegments) {
  const auto entries = read(put("cut.csv", "path,text,offset,duration\n1.wav,hello,2.5,0.75\n"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].offset, 2.5);
  EXPECT_EQ(entries[0].duration, 0.75);
  expect_parts(error_message("bad.csv",
                             "path,text,offset,duration\n1.wav,a,-1,1\n2.wav,b,0,0\n"
                             "3.wav,c,x,1\n4.wav,d,1,1 s\n"),
               {"4 faults", "bad.csv:2: its offset -1 is not a number from 0 on",
                "bad.csv:3: its duration 0 is not a number above 0", "bad.csv:4: its offset x",
                "bad.csv:5: its duration 1 s"});
}

TEST_F(TableTest, MayBeCompressed) {
  for (const std::string name : {"t.csv", "t.tsv"}) {
    const auto file = put(name, name == "t.csv" ? "1.wav,\"a, b\"\n" : "1.wav\ta, b\n");
    ASSERT_EQ(test::run_program({"gzip", "-kf", file.string()}).code, 0);
    const auto entries = read(file.string() + ".gz");
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].audio, in("1.wav"));
    EXPECT_EQ(entries[0].text, "a, b");
    EXPECT_EQ(entries[0].where, name + ".gz:1");
  }
}

TEST_F(TableTest, MayNameLanguages) {
  const auto entries = read(put("two.csv", "path,lang,text\n1.wav, de,hallo\n2.wav,,hello\n"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].language, "de");
  EXPECT_EQ(entries[1].language, "");
}

TEST_F(TableTest, QuotesOfTsvAreText) {
  EXPECT_EQ(read(put("quoted.tsv", "1.wav\t\"Hello, she said\n"))[0].text, "\"Hello, she said");
}

TEST_F(TableTest, OfPathsIsDeepspeechs) {
  put("a.txt", "hello");
  EXPECT_EQ(read(put("paths.csv", "a.wav,a.txt\n"))[0].text, "hello");
  put("a.lab", "good bye");
  EXPECT_EQ(read(put("labels.csv", "a.wav,a.lab\n"))[0].text, "good bye");
  EXPECT_EQ(read(put("header.csv", "wav,txt\na.wav,a.txt\n"))[0].text, "hello");
  EXPECT_EQ(name_of(manifest_format(put("texts.csv", "a.wav,a text\n"))),
            "table of recordings and texts");
}

TEST_F(TableTest, OfLjspeechHasNormalisedTexts) {
  put("lj/metadata.csv",
      "LJ001-0001|Dr. Who, 7|Doctor Who, seven\nLJ001-0002|plain|\nLJ001-0003|two\n");
  const auto entries = read(in("lj"));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].audio, in("lj/wavs/LJ001-0001.wav"));
  EXPECT_EQ(entries[0].text, "Doctor Who, seven");
  EXPECT_EQ(entries[1].text, "plain");
  EXPECT_EQ(entries[2].text, "two");
  EXPECT_EQ(entries[2].where, "metadata.csv:3");
  put("lj/metadata.csv", "LJ001-0001\n|text\na|b|c|d\n");
  expect_parts(message_of<DataError>([&] { read(in("lj")); }),
               {"3 faults", "metadata.csv:1: is not name|text or name|text|normalised text",
                "metadata.csv:2: is not", "metadata.csv:3: is not"});
}

}  // namespace
}  // namespace penstock::runtime
