#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/corpus_mistakes.h"

namespace penstock::runtime {
namespace {

using test::CorpusFiles, test::expect_accepted, test::expect_refused, test::in_utf16,
    test::lfs_pointer, test::Mistake, test::sound_bytes, test::web_page;

/// Tests the likeliest mistakes with JSON: NeMo's lines, The People's Speech, GigaSpeech, Lhotse.
class JsonMistakes : public testing::Test {
 protected:
  static constexpr const char* kLine = R"({"audio_filepath": "a.wav", "text": "one"})"
                                       "\n";
  static CorpusFiles lines(const std::string& text) {
    return {{"j/a.wav", sound_bytes()}, {"j/t.jsonl", text}};
  }
  static Mistake of_lines(const std::string& text, std::vector<std::string> said) {
    return {"j/t.jsonl", std::move(said), {{"j/t.jsonl", text}}};
  }
  static std::string line(const std::string& more) {
    return R"({"audio_filepath": "a.wav", "text": "one")" + more + "}\n";
  }

  static std::string peoples(const std::string& seconds, const std::string& name) {
    return R"({"training_data": {"duration_ms": [)" + seconds +
           R"(], "label": ["one"], "name": [")" + name + "\"]}}\n";
  }
  static CorpusFiles peoples_speech() {
    return {{"p/clean/x/0.wav", sound_bytes()}, {"p/clean.json", peoples("1000", "x/0.wav")}};
  }

  static std::string giga(const std::string& times, const std::string& path = "audio/a.wav") {
    return R"({"dataset": "GigaSpeech", "audios": [{"path": ")" + path +
           R"(", "segments": [{"sid": "A_1", )" + times +
           R"(, "text_tn": "ONE", "subsets": ["{M}"]}]}]})";
  }
  static CorpusFiles gigaspeech() {
    return {{"g/audio/a.wav", sound_bytes()},
            {"g/GigaSpeech.json", giga(R"("begin_time": 0.25, "end_time": 0.75)")}};
  }

  static std::string recording(const std::string& source) {
    return R"({"id": "a", "sources": [{"type": "file", "channels": [0], "source": ")" + source +
           R"("}], "sampling_rate": 8000, "num_samples": 8000, "duration": 1.0})"
           "\n";
  }
  static std::string supervision(const std::string& times, const std::string& id = "a") {
    return R"({"id": "s", "recording_id": ")" + id + R"(", )" + times +
           R"(, "channel": 0, "text": "one"})"
           "\n";
  }
  static CorpusFiles lhotse() {
    return {{"l/a.wav", sound_bytes()},
            {"l/x_recordings_train.jsonl", recording("a.wav")},
            {"l/x_supervisions_train.jsonl", supervision(R"("start": 0, "duration": 1)")}};
  }
};

