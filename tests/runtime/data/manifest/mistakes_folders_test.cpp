#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/corpus_mistakes.h"

namespace penstock::runtime {
namespace {

using test::CorpusFiles, test::expect_accepted, test::expect_refused, test::in_utf16,
    test::lfs_pointer, test::Mistake, test::sound_bytes, test::web_page;

/// Tests the likeliest mistakes with folders: of Kaldi, TED-LIUM, LJSpeech, and of anybody.
class FolderMistakes : public testing::Test {
 protected:
  static CorpusFiles kaldi() {
    return {{"k/train/a.wav", sound_bytes()},
            {"k/train/wav.scp", "call a.wav\n"},
            {"k/train/segments", "a call 0.25 0.75\n"},
            {"k/train/text", "a one\n"}};
  }
  static CorpusFiles tedlium() {
    return {{"t/train/sph/A.wav", sound_bytes()},
            {"t/train/stm/A.stm", "A 1 S 0.25 0.75 <NA> i have\n"}};
  }
  static CorpusFiles ljspeech() {
    return {{"LJ/wavs/LJ-1.wav", sound_bytes()}, {"LJ/metadata.csv", "LJ-1|Dr. Who|Doctor Who\n"}};
  }
  static CorpusFiles plain() { return {{"f/1.wav", sound_bytes()}, {"f/1.txt", "one\n"}}; }
  static Mistake change(const std::string& typed, const std::string& file, const std::string& text,
                        std::vector<std::string> said) {
    return {typed, std::move(said), {{file, text}}};
  }
};

TEST_F(FolderMistakes, KaldiWithItsFilesAmiss) {
  const auto said = [](const std::string& file, const std::string& text,
                       std::vector<std::string> parts) {
    return change("k/train", "k/train/" + file, text, std::move(parts));
  };
  expect_refused(
      kaldi(),
      {{"k", {"Of its folders, name a single one, such as ", "k/train"}},
       {"k/train/wav.scp", {"wav.scp: is one file of a corpus: name its folder, ", "k/train"}},
       {"k/train/text", {"text: is one file of a corpus: name its folder, "}},
       {"k/Train", {"no such file or folder; did you mean train?"}},
       {"k/train", {"text: cannot be read"}, {}, {"k/train/text"}},
       said("wav.scp", "call sph2pipe -f wav call.sph |\n",
            {"wav.scp:1: is the command \"sph2pipe -f wav call.sph |\", but penstock runs none"}),
       said("wav.scp", "call feats.ark:17\n",
            {"wav.scp:1: names a Kaldi archive, \"feats.ark:17\""}),
       said("wav.scp", "call /home/bob/a.wav\n",
            {"text:1: /home/bob/a.wav: no such file, nor is there a folder /home/bob"}),
       said("wav.scp", "call a.wav\ncall a.wav\n", {"wav.scp:2: names \"call\" a second time"}),
       said("wav.scp", web_page(), {"wav.scp: is a web page"}),
       said("segments", "a call 250 750\n",
            {"its offset is 250 s, but the recording lasts 1 s; are its times milliseconds?"}),
       said("segments", "a call 0.75 0.25\n",
            {"segments:1: it begins at 0.75 s and ends at 0.25 s"}),
       said("text", "a one\nb two\n", {"text:2: segments has no utterance \"b\""}),
       said("text", "a\n", {"text:1: has nothing after \"a\""}),
       said("text", "a \xfc\n", {"text:1: its text is not UTF-8 at byte 0"}),
       said("text", lfs_pointer(), {"text: is a pointer of Git LFS"}),
       said(
           "a.wav", lfs_pointer(),
           {"text:1: ", "a.wav: not audio that libsndfile can read: it is a pointer of Git LFS"})});
  CorpusFiles windows = kaldi();
  windows["k/train/text"] =
      "\xef\xbb\xbf"
      "a one\r\n";
  windows["k/train/wav.scp"] = "call a.wav\r\n";
  expect_accepted(windows, "k/train", 1);
}

TEST_F(FolderMistakes, TedliumWithItsFilesAmiss) {
  const auto said = [](const std::string& text, std::vector<std::string> parts) {
    return change("t/train", "t/train/stm/A.stm", text, std::move(parts));
  };
  const std::string good = "A 1 S 0.25 0.75 <NA> i have\n";
  expect_refused(
      tedlium(),
      {{"TEDLIUM_release-3.tgz",
        {"is a compressed archive: unpack it, by tar -xf "},
        {{"TEDLIUM_release-3.tgz", "\x1f\x8b"}}},
       {"t",
        {"has .stm files in several folders, such as ", "name a single set"},
        {{"t/test/stm/B.stm", ""}}},
       {"t/train/stm/A.stm", {"is one recording's STM: name the folder of its set"}},
       {"t/train/stm",
        {"there are no recordings below ", "or name the folder that has texts and recordings"}},
       {"t/train/sph",
        {"has 1 recording, but no transcripts that are known. Name the folder of its set, perhaps ",
         "t/train"}},
       {"t/dev", {"no such file or folder"}},
       {"t/train", {"there are no recordings below ", "unpack them there"}, {}, {"t/train/sph"}},
       said("B 1 S 0.25 0.75 <NA> i have\n",
            {"A.stm:1: has no recording B.* among the 1 recording below "}),
       said("A 1 S 250 750 <NA> i have\n",
            {"its offset is 250 s, but the recording lasts 1 s; are its times milliseconds?"}),
       said("A 1 S 0.75 0.25 <NA> i have\n",
            {"A.stm:1: begins at \"0.75\" s and ends at \"0.25\" s"}),
       said("A 2 S 0.25 0.75 <NA> i have\n",
            {"A.stm:1: is of channel 2, but penstock mixes channels"}),
       said(good + "A 1 S 0.25",
            {"A.stm:2: is not a recording, channel, speaker, begin, end, labels and text"}),
       said("A 1 S 0.25 0.75 <NA> \xfc\n", {"A.stm:1: its text is not UTF-8 at byte 0"}),
       said(web_page(), {"A.stm: is a web page"}),
       said("", {"holds no utterances"}),
       change("t/train", "t/train/sph/A.wav", web_page(),
              {"A.wav: not audio that libsndfile can read: it is a web page"})});
  CorpusFiles windows = tedlium();
  windows["t/train/stm/A.stm"] =
      "\xef\xbb\xbf"
      "A 1 S 0.25 0.75 <NA> i have\r\n";
  expect_accepted(windows, "t/train", 1);
}

TEST_F(FolderMistakes, LjspeechAndAudioFolders) {
  const auto said = [](const std::string& text, std::vector<std::string> parts) {
    return change("LJ", "LJ/metadata.csv", text, std::move(parts));
  };
  expect_refused(
      ljspeech(),
      {{"LJSpeech-1.1.tar.bz2",
        {"is compressed by bzip2: unpack it"},
        {{"LJSpeech-1.1.tar.bz2", "BZh91AY&SY"}}},
       {"LJ/wavs", {"Name the folder of its set, perhaps ", "LJ"}},
       {"LJ/metadata.csv",
        {"its columns are separated by \"|\", not by commas: name its folder, if it is "
         "LJSpeech's"}},
       {"lj", {"no such file or folder; did you mean LJ?"}},
       {"LJ", {"has 1 recording, but no transcripts that are known"}, {}, {"LJ/metadata.csv"}},
       {"LJ",
        {"metadata.csv:1: ", "LJ-1.wav: no such file, nor is there a folder ", "wavs"},
        {},
        {"LJ/wavs"}},
       {"LJ",
        {"LJ-1.wav: no such file, but LJ-1.flac is there"},
        {{"LJ/wavs/LJ-1.flac", ""}},
        {"LJ/wavs/LJ-1.wav"}},
       said("file_name,transcription\nwavs/LJ-1.wav,hi\n",
            {"has a table, not LJSpeech's name|text: name the table, ", "LJ/metadata.csv"}),
       said("LJ-1|a|b|c\n", {"metadata.csv:1: is not name|text or name|text|normalised text"}),
       said("LJ-1|caf\xe9\n", {"metadata.csv:1: its text is not UTF-8 at byte 3"}),
       said(lfs_pointer(), {"metadata.csv: is a pointer of Git LFS"}),
       said(in_utf16("LJ-1|one\n"), {"metadata.csv: is text of UTF-16"})});
  expect_accepted(ljspeech(), "LJ", 1);
  CorpusFiles table = ljspeech();
  table["LJ/metadata.csv"] = "file_name,transcription\nwavs/LJ-1.wav,hi\n";
  expect_accepted(table, "LJ/metadata.csv", 1);
}

TEST_F(FolderMistakes, TextsBesideRecordings) {
  expect_refused(
      plain(),
      {{"f.zip", {"is a zip archive", "unpack it, by unzip "}, {{"f.zip", "PK\x03\x04"}}},
       {"F", {"no such file or folder; did you mean f?"}},
       {"f/1.wav", {"1.wav: is a recording: name a manifest that lists it, or its folder"}},
       {"f/1.txt", {"begins with \"one\", but lines of JSON begin with {"}},
       {"f", {"has 1 recording, but no transcripts that are known"}, {}, {"f/1.txt"}},
       {"f", {"has texts, but no recordings"}, {}, {"f/1.wav"}},
       {"f", {"2.txt: has no recording beside it"}, {{"f/2.txt", "two\n"}}},
       {"f", {"2.wav: has no transcript beside it: 2.txt is missing"}, {{"f/2.wav", ""}}},
       {"f", {"1.wav: is the second recording beside 1.txt"}, {{"f/1.flac", ""}}},
       {"f", {"1.wav: its transcript ", "1.txt: is a web page"}, {{"f/1.txt", web_page()}}},
       {"f",
        {"1.wav: its transcript ", "1.txt: is text of UTF-16"},
        {{"f/1.txt", in_utf16("one")}}},
       {"f", {"1.wav: its text is not UTF-8 at byte 0"}, {{"f/1.txt", "\xfc"}}},
       {"f",
        {"1.wav: not audio that libsndfile can read: it is of a format that libsndfile cannot "
         "read: convert it, by ffmpeg -i "},
        {{"f/1.wav", std::string("\0\0\0 ftypM4A ", 12)}}},
       {"p",
        {"Convert its Parquet, by tools/parquet_manifest NAME.jsonl ", "p/*.parquet"},
        {{"p/train-0.parquet", "PAR1"}}},
       {"h",
        {"Write its Arrow files as Parquet"},
        {{"h/data-00000-of-00001.arrow", ""}, {"h/state.json", "{}"}}}});
  CorpusFiles windows = plain();
  windows["f/1.txt"] = "one\r\ntwo\r\n";
  expect_accepted(windows, "f", 1);
}

}  // namespace
}  // namespace penstock::runtime
