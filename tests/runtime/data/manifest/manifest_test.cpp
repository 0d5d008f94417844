#include "runtime/data/manifest/manifest.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>

#include <string>

#include "base/error.h"
#include "tests/support/runtime/manifest_folder.h"
#include "tests/support/system/process.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

class ManifestTest : public testing::Test, protected test::ManifestFolder {};

TEST_F(ManifestTest, JsonLinesWithRelativeAndAbsolutePaths) {
  const auto entries = read(put(
      "train.jsonl",
      "\xef\xbb\xbf{\"audio_filepath\": \"a/1.wav\", \"text\": \"one two\", \"duration\": 2}\r\n"
      "\n"
      "{\"text\": \"\", \"audio_filepath\": \"/x/2.wav\", \"speaker\": {\"age\": 6}}"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].audio, in("a/1.wav"));
  EXPECT_EQ(entries[0].text, "one two");
  EXPECT_EQ(entries[0].duration, 2);
  EXPECT_EQ(entries[0].where, "train.jsonl:1");
  EXPECT_EQ(entries[1].audio, "/x/2.wav");
  EXPECT_EQ(entries[1].text, "");
  EXPECT_FALSE(entries[1].duration);
  EXPECT_EQ(entries[1].where, "train.jsonl:3");
}

TEST_F(ManifestTest, EveryBadJsonLineIsNamed) {
  const std::string good = R"({"audio_filepath": "1.wav", "text": "a", "duration": 0.5})";
  const std::string message = error_message(
      "train.jsonl", good + "\n" +
                         R"({"audio_filepath": "1.wav", "text": "a")"
                         "\n"
                         R"({"audio_filepath": "1.wav", "text": "a", "duration": 0})"
                         "\n"
                         R"({"audio_filepath": "1.wav", "text": "a", "duration": -2.5})"
                         "\n"
                         R"({"audio_filepath": "1.wav", "text": "a", "duration": "long"})"
                         "\n"
                         R"({"audio_filepath": "1.wav", "text": "a", "duration": null})"
                         "\n"
                         R"({"audio_filepath": "1.wav", "text": "a", "duration": NaN})"
                         "\n"
                         R"({"text": "a"})"
                         "\n"
                         R"({"audio_filepath": "1.wav"})"
                         "\n"
                         R"({"audio_filepath": "1.wav", "text": 7})"
                         "\n"
                         R"(["1.wav"])"
                         "\n"
                         "{\"audio_filepath\": \"1.wav\", \"text\": \"\xff\"}\n");
  expect_parts(
      message,
      {"11 faults", "train.jsonl:2: bad JSON", "train.jsonl:3: its duration 0 is not positive",
       "train.jsonl:4: its duration -2.5 is not positive",
       "train.jsonl:5: its duration \"long\" is not a number",
       "train.jsonl:6: its duration null is not a number", "train.jsonl:7: bad JSON",
       "train.jsonl:8: has no \"audio_filepath\"", "train.jsonl:9: has no \"text\"",
       "train.jsonl:10: its \"text\" is not a string", "train.jsonl:11: is not a JSON object",
       "train.jsonl:12: bad JSON"});
  EXPECT_EQ(message.find("train.jsonl:1:"), std::string::npos);
}

TEST_F(ManifestTest, JsonLinesMayNameSegments) {
  const auto line = [](const std::string& offset) {
    return R"({"audio_filepath": "1.wav", "text": "a", "duration": 2, "offset": )" + offset + "}\n";
  };
  const auto entries = read(put("good.jsonl", line("0") + line("2.5") + line("null")));
  EXPECT_EQ(entries[0].offset, 0);
  EXPECT_EQ(entries[1].offset, 2.5);
  EXPECT_EQ(entries[1].duration, 2);
  EXPECT_EQ(entries[2].offset, std::nullopt);
  const std::string message = error_message("cut.jsonl", line("0") + line("-2.5") + line("\"2\""));
  expect_parts(message, {"2 faults", "cut.jsonl:2: its offset -2.5 is negative",
                         "cut.jsonl:3: its offset \"2\" is not a number"});
  EXPECT_EQ(message.find("cut.jsonl:1:"), std::string::npos);
}

TEST_F(ManifestTest, JsonLinesMayNameLanguages) {
  const auto line = [](const std::string& more) {
    return R"({"audio_filepath": "1.wav", "text": "a")" + more + "}\n";
  };
  const auto entries =
      read(put("train.jsonl", line("") + line(R"(, "lang": "de")") + line(R"(, "language": null)") +
                                  line(R"(, "source_lang": "fr", "target_lang": "en")") +
                                  line(R"(, "lang": "no", "language": "eng_latn")") +
                                  line(R"(, "language": 7)")));
  std::vector<std::string> languages;
  for (const ManifestEntry& entry : entries) languages.push_back(entry.language);
  EXPECT_EQ(languages, (std::vector<std::string>{"", "de", "", "fr", "eng_latn", "7"}));
}