TEST_F(JsonMistakes, LinesOfNemoThatAreWrong) {
  expect_refused(
      lines(kLine),
      {of_lines(
           "[" + std::string(kLine) + "]",
           {"is a JSON array, not JSON lines: write one object in each line, by jq -c '.[]' "}),
       of_lines("{\n\"audio_filepath\": \"a.wav\",\n\"text\": \"one\"\n}\n",
                {"its first line is no whole JSON object: write each utterance in one line, by jq "
                 "-c . "}),
       of_lines(R"({"path": "a.wav", "sentence": "one"})",
                {"t.jsonl:1: has no \"audio_filepath\": its keys are path, sentence"}),
       of_lines(R"({"audio_filepath": "a.wav", "transcription": "one"})",
                {"t.jsonl:1: has no \"text\": its keys are audio_filepath, transcription"}),
       of_lines(R"({"audio_filepath": "/home/bob/a.wav", "text": "one"})",
                {"t.jsonl:1: /home/bob/a.wav: no such file, nor is there a folder /home/bob"}),
       of_lines(line(R"(, "offset": 100, "duration": 500)"),
                {"its offset is 100 s, but the recording lasts 1 s; are its times milliseconds?"}),
       of_lines(line(R"(, "duration": 1000)"), {"its duration is 1000 s, but ", "a.wav lasts 1 s"}),
       of_lines(line(R"(, "duration": 0)"), {"its duration 0 is not positive"}),
       of_lines(std::string(kLine) + R"({"audio_filepath": "a.wav", "te)", {"t.jsonl:2: bad JSON"}),
       of_lines("{'audio_filepath': 'a.wav', 'text': 'one'}\n", {"t.jsonl:1: bad JSON"}),
       of_lines("a.wav\tone\n", {"begins with \"a.wav\tone\", but lines of JSON begin with {: a "
                                 "table is named .csv or .tsv"}),
       of_lines(web_page(), {"t.jsonl: is a web page"}),
       of_lines(R"({"error":"Repository not found"})", {"t.jsonl: is a server's answer"}),
       of_lines("Entry not found\n", {"t.jsonl: is a server's answer (Entry not found)"}),
       of_lines(std::string(59, 'x') + "é\n",
                {"begins with \"" + std::string(59, 'x') + "\", but"}),
       of_lines(lfs_pointer(), {"t.jsonl: is a pointer of Git LFS"}),
       of_lines(in_utf16(kLine), {"t.jsonl: is text of UTF-16"}),
       of_lines("{\"audio_filepath\": \"a.wav\", \"text\": \"\xfc\"}\n",
                {"t.jsonl:1: bad JSON", "ill-formed UTF-8"}),
       of_lines("", {"holds no utterances"}),
       {"j/t.parquet",
        {"t.parquet: is a Parquet file: convert it, by tools/parquet_manifest NAME.jsonl "},
        {{"j/t.parquet", "PAR1\x15\x04"}}},
       {"j/t.jsonl.xz",
        {"is compressed by xz: unpack it, by xz -dk "},
        {{"j/t.jsonl.xz", "\xfd\x37zXZ"}}},
       {"j/T.jsonl", {"no such file or folder; did you mean t.jsonl?"}}});
  expect_accepted(lines("\xef\xbb\xbf" + line("").substr(0, line("").size() - 1) + "\r\n\r\n"),
                  "j/t.jsonl", 1);
}

TEST_F(JsonMistakes, PeoplesSpeechWithItsFilesAmiss) {
  const auto said = [](const std::string& text, std::vector<std::string> parts) {
    return Mistake{"p/clean.json", std::move(parts), {{"p/clean.json", text}}};
  };
  const std::string good = peoples("1000", "x/0.wav");
  expect_refused(
      peoples_speech(),
      {{"p", {"Of its lists, name a single one, such as ", "p/clean.json"}},
       {"p/clean", {"Name what lists its recordings, perhaps ", "p/clean.json"}},
       {"p/dirty.json", {"no such file or folder"}},
       {"p/clean.json",
        {"its first recording is neither ", "unpack its tars in ", "p/clean"},
        {},
        {"p/clean"}},
       said(good + peoples("1000", "x/1.wav"), {"clean.json:2: ", "x/1.wav: no such file"}),
       said(peoples("1", "x/0.wav"), {"its duration is 0.001 s, but ", "0.wav lasts 1 s"}),
       said(peoples("\"1 s\"", "x/0.wav"), {"clean.json:1: its utterance \"x/0.wav\" is not a "
                                            "name, a text and milliseconds above 0"}),
       said(peoples("1000, 1000", "x/0.wav"), {"has 1 names, 1 labels and 2 durations"}),
       said(good + good.substr(0, 40), {"clean.json:2: bad JSON"}),
       said("[" + good + "]", {"is a JSON array, not JSON lines"}),
       said(web_page(), {"clean.json: is a web page"}),
       said(lfs_pointer(), {"clean.json: is a pointer of Git LFS"}),
       {"p/clean.json",
        {"0.wav: not audio that libsndfile can read: it is a web page"},
        {{"p/clean/x/0.wav", web_page()}}}});
  expect_accepted(peoples_speech(), "p/clean.json", 1);
}

