#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json_nesting.h"
#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

/// Writes a file as GigaSpeech's download has it, over many lines.
class GigaspeechTest : public testing::Test, protected test::ManifestFolder {
 protected:
  static std::string segment(
      const std::string& sid, const std::string& text, const std::string& subsets,
      const std::string& times = "\"begin_time\": 159.5, \"end_time\": 164") {
    return "{\n\"sid\": \"" + sid + "\", \"speaker\": \"N/A\", " + times + ", \"text_tn\": \"" +
           text + "\", \"subsets\": [" + subsets + "]}";
  }
  static std::string audio(const std::string& path, const std::string& segments) {
    return "{\"title\": \"t\", \"segments\": [\n" + segments + "],\n\"path\": \"" + path +
           "\", \"subsets\": [\"{XL}\"]}";
  }
  std::filesystem::path put_corpus(const std::string& audios) const {
    return put(
        "g/GigaSpeech.json",
        "{\n\"dataset\": \"GigaSpeech\",\n\"language\": \"EN\", \"audios\": [\n" + audios + "]}\n");
  }
  std::string refusal(const std::string& subset) const {
    return message_of<DataError>([&] { read(in("g/GigaSpeech.json" + subset)); });
  }
};

TEST_F(GigaspeechTest, ASubsetIsReadByItsName) {
  put_corpus(
      audio("audio/podcast/P0000/POD4.opus",
            segment("POD4_S1", "DOUGLAS MCGRAY <COMMA> GOING <PERIOD>", "\"{XL}\", \"{M}\"") + "," +
                segment("POD4_S2", "<MUSIC>", "\"{XL}\", \"{M}\"") + "," +
                segment("POD4_S3", "WHY <QUESTIONMARK>", "\"{XL}\"")) +
      "," + audio("audio/youtube/P1/YOU5.opus", segment("YOU5_S1", "YES", "\"{DEV}\"")));
  const auto entries = read(in("g/GigaSpeech.json:M"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].audio, in("g/audio/podcast/P0000/POD4.opus"));
  EXPECT_EQ(entries[0].text, "DOUGLAS MCGRAY GOING");
  EXPECT_EQ(entries[0].offset, 159.5);
  EXPECT_EQ(entries[0].duration, 4.5);
  EXPECT_EQ(entries[0].where, "GigaSpeech.json:POD4_S1");
  EXPECT_EQ(read(in("g/GigaSpeech.json:XL")).size(), 2u);
  EXPECT_EQ(read(in("g/GigaSpeech.json:DEV"))[0].audio, in("g/audio/youtube/P1/YOU5.opus"));
  EXPECT_EQ(name_of(manifest_format(in("g/GigaSpeech.json:M"))), "GigaSpeech subset");
}

TEST_F(GigaspeechTest, TheFileIsTheSourceOfItsSubsets) {
  put_corpus(audio("a.opus", segment("1", "YES", "\"{S}\"")));
  Faults faults;
  ManifestSink sink{[](const ManifestEntry&) {}};
  read_manifest(in("g/GigaSpeech.json:S"), sink, faults);
  EXPECT_EQ(sink.sources, std::vector{in("g/GigaSpeech.json")});
}

/// JSON lines may name the corpus that they are a part of.
TEST_F(GigaspeechTest, JsonLinesOfItAreNone) {
  const std::string line =
      R"({"audio_filepath": "a.wav", "text": "a", "dataset": "GigaSpeech", "audios": 1})"
      "\n";
  for (const std::string start : {"", "\n \r\n"}) {
    const auto manifest = put("n.json", start + line + line);
    EXPECT_EQ(name_of(manifest_format(manifest)), "JSON lines");
    EXPECT_EQ(read(manifest).size(), 2u);
    EXPECT_FALSE(is_present(in("n.json:M")));
  }
  put("o.json", R"({"dataset": "GigaSpeech", "x": []})");
  EXPECT_FALSE(is_present(in("o.json:M")));
}

TEST_F(GigaspeechTest, NestsOnlyAsDeepAsOtherJson) {
  const auto put_nested = [&](std::size_t brackets) {
    put_corpus("{\"x\": " + std::string(brackets, '[') + std::string(brackets, ']') + "}");
  };
  put_nested(kDeepestNesting - 3);  // the object, its array and the recording are around them
  expect_parts(refusal(":S"), {"has no segment of a subset S"});
  put_nested(kDeepestNesting - 2);
  expect_parts(refusal(":S"), {"GigaSpeech.json: its values nest deeper than 128"});
  put_nested(1000);  // a long line
  expect_parts(refusal(":S"), {"GigaSpeech.json: its values nest deeper than 128"});
}

/// The likeliest mistakes, and what is said of them.
TEST_F(GigaspeechTest, SaysWhatToDoAboutMistakes) {
  const auto file = put_corpus(audio("a.opus", segment("1", "YES", "\"{S}\", \"{XL}\"")));
  expect_parts(refusal(""),
               {"GigaSpeech.json: holds all subsets, those of tests too: name one, as ",
                "GigaSpeech.json:M (XS, S, M, L, XL, DEV or TEST)"});
  expect_parts(refusal(":{S}"), {"has no segment of a subset {S}; its subsets are S, XL"});
  expect_parts(refusal(":m"), {"has no segment of a subset m; its subsets are S, XL"});
  put_corpus("");
  expect_parts(refusal(":S"), {"its subsets are none"});
  put_corpus(audio("a.opus", segment("1", "YES", "\"{S}\"")) + ",");
  expect_parts(refusal(":S"), {"GigaSpeech.json: is no whole JSON object: "});
  put_corpus("{\"segments\": [" + segment("1", "A", "\"{S}\"") + "]}," +
             audio("a.opus", segment("2", "A", "\"{S}\"", "\"begin_time\": 2, \"end_time\": 1") +
                                 "," + segment("3", "A", "\"{S}\"", "\"begin_time\": 2") +
                                 ",{\"subsets\": [\"{S}\"], \"begin_time\": 1, \"end_time\": 2}"));
  expect_parts(refusal(":S"),
               {"4 faults", "  1: its recording has no \"path\"",
                "GigaSpeech.json:2: its \"begin_time\" and \"end_time\" are not seconds, one after "
                "the other",
                "GigaSpeech.json:3: its \"begin_time\"",
                "GigaSpeech.json:a segment without sid: has no \"text_tn\""});
  expect_parts(message_of<DataError>([&] { read(in("h/GigaSpeech.json:S")); }),
               {"no such file or folder"});
  put("h/other.json", "{}");
  expect_parts(message_of<DataError>([&] { read(in("h/other.json:S")); }),
               {"no such file or folder"});
}

}  // namespace
}  // namespace penstock::runtime