TEST_F(ManifestTest, AThousandBadLinesAreToldInShort) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "{}\n";
  expect_parts(error_message("train.jsonl", text), {"train.jsonl:20:", "and 980 more"});
}

TEST_F(ManifestTest, NothingThereIsRejected) {
  EXPECT_TRUE(read(put("empty.jsonl", "")).empty());
  EXPECT_TRUE(read(put("blank.jsonl", "\n \n")).empty());
  expect_parts(message_of<DataError>([&] { read(in("missing.jsonl")); }),
               {"missing.jsonl", "no such file"});
}

TEST_F(ManifestTest, IsPresentUnderEachOfItsNames) {
  put("m_0.jsonl", "");
  put("m_1.jsonl", "");
  put("g.json", R"({"dataset": "GigaSpeech", "audios": []})");
  for (const char* name : {"", "m_0.jsonl", "m_{0..1}.jsonl", "m_{1,0}.jsonl", "g.json:DEV"})
    EXPECT_TRUE(is_present(in(name))) << name;
  for (const char* name : {"m_2.jsonl", "m_{0..2}.jsonl", "m_0.jsonl:DEV", "h.json:DEV"})
    EXPECT_FALSE(is_present(in(name))) << name;
}

TEST_F(ManifestTest, DeepspeechJson) {
  put("data/a.txt", "HELLO\nTHERE\n");
  const auto entries = read(put("train.json", R"({"root_path": "data",
                            "samples": [{"wav_path": "a.wav", "transcript_path": "a.txt"}]})"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].audio, in("data/a.wav"));
  EXPECT_EQ(entries[0].text, "HELLO THERE");
  EXPECT_EQ(entries[0].where, "train.json:samples[0]");
  expect_parts(error_message("bad.json", R"({"samples": [{"wav_path": "a.wav"}, 3,
                                       {"wav_path": "a.wav", "transcript_path": "b.txt"}]})"),
               {"samples[0]: needs", "samples[1]: needs", "samples[2]: its transcript", "b.txt"});
  expect_parts(error_message("odd.json", R"({"samples": 3})"), {"is not an array"});
}

/// Its reader takes plain files. The object may have one line, or several.
TEST_F(ManifestTest, DeepspeechJsonMustBeUncompressed) {
  for (const char* text : {"{\"samples\": []}", "{\n\"samples\": []\n}\n"}) {
    const auto file = put("train.json", text);
    ASSERT_EQ(test::run_program({"gzip", "-kf", file.string()}).code, 0);
    expect_parts(message_of<DataError>([&] { read(in("train.json.gz")); }),
                 {"train.json.gz: is a compressed JSON of deepspeech.pytorch", "by gzip -dc < ",
                  "train.json.gz > NAME.json, and name that"});
    EXPECT_TRUE(read(file).empty());
    std::filesystem::rename(in("train.json.gz"), in("plain.json"));
    expect_parts(message_of<DataError>([&] { read(in("plain.json")); }),
                 {"plain.json: is a compressed JSON of deepspeech.pytorch"});
  }
}

/// A bad first line is left out as any other is, where data.bad_utterances says so.
TEST_F(ManifestTest, JsonIsReadAfterABadFirstLine) {
  for (const char* first : {"# made by hand", "[INFO] one line", "{"}) {
    Faults faults;
    const auto entries = read_manifest(
        put("t.jsonl",
            fmt::format("{}\n{{\"audio_filepath\": \"a.wav\", \"text\": \"one\"}}\n", first)),
        faults);
    ASSERT_EQ(entries.size(), 1u) << first;
    EXPECT_EQ(entries[0].text, "one");
    ASSERT_EQ(faults.size(), 1u) << first;
    expect_parts(faults.listed(), {"t.jsonl:1: bad JSON"});
  }
}

TEST_F(ManifestTest, DeepspeechCsv) {
  put("txt/a.txt", "hello\r\n");
  const auto entries = read(put("train.csv", "wav/a.wav,txt/a.txt\n"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].audio, in("wav/a.wav"));
  EXPECT_EQ(entries[0].text, "hello");
  expect_parts(error_message("bad.csv", "a.wav,txt/a.txt\na.wav\na,b,c\nb.wav,gone.txt\n"),
               {"bad.csv:2: is not", "bad.csv:3: is not", "bad.csv:4: its transcript"});
}

/// Such a value was printed, by a recursion that overflowed the stack.
TEST_F(ManifestTest, RefusesLinesThatNestTooDeeply) {
  constexpr std::size_t kDepth = 1'000'000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  expect_parts(
      error_message("deep.jsonl",
                    R"({"audio_filepath": "a.wav", "text": "", "duration": )" + deep + "}\n3\n"),
      {"deep.jsonl:1: nests deeper than 128", "deep.jsonl:2: is not a JSON object"});
}

/// The device has no end, and reading it would fill the memory.
TEST_F(ManifestTest, ReadsNoTranscriptFromADevice) {
  expect_parts(error_message("a.csv", "wav,txt\na.wav,/dev/zero\n"),
               {"a.csv:2: its transcript /dev/zero: not a regular file"});
}

