#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/runtime/manifest_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

/// Reads what tests/golden/lhotse_manifests.py let Lhotse write.
class LhotseTest : public testing::Test, protected test::ManifestFolder {
 protected:
  static std::filesystem::path golden(const std::string& name) {
    return test::source("tests/golden/lhotse_manifests") / name;
  }
  static Faults find_faults(const std::filesystem::path& manifest) {
    Faults faults;
    (void)read_manifest(manifest, faults);
    return faults;
  }
  static std::string refusal(const std::filesystem::path& manifest) {
    return message_of<DataError>([&] { read(manifest); });
  }
  /// Copies a manifest to another name.
  std::filesystem::path copy(const std::string& from, const std::string& to) const {
    std::filesystem::create_directories(in(to).parent_path());
    std::filesystem::copy_file(golden(from), in(to));
    return in(to);
  }
  static std::string recording(const std::string& source) {
    return R"({"id": "a", "sources": [{"type": "file", "channels": [0], "source": ")" + source +
           R"("}], "sampling_rate": 8000, "num_samples": 20000, "duration": 2.5})";
  }
  static std::string cut(const std::string& more) {
    return R"({"id": "a-0", "type": "MonoCut", "channel": 0, "recording": )" + recording("a.wav") +
           more + "}\n";
  }
};

/// A supervision that is a whole recording has no offset: its length is checked in the index.
TEST_F(LhotseTest, SupervisionsAreTheUtterancesOfLhotse) {
  for (const char* name : {"digits_cuts_train.jsonl.gz", "digits_supervisions_train.jsonl.gz",
                           "trimmed.jsonl", "resampled.jsonl"}) {
    const auto entries = read(golden(name));
    std::ifstream expected(golden("expected.jsonl"));
    std::size_t count = 0;
    for (std::string line; std::getline(expected, line); ++count) {
      ASSERT_LT(count, entries.size()) << name;
      const auto json = nlohmann::json::parse(line);
      const ManifestEntry& entry = entries[count];
      EXPECT_EQ(entry.audio, golden(json[0].get<std::string>())) << name;
      EXPECT_NEAR(entry.offset.value_or(0), json[1].get<double>(), 1e-9) << name;
      EXPECT_EQ(entry.offset.has_value(), entry.audio != golden("audio/b.wav")) << name;
      EXPECT_NEAR(entry.duration.value_or(0), json[2].get<double>(), 1e-9) << name;
      EXPECT_EQ(entry.text + (count == 0 ? " " : ""), json[3].get<std::string>()) << name;
      EXPECT_EQ(entry.language, json[4].is_null() ? "" : json[4].get<std::string>()) << name;
    }
    EXPECT_EQ(entries.size(), count) << name;
  }
}

TEST_F(LhotseTest, FormatsAreTold) {
  const auto name = [&](const char* file) { return name_of(manifest_format(golden(file))); };
  EXPECT_EQ(name("digits_cuts_train.jsonl.gz"), "Lhotse cuts");
  EXPECT_EQ(name("digits_supervisions_train.jsonl.gz"), "Lhotse supervisions");
  EXPECT_EQ(name("digits_recordings_train.jsonl.gz"), "Lhotse recordings");
  EXPECT_EQ(
      name_of(manifest_format(put("n.jsonl", R"({"audio_filepath": "a", "text": "", "start": 1,)"
                                             R"( "recording_id": "a", "duration": 1})"))),
      "JSON lines");
}

TEST_F(LhotseTest, SoundsNeedNoTexts) {
  for (const char* name : {"digits_recordings_train.jsonl.gz", "digits_supervisions_train.jsonl.gz",
                           "digits_cuts_train.jsonl.gz"}) {
    std::vector<ManifestEntry> entries;
    Faults faults;
    ManifestSink sink{[&](ManifestEntry entry) { entries.push_back(std::move(entry)); }};
    sink.texts = false;
    read_manifest(golden(name), sink, faults);
    EXPECT_TRUE(faults.empty()) << faults.listed();
    ASSERT_GE(entries.size(), 2u) << name;
    EXPECT_EQ(entries[0].audio, golden("audio/a.wav"));
    EXPECT_EQ(entries[0].text, "");
  }
}

TEST_F(LhotseTest, BothManifestsAreSources) {
  Faults faults;
  ManifestSink sink{[](const ManifestEntry&) {}};
  read_manifest(golden("digits_supervisions_train.jsonl.gz"), sink, faults);
  EXPECT_EQ(sink.sources, (std::vector{golden("digits_recordings_train.jsonl.gz"),
                                       golden("digits_supervisions_train.jsonl.gz")}));
}