TEST_F(JsonMistakes, GigaSpeechWithItsFilesAmiss) {
  const auto said = [](const std::string& text, std::vector<std::string> parts) {
    return Mistake{"g/GigaSpeech.json:M", std::move(parts), {{"g/GigaSpeech.json", text}}};
  };
  expect_refused(
      gigaspeech(),
      {{"g/GigaSpeech.json",
        {"holds all subsets, those of tests too: name one, as ", "GigaSpeech.json:M"}},
       {"g", {"Of its lists, name a single one, such as ", "g/GigaSpeech.json:M"}},
       {"g:M", {"no such file or folder; did you mean ", "g/GigaSpeech.json:M?"}},
       {"g/audio", {"Name what lists its recordings, perhaps ", "g/GigaSpeech.json:M"}},
       {"g/GigaSpeech.json:m", {"has no segment of a subset m; its subsets are M"}},
       {"g/Gigaspeech.json:M", {"no such file or folder"}},
       said(web_page(), {"no such file or folder: ", "GigaSpeech.json is a web page"}),
       said(lfs_pointer(), {"no such file or folder: ", "GigaSpeech.json is a pointer of Git LFS"}),
       said("{}", {"GigaSpeech.json has no subsets: GigaSpeech.json alone has them"}),
       said(giga(R"("begin_time": 0.25, "end_time": 0.75)").substr(0, 150),
            {"GigaSpeech.json: is no whole JSON object"}),
       said(giga(R"("begin_time": 250, "end_time": 750)"),
            {"its offset is 250 s, but the recording lasts 1 s; are its times milliseconds?"}),
       said(giga(R"("begin_time": 0.75, "end_time": 0.25)"),
            {"are not seconds, one after the other"}),
       said(giga(R"("begin_time": 0.25, "end_time": 0.75)", "audio/b.wav"),
            {"GigaSpeech.json:A_1: ", "audio/b.wav: no such file"}),
       {"g/GigaSpeech.json:M",
        {"a.wav: no such file, nor is there a folder ", "g/audio"},
        {},
        {"g/audio"}}});
  expect_accepted(gigaspeech(), "g/GigaSpeech.json:M", 1);
}

TEST_F(JsonMistakes, LhotseWithItsFilesAmiss) {
  const std::string spoken = "l/x_supervisions_train.jsonl";
  const auto said = [&](const std::string& text, std::vector<std::string> parts) {
    return Mistake{spoken, std::move(parts), {{spoken, text}}};
  };
  const std::string good = supervision(R"("start": 0, "duration": 1)");
  expect_refused(lhotse(),
                 {{"l",
                   {"Of its lists, name a single one, such as ", "l/x_supervisions_train.jsonl"},
                   {},
                   {"l/a.wav"}},
                  {"l/x_recordings_train.jsonl",
                   {"holds Lhotse's recordings, which have no texts: name their supervisions, "}},
                  {spoken,
                   {"the recordings are not at ", "x_recordings_train.jsonl: put them there"},
                   {},
                   {"l/x_recordings_train.jsonl"}},
                  {"l/x_supervisions_dev.jsonl", {"no such file or folder"}},
                  {"l/x_supervisions_train.jsonl.gz",
                   {"no such file or folder; did you mean x_supervisions_train.jsonl?"}},
                  said(supervision(R"("start": 0, "duration": 1000)"),
                       {"lasts from 0 to 1000 s, but there are 1 s"}),
                  said(supervision(R"("start": 0, "duration": 1)", "b"),
                       {"is of the recording \"b\", which x_recordings_train.jsonl does not have"}),
                  said(good + good.substr(0, 30), {"x_supervisions_train.jsonl:2: bad JSON"}),
                  said(web_page(), {"x_supervisions_train.jsonl: is a web page"}),
                  said(lfs_pointer(), {"x_supervisions_train.jsonl: is a pointer of Git LFS"}),
                  {spoken,
                   {"x_recordings_train.jsonl: is a pointer of Git LFS"},
                   {{"l/x_recordings_train.jsonl", lfs_pointer()}}},
                  {spoken,
                   {"/home/bob/a.wav: no such file, nor is there a folder /home/bob"},
                   {{"l/x_recordings_train.jsonl", recording("/home/bob/a.wav")}}},
                  {"l/x.yaml", {"x.yaml: is YAML, not JSON lines"}, {{"l/x.yaml", "- id: a\n"}}},
                  {spoken,
                   {"a.wav: not audio that libsndfile can read: it is a web page"},
                   {{"l/a.wav", web_page()}}}});
  expect_accepted(lhotse(), spoken, 1);
}

}  // namespace
}  // namespace penstock::runtime