TEST_F(ManifestTest, LibrispeechFolder) {
  put("clean/84/12/84-12.trans.txt", "84-12-0000 GO DO YOU HEAR\n84-12-0001 BUT IN LESS\n");
  put("clean/61/70/61-70.trans.txt", "61-70-0000 HE BEGAN\n");
  const auto entries = read(in("clean"));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].audio, in("clean/61/70/61-70-0000.flac"));
  EXPECT_EQ(entries[2].text, "BUT IN LESS");
  EXPECT_EQ(entries[2].where, "84-12.trans.txt:2");
  put("clean/84/13/84-13.trans.txt", "84-13-0000\n");
  expect_parts(message_of<DataError>([&] { read(in("clean")); }), {"84-13.trans.txt:1: is not"});
}

TEST_F(ManifestTest, NamesAFolderWithoutTranscripts) {
  put("recordings/one.wav", "");
  put("recordings/one.lab", "one");
  expect_parts(message_of<DataError>([&] { read(in("recordings")); }),
               {"recordings: this folder has 1 recording, but no transcripts that are known. Those "
                "are *.trans.txt",
                "List its recordings in a manifest"});
}

TEST_F(ManifestTest, NeedsNoTextsOfNoises) {
  put("noises/deep/b.wav", "");
  put("noises/a.wav", "");
  put("noises/a.flac", "");
  const std::filesystem::path lines =
      put("noise.jsonl", "{\"audio_filepath\": \"c.wav\"}\n{\"audio_filepath\": \"\"}\n");
  for (const auto& [manifest, names, faulty] :
       std::vector<std::tuple<std::filesystem::path, std::vector<std::string>, std::size_t>>{
           {in("noises"), {"a.flac", "a.wav", "b.wav"}, 0}, {lines, {"c.wav"}, 1}}) {
    Faults faults;
    std::vector<std::string> found;
    ManifestSink sink;
    sink.add = [&](const ManifestEntry& entry) {
      EXPECT_EQ(entry.text, "");
      found.push_back(entry.audio.filename().string());
    };
    sink.texts = false;
    read_manifest(manifest, sink, faults);
    EXPECT_EQ(found, names);
    EXPECT_EQ(faults.size(), faulty);
  }
}

/// This thread meets files as somebody else, since root may read everything.
class AsSomebodyElse {
 public:
  AsSomebodyElse() : before_(::setfsuid(65534)) {}
  ~AsSomebodyElse() { ::setfsuid(static_cast<uid_t>(before_)); }

 private:
  int before_;
};

TEST_F(ManifestTest, NamesALibrispeechFolderThatCannotBeRead) {
  using std::filesystem::perms;
  put("clean/61/70/61-70.trans.txt", "61-70-0000 HE BEGAN\n");
  std::filesystem::permissions(in(""), perms::all);
  std::filesystem::permissions(in("clean/61"), perms::none);
  {
    const AsSomebodyElse somebody_else;
    expect_parts(message_of<DataError>([&] { read(in("clean")); }),
                 {"clean/61: can't be read: Permission denied"});
  }
  std::filesystem::permissions(in("clean/61"), perms::owner_all);
}

TEST_F(ManifestTest, CommonVoice) {
  const auto entries = read(put(
      "cv/train.tsv", "client_id\tpath\tsentence_id\tsentence\tage\n1\ta.mp3\t9\tHi, you.\t\n"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].audio, in("cv/clips/a.mp3"));
  EXPECT_EQ(entries[0].text, "Hi, you.");
  EXPECT_EQ(entries[0].where, "train.tsv:2");
  EXPECT_EQ(entries[0].language, "");
  expect_parts(error_message("b.tsv", "client_id\tpath\tsentence\n1\ta.mp3\n"),
               {"b.tsv:2: has no path"});
  const auto german =
      read(put("cv/de.tsv", "client_id\tpath\tsentence\tlocale\n1\ta.mp3\tHallo\tde\n"));
  EXPECT_EQ(german[0].language, "de");
}

/// A table with Common Voice's column names is one of anybody's, unless the rest is Common Voice's.
TEST_F(ManifestTest, TableWithCommonVoicesColumnsNeedsItsLayout) {
  const auto own = put("own/a.tsv", "path\tsentence\nwavs/a.wav\tHi\n");
  EXPECT_EQ(manifest_format(own), ManifestFormat::table);
  EXPECT_EQ(read(own)[0].audio, in("own/wavs/a.wav"));
  put("own/clips/b.wav", "");
  EXPECT_EQ(manifest_format(own), ManifestFormat::common_voice);
  EXPECT_EQ(read(put("own/b.tsv", "path\tsentence\nb.wav\tHi\n"))[0].audio, in("own/clips/b.wav"));
  put("own/c.wav", "");
  EXPECT_EQ(read(put("own/c.tsv", "path\tsentence\nc.wav\tHi\n"))[0].audio, in("own/c.wav"));
}

}  // namespace
}  // namespace penstock::runtime