TEST_F(LhotseTest, SpansPassTheirCutsByRoundingAlone) {
  const auto entries =
      read(put("c.jsonl", cut(R"(, "start": 0.5, "duration": 1, "supervisions": [{"start": -0.001,)"
                              R"( "duration": 1.002, "text": "x"}])")));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_DOUBLE_EQ(entries[0].offset.value_or(0), 0.5);
  EXPECT_DOUBLE_EQ(entries[0].duration.value_or(0), 1);
}

/// Nothing is left of a supervision that lies within the rounding at an end.
TEST_F(LhotseTest, SpansOutsideOfTheirCutsAreRefused) {
  const auto refused = [&](const std::string& span) {
    return error_message("c.jsonl", cut(R"(, "start": 0.5, "duration": 1, "supervisions": [{)" +
                                        span + R"(, "text": "x"}])"));
  };
  expect_parts(refused(R"("start": -0.005, "duration": 0.003)"),
               {"lasts from -0.005 to -0.002 s, but there are 1 s"});
  expect_parts(refused(R"("start": 1.002, "duration": 0.005)"),
               {"lasts from 1.002 to 1.007 s, but there are 1 s"});
}

/// The likeliest mistakes in cuts that Lhotse itself writes, and what is said of them.
TEST_F(LhotseTest, CutsThatLhotseComputesAreRefused) {
  const Faults faults = find_faults(golden("mistakes.jsonl"));
  const std::vector<std::vector<const char*>> expected{
      {"Lhotse changes its recording by Speed while it loads: list the cuts before that",
       "[augment] and data.speeds"},
      {"Lhotse changes its recording by Volume while it loads"},
      {"is a MixedCut, which Lhotse pads, joins or mixes", "CutSet.save_audios()"},
      {"is a MixedCut"},
      {"is a PaddingCut, which is silence without a file: leave it out"},
      {"is a MultiCut of several channels: make MonoCuts of them, by MultiCut.to_mono()"},
      {"is of channel 1 of 2, but penstock mixes channels: write a file for each"},
      {"its supervision \"a-0\" lasts from 0.25 to 0.65 s, but there are 0.5 s",
       "keep_excessive_supervisions=False"},
      {"has no supervision, and so no text", "CutSet.filter(lambda cut: cut.supervisions)"},
      {"has features, but no recording: penstock computes features by itself",
       "lhotse cut simple -r RECORDINGS -s SUPERVISIONS CUTS"},
      {"its recording is the command \"sox a.mp3 -t wav -\", but penstock runs none"},
      {"its recording has 2 files", "write one file"},
      {"its supervision \"n\" has no \"text\""}};
  ASSERT_EQ(faults.size(), expected.size()) << faults.listed();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(faults.all()[i].where, "mistakes.jsonl:" + std::to_string(i + 1));
    for (const char* part : expected[i])
      EXPECT_NE(faults.all()[i].what.find(part), std::string::npos) << faults.all()[i].what;
  }
  expect_parts(refusal(golden("shar.jsonl.gz")),
               {"1 faults", "its recording lies in Lhotse's Shar", "CutSet.from_shar("});
}

TEST_F(LhotseTest, ManifestsOfOtherKindsSayWhatToName) {
  expect_parts(refusal(golden("digits_recordings_train.jsonl.gz")),
               {"holds Lhotse's recordings, which have no texts: name their supervisions, ",
                "digits_supervisions_train.jsonl.gz"});
  expect_parts(refusal(golden("array.json")),
               {"array.json: is a JSON array, not JSON lines: write one object in each line, by jq "
                "-c '.[]' ",
                " > NAME.jsonl. A manifest of Lhotse's becomes that by lhotse copy ",
                "array.json NAME.jsonl.gz"});
  expect_parts(error_message("r.yaml", "- id: a\n"), {"r.yaml: is YAML, not JSON lines"});
  expect_parts(refusal(copy("digits_supervisions_train.jsonl.gz", "x_supervisions.jsonl.gz")),
               {"x_supervisions.jsonl.gz: holds Lhotse's supervisions, but the recordings are not "
                "at ",
                "x_recordings.jsonl.gz: put them there, or make cuts of both, by lhotse cut simple "
                "-r RECORDINGS -s x_supervisions.jsonl.gz CUTS.jsonl.gz, and name those"});
  expect_parts(refusal(copy("digits_supervisions_train.jsonl.gz", "other.jsonl.gz")),
               {"its name has no \"supervisions\", for which \"recordings\" could stand"});
  copy("digits_cuts_train.jsonl.gz", "f/digits_cuts_train.jsonl.gz");
  expect_parts(refusal(in("f")),
               {"Of its lists, name a single one, such as ", "digits_cuts_train.jsonl.gz"});
}

