#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/corpus_mistakes.h"

namespace penstock::runtime {
namespace {

using test::CorpusFiles, test::expect_accepted, test::expect_refused, test::in_utf16,
    test::lfs_pointer, test::sound_bytes, test::web_page;

/// Tests the likeliest mistakes with corpora in folders of speakers and books: LibriSpeech and MLS.
class SpeakersMistakes : public testing::Test {
 protected:
  static CorpusFiles librispeech() {
    return {{"L/dev-clean/84/12/84-12.trans.txt", "84-12-0000 GO DO\n84-12-0001 BUT IN LESS\n"},
            {"L/dev-clean/84/12/84-12-0000.wav", sound_bytes()},
            {"L/dev-clean/84/12/84-12-0001.wav", sound_bytes()}};
  }
  static CorpusFiles mls() {
    return {{"mls_german/dev/transcripts.txt", "1_2_000\tdie haare\n1_2_001\tés ok\n"},
            {"mls_german/dev/audio/1/2/1_2_000.wav", sound_bytes()},
            {"mls_german/dev/audio/1/2/1_2_001.wav", sound_bytes()}};
  }
  static constexpr const char* kTexts = "L/dev-clean/84/12/84-12.trans.txt";
  static constexpr const char* kFirst = "L/dev-clean/84/12/84-12-0000.wav";
};

TEST_F(SpeakersMistakes, LibrispeechWithNamesThatAreNotThere) {
  expect_refused(
      librispeech(),
      {{"L/dev-clean.tar.gz",
        {"is a compressed archive: unpack it, by tar -xf ", "and name the folder"},
        {{"L/dev-clean.tar.gz", "\x1f\x8b\x08 zipped"}}},
       {"D",
        {"has no transcripts that are known", "Unpack its archives, by tar -xf ", "a.tar.gz"},
        {{"D/a.tar.gz", "\x1f\x8b\x08 zipped"}}},
       {"L/dev-other",
        {"no such file or folder, but ", "dev-other.tar.gz is there: unpack it, by tar -xf "},
        {{"L/dev-other.tar.gz", "\x1f\x8b\x08 zipped"}}},
       {"L/Dev-Clean", {"no such file or folder; did you mean dev-clean?"}},
       {"L/dev-claen", {"no such file or folder; did you mean dev-clean?"}},
       {"Libri/dev-clean", {"no such file or folder: there is no Libri in /"}},
       {"gone",
        {"it is a link to /mnt/corpora, which does not exist"},
        {},
        {},
        {{"gone", "/mnt/corpora"}}},
       {kTexts, {"84-12.trans.txt: is one file of a corpus: name its folder, ", "84/12"}},
       {kFirst, {"84-12-0000.wav: is a recording: name a manifest that lists it, or its folder"}},
       {"E/train-clean-100",
        {"this folder is empty"},
        {{"E/train-clean-100/x", ""}},
        {"E/train-clean-100/x"}}});
}

TEST_F(SpeakersMistakes, LibrispeechWithFilesThatAreWrong) {
  expect_refused(
      librispeech(),
      {{"L/dev-clean",
        {"has 2 recordings, but no transcripts that are known", "*.trans.txt (LibriSpeech)"},
        {},
        {kTexts}},
       {"L/dev-clean",
        {"84-12.trans.txt:2: ", "84-12-0001.wav: no such file"},
        {},
        {"L/dev-clean/84/12/84-12-0001.wav"}},
       {"L/dev-clean", {"84-12.trans.txt:1: ", "84-12-0000.flac: no such file"}, {}, {kFirst}},
       {"L/dev-clean",
        {"84-12.trans.txt:2: ", "84-12-0001.flac: no such file, but 84-12-0001.m4a is there"},
        {{"L/dev-clean/84/12/84-12-0001.m4a", ""}},
        {kFirst, "L/dev-clean/84/12/84-12-0001.wav"}},
       {"L/dev-clean",
        {"84-12-0000.flac: no such file: it is a link to /gone.flac, which does not exist"},
        {},
        {kFirst, "L/dev-clean/84/12/84-12-0001.wav"},
        {{"L/dev-clean/84/12/84-12-0000.flac", "/gone.flac"}}},
       {"L/dev-clean",
        {"84-12.trans.txt:1: ",
         "84-12-0000.wav: not audio that libsndfile can read: it is a web page (\"404 Not "
         "Found\"), not the file",
         "Download it again"},
        {{kFirst, web_page()}}},
       {"L/dev-clean",
        {"84-12-0000.wav: not audio that libsndfile can read: it is a pointer of Git LFS, not the "
         "file of 1234567 bytes: fetch it, by git lfs pull"},
        {{kFirst, lfs_pointer()}}},
       {"L/dev-clean", {"84-12-0000.wav: empty file"}, {{kFirst, ""}}},
       {"L/dev-clean",
        {"84-12-0000.wav: truncated: its header promises 16000 bytes of audio"},
        {{kFirst, sound_bytes().substr(0, 9000)}}},
       {"L/dev-clean", {"84-12.trans.txt: is a pointer of Git LFS"}, {{kTexts, lfs_pointer()}}},
       {"L/dev-clean", {"84-12.trans.txt: is a web page"}, {{kTexts, web_page()}}},
       {"L/dev-clean",
        {"84-12.trans.txt: is text of UTF-16, not UTF-8: convert it, by iconv -f UTF-16 -t UTF-8 "},
        {{kTexts, in_utf16("84-12-0000 GO\n")}}},
       {"L/dev-clean",
        {"84-12.trans.txt:1: its text is not UTF-8 at byte 1, \"G\xef\xbf\xbd\": convert the file, "
         "by iconv -f CP1252"},
        {{kTexts, "84-12-0000 G\xd6\n"}}},
       {"L/dev-clean",
        {"84-12.trans.txt:2: is not an utterance's name, a space and its text"},
        {{kTexts, "84-12-0000 GO\n84-12-0001\n"}}},
       {"L/dev-clean", {"holds no utterances"}, {{kTexts, ""}}}});
}

TEST_F(SpeakersMistakes, MlsWithNamesThatAreNotSets) {
  expect_refused(
      mls(),
      {{"mls_german.tar.gz",
        {"is a compressed archive: unpack it, by tar -xf "},
        {{"mls_german.tar.gz", "\x1f\x8b"}}},
       {"mls_german", {"has several sets of MLS: name one of them, such as ", "mls_german/dev"}},
       {"mls_german/test", {"no such file or folder"}},
       {"MLS_German/dev", {"there is no MLS_German in ", "; did you mean mls_german?"}},
       {"mls_german/dev/audio",
        {"has 2 recordings, but no transcripts that are known. Name the folder of its set, "
         "perhaps ",
         "mls_german/dev"}},
       {"mls_german/dev/transcripts.txt",
        {"transcripts.txt: is one file of a corpus: name its folder, ", "mls_german/dev"}},
       {"mls_german/dev",
        {"has 2 recordings, but no transcripts that are known"},
        {},
        {"mls_german/dev/transcripts.txt"}},
       {"mls_german/dev",
        {"has texts, but no recordings", "unpack or copy them there"},
        {},
        {"mls_german/dev/audio"}},
       {"mls_german/dev",
        {"transcripts.txt:2: ", "1_2_001.wav: no such file"},
        {},
        {"mls_german/dev/audio/1/2/1_2_001.wav"}},
       {"mls_german/dev",
        {"transcripts.txt: is a pointer of Git LFS"},
        {{"mls_german/dev/transcripts.txt", lfs_pointer()}}},
       {"mls_german/dev",
        {"transcripts.txt: is a web page"},
        {{"mls_german/dev/transcripts.txt", web_page()}}},
       {"mls_german/dev",
        {"transcripts.txt:1: is not an utterance's name, SPEAKER_BOOK_NUMBER, a tab and its text"},
        {{"mls_german/dev/transcripts.txt", "1-2-000\tdie haare\n"}}},
       {"mls_german/dev",
        {"transcripts.txt:1: its text is not UTF-8 at byte 0"},
        {{"mls_german/dev/transcripts.txt", "1_2_000\t\xe9s ok\n"}}}});
}

TEST_F(SpeakersMistakes, LinesOfWindowsAreNone) {
  CorpusFiles libri = librispeech(), german = mls();
  libri[kTexts] =
      "\xef\xbb\xbf"
      "84-12-0000 GO\r\n84-12-0001 BUT\r\n";
  german["mls_german/dev/transcripts.txt"] =
      "\xef\xbb\xbf"
      "1_2_000\tdie haare\r\n1_2_001\tés ok\r\n";
  expect_accepted(libri, "L/dev-clean", 2);
  expect_accepted(libri, "L", 2);
  expect_accepted(german, "mls_german/dev/", 2);
}

}  // namespace
}  // namespace penstock::runtime
