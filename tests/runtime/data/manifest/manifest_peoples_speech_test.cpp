#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

/// Writes lines as mlcommons.org's download has them.
class PeoplesSpeechTest : public testing::Test, protected test::ManifestFolder {
 protected:
  static std::string line(const std::string& data) {
    return R"({"audio_document_id": "x.mp3", "identifier": "gov_x", "training_data": )" + data +
           "}\n";
  }
  static std::string two() {
    return line(R"({"duration_ms": [15530, 870], "label": [" one two", "three"],)"
                R"( "name": ["gov_x/0.flac", "gov_x/1.flac"]})");
  }
};

TEST_F(PeoplesSpeechTest, LinesHaveSeveralUtterances) {
  for (const std::string folder : {"a/clean/", "b/"}) {
    put(folder + "gov_x/0.flac", "");
    const std::string manifest = folder.substr(0, 2) + "clean.json";
    const auto entries = read(put(manifest, two() + two()));
    ASSERT_EQ(entries.size(), 4u);
    EXPECT_EQ(entries[0].audio, in(folder + "gov_x/0.flac"));
    EXPECT_EQ(entries[0].text, "one two");
    EXPECT_EQ(entries[0].duration, 15.53);
    EXPECT_FALSE(entries[0].offset);
    EXPECT_EQ(entries[1].text, "three");
    EXPECT_EQ(entries[3].where, "clean.json:2");
    EXPECT_EQ(name_of(manifest_format(in(manifest))), "People's Speech JSON lines");
  }
}

/// The likeliest mistakes, and what is said of them.
TEST_F(PeoplesSpeechTest, SaysWhatToDoAboutMistakes) {
  expect_parts(error_message("d/clean.json", two()),
               {"clean.json: its first recording is neither ", "d/clean/gov_x/0.flac nor ",
                "d/gov_x/0.flac: unpack its tars in ", "d/clean"});
  put("d/0.flac", "");
  const std::string good = R"({"duration_ms": [1], "label": ["t"], "name": ["0.flac"]})";
  expect_parts(
      error_message("d/clean.json",
                    line(good) + line(R"({"duration_ms": [1, 2], "label": ["t"], "name": ["0"]})") +
                        line("{}") +
                        line(R"({"duration_ms": [0], "label": ["t"], "name": ["0"]})") +
                        line(R"({"duration_ms": [1], "label": [null], "name": ["0.flac"]})") +
                        line(R"({"duration_ms": {"a": 1}, "label": ["t"], "name": ["0.flac"]})") +
                        "{\n" + "[]\n"),
      {"7 faults",
       "clean.json:2: its \"training_data\" has 1 names, 1 labels and 2 durations: as many of each "
       "are expected",
       "clean.json:3: its \"training_data\" has 0 names",
       "clean.json:4: its utterance \"0\" is not "
       "a name, a text and milliseconds above 0",
       "clean.json:5: its utterance \"0.flac\"",
       "clean.json:6: its \"training_data\" is not of "
       "three arrays",
       "clean.json:7: bad JSON", "clean.json:8: its \"training_data\" has 0 names"});
}

}  // namespace
}  // namespace penstock::runtime