TEST_F(LhotseTest, LinesThatAreWrongAreNamed) {
  put("d_recordings.jsonl", recording("a.wav") + "\n{\"sources\": []}\n");
  expect_parts(
      error_message("d_supervisions.jsonl",
                    R"({"id": "x", "recording_id": "zz", "start": 0, "duration": 1, "text": "t"}
{"id": "x", "recording_id": "a", "start": 2, "duration": 1, "text": "t"}
{"id": "x", "recording_id": "a", "start": 2, "duration": 0, "text": "t"}
{"id": "x", "recording_id": "a", "start": 2, "duration": 0.5}
[]
)"),
      {"6 faults", "d_recordings.jsonl:2: has no \"id\"",
       "d_supervisions.jsonl:1: is of the recording \"zz\", which d_recordings.jsonl does not have",
       ":2: lasts from 2 to 3 s, but there are 2.5 s", "lhotse fix RECORDINGS SUPERVISIONS FOLDER",
       ":3: has no \"duration\" above 0 seconds", ":4: has no \"text\"",
       ":5: is not a JSON object"});
  expect_parts(error_message("c.jsonl", cut("") + cut(R"(, "start": -1, "duration": 1)") +
                                            cut(R"(, "start": 0, "duration": "1")") +
                                            R"({"type": "DataCut", "start": 0, "duration": 1})"
                                            "\n"
                                            R"({"type": "MonoCut", "start": 0, "duration": 1})"),
               {"5 faults", "c.jsonl:1: has no \"start\" that is a number of seconds",
                ":2: starts at -1 s", ":3: has no \"duration\" above 0 seconds",
                ":4: is a DataCut, but only MonoCuts are read", ":5: has no \"recording\": "});
}

/// Tests where recordings are.
class LhotsePathsTest : public testing::Test, protected test::ManifestFolder {
 protected:
  /// Returns a cut of a recording with these sources and these further fields.
  static std::string cut(const std::string& sources, const std::string& more = "") {
    return R"({"type": "MonoCut", "start": 0, "duration": 1, "channel": 0, "supervisions": )"
           R"([{"id": "s", "start": 0, "duration": 1, "text": "t"}], "recording": {"sources": )" +
           sources + more + "}}\n";
  }
  static std::string of_file(const std::string& path) {
    return cut(R"([{"type": "file", "channels": [0], "source": ")" + path + "\"}]",
               R"(, "duration": 2)");
  }
};

TEST_F(LhotsePathsTest, PathsStartBesideTheManifest) {
  put("m/audio/a.wav", "");
  const auto entries = read(put("m/c.jsonl", of_file("audio/a.wav") + of_file("/b.wav")));
  EXPECT_EQ(entries[0].audio, in("m/audio/a.wav"));
  EXPECT_EQ(entries[1].audio, "/b.wav");
}

/// Lhotse's recipes write paths that start where they ran. The first recording shows it.
TEST_F(LhotsePathsTest, PathsMayStartInTheWorkingFolder) {
  put("download/a.wav", "");
  const auto manifest =
      put("data/manifests/c.jsonl", of_file("download/a.wav") + of_file("download/b.wav"));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(in(""));
  const auto entries = read(manifest);
  std::filesystem::current_path(before);
  EXPECT_EQ(entries[0].audio, "download/a.wav");
  EXPECT_EQ(entries[1].audio, "download/b.wav");
}

TEST_F(LhotsePathsTest, RecordingsWithoutAFileAreRefused) {
  expect_parts(
      error_message("c.jsonl", cut("[]", R"(, "duration": 2)") +
                                   cut(R"([{"type": "file", "channels": [0]}])") +
                                   cut(R"([{"type": "memory", "channels": [0], "source": "x"}])") +
                                   cut(R"([{"type": "file", "source": "a.wav"}])") +
                                   cut(R"([{"type": "file", "source": "a.wav"}])",
                                       R"(, "duration": 1, "transforms": [{"x": 1}])")),
      {"5 faults", "c.jsonl:1: its recording has no \"sources\"",
       ":2: its recording names no \"source\"",
       ":3: its recording has a source of type \"memory\", but \"file\" or \"url\" is needed",
       ":4: its recording has no \"duration\" above 0 seconds",
       ":5: Lhotse changes its recording by {\"x\":1} while it loads"});
}

TEST_F(LhotsePathsTest, UrlsAreToldFromPaths) {
  expect_parts(error_message("c.jsonl", of_file("s3://bucket/a.wav")),
               {"names s3://bucket/a.wav, but URLs are not read here"});
}

}  // namespace
}  // namespace penstock::runtime
