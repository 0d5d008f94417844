#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/data/audio/audio.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

std::vector<nlohmann::json> parsed(const std::string& lines) {
  std::vector<nlohmann::json> all;
  std::istringstream from(lines);
  for (std::string line; std::getline(from, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

/// A checkpoint of CTC that has learned a little.
class AlignCommand : public testing::Test {
 protected:
  AlignCommand() { train({"trainer.steps=8"}); }

  void train(const std::vector<std::string>& overrides) const {
    std::filesystem::remove_all(in("output"));
    const auto outcome = folder_.train("output", overrides);
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
  }
  std::string in(const std::string& name) const { return folder_.in(name); }

  test::Outcome align(std::vector<std::string> more, test::Ranks ranks = {}) const {
    more.insert(more.begin(), {"align", in("output"), in("validation.jsonl"), "--window", "3"});
    return folder_.run(more, ranks);
  }
  /// Returns the file that `align` writes.
  std::string aligned(const std::string& name, std::vector<std::string> more = {},
                      test::Ranks ranks = {}) const {
    more.insert(more.end(), {"-o", in(name)});
    const auto outcome = align(more, ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, in(name) + ": 7 utterances aligned\n");
    return test::read_file(in(name));
  }
  void expect_refused(const std::vector<std::string>& words, int code,
                      const std::string& said) const {
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, code) << said;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(AlignCommand, LayoutsWriteTheSameBytes) {
  const std::string lines = aligned("alone.jsonl"), ctm = aligned("alone.ctm");
  EXPECT_EQ(aligned("stages.jsonl", {}, {2}), lines);
  EXPECT_EQ(aligned("grid.jsonl", {"--replicas", "2", "--threads", "2"}, {4}), lines);
  EXPECT_EQ(aligned("grid.ctm", {"--replicas", "2"}, {4}), ctm);
  EXPECT_EQ(align({}).out, lines);
  EXPECT_EQ(align({"--format", "ctm"}).out, ctm);
}

// Each line keeps its text, whose words lie in the recording one after the other.
TEST_F(AlignCommand, PlacesWordsInTheRecording) {
  const auto lines = parsed(aligned("words.jsonl")),
             manifest = parsed(test::read_file(in("validation.jsonl")));
  ASSERT_EQ(lines.size(), manifest.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].at("text"), manifest[i].at("text"));
    std::string text;
    double end = 0;
    for (const nlohmann::json& word : lines[i].at("words")) {
      text += (text.empty() ? "" : " ") + word.at("word").get<std::string>();
      EXPECT_GE(word.at("start").get<double>(), end);
      EXPECT_GT(word.at("end"), word.at("start"));
      EXPECT_GT(word.at("confidence"), 0);
      EXPECT_LE(word.at("confidence"), 1);
      end = word.at("end");
    }
    EXPECT_EQ(text, lines[i].at("text"));
    EXPECT_LE(end, lines[i].at("duration").get<double>() + 0.0005);  // of rounding
  }
}

TEST_F(AlignCommand, ResumesTheSameFormatAlone) {
  const std::string lines = aligned("words");
  EXPECT_EQ(aligned("words", {"--resume"}), lines);
  const auto other = align({"--resume", "--format", "ctm", "-o", in("words")});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("holds results of something else"), std::string::npos) << other.err;
}

TEST_F(AlignCommand, RefusesTextsThatDoNotFit) {
  auto line = parsed(test::read_file(in("validation.jsonl"))).front();
  const auto refused = [&](const std::string& text, const std::string& said) {
    line["text"] = text;
    test::write_file(in("bad.jsonl"), line.dump() + "\n");
    expect_refused({"align", in("output"), in("bad.jsonl"), "-o", in("bad")}, 3, said);
    EXPECT_FALSE(std::filesystem::exists(in("bad")));
  };
  refused("abxz", "'x' (U+0078), 'z' (U+007A)");
  refused(std::string(5000, 'a'), "frames");
}

TEST_F(AlignCommand, RefusesOtherFormats) {
  expect_refused({"align", in("output"), in("validation.jsonl"), "--format", "elan"}, 2, "elan");
  expect_refused({"align", in("output"), in("validation.jsonl"), "-o", in("words.srt")}, 2,
                 "write subtitles by --subtitles FOLDER");
}

// The words of a file, without its numbers and times, are the recording's text.
TEST_F(AlignCommand, WritesSubtitlesOfEachRecording) {
  const auto outcome = align({"--subtitles", in("subtitles")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, in("subtitles") + ": 7 files\n");
  const auto vtt = align({"--subtitles", in("vtt"), "--subtitle-format", "vtt"}, {2});
  ASSERT_EQ(vtt.code, 0) << vtt.err;
  for (const nlohmann::json& line : parsed(test::read_file(in("validation.jsonl")))) {
    const std::string name =
        std::filesystem::path(line.at("audio_filepath").get<std::string>()).stem().string();
    std::istringstream file(test::read_file(in("subtitles/" + name + ".srt")));
    std::string text;
    for (std::string row; std::getline(file, row);)
      if (!row.empty() && row.find(" --> ") == std::string::npos &&
          row.find_first_not_of("0123456789") != std::string::npos)
        text += (text.empty() ? "" : " ") + row;
    EXPECT_EQ(text, line.at("text"));
    EXPECT_TRUE(test::read_file(in("vtt/" + name + ".vtt")).starts_with("WEBVTT\n\n00:00:0"));
  }
  expect_refused({"align", in("output"), in("validation.jsonl"), "--subtitles", in("subtitles")}, 2,
                 "is not empty: name a new folder, or empty it");
}

// Each word is the text of one recording, and lies where that recording does in the joined one.
TEST_F(AlignCommand, TimesAreThoseOfTheLongRecording) {
  train({"trainer.steps=32", "data.validation=", "text.alphabet=abcd "});
  std::string text;
  std::vector<float> sound;
  std::vector<double> ends;
  for (const nlohmann::json& line : parsed(test::read_file(in("train.jsonl")))) {
    text += (text.empty() ? "" : " ") + line.at("text").get<std::string>();
    const auto audio = runtime::read_audio(in(line.at("audio_filepath").get<std::string>()));
    sound.insert(sound.end(), audio.samples.begin(), audio.samples.end());
    ends.push_back(static_cast<double>(sound.size()) / audio.rate);
  }
  test::write_sound(in("long.wav"), sound, {0x010002, 8000});
  test::write_file(in("long.jsonl"),
                   nlohmann::json{{"audio_filepath", "long.wav"}, {"text", text}}.dump() + "\n");
  const auto run = [&](const std::string& name, std::vector<std::string> more,
                       test::Ranks ranks = {}) {
    more.insert(more.begin(), {"align", in("output"), in("long.jsonl"), "-o", in(name)});
    const auto outcome = folder_.run(more, ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return test::read_file(in(name));
  };
  const std::string alone = run("alone", {"--chunk", "1.5"});
  EXPECT_EQ(run("grid", {"--chunk", "1.5", "--overlap", "0.5", "--replicas", "2"}, {4}), alone);
  const auto words = parsed(alone).front().at("words");
  EXPECT_EQ(parsed(alone).front().at("text"), text);
  ASSERT_EQ(words.size(), ends.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_GT(words[i].at("start").get<double>(), (i == 0 ? 0 : ends[i - 1]) - 0.2) << i;
    EXPECT_LT(words[i].at("end").get<double>(), ends[i] + 0.2) << i;
  }
  const auto other = folder_.run(
      {"align", in("output"), in("long.jsonl"), "--chunk", "2", "-o", in("alone"), "--resume"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("holds results of something else"), std::string::npos) << other.err;
}

TEST_F(AlignCommand, NeedsCtc) {
  const std::vector<std::string> transducer = {"model.decoder=tdt", "decoder.durations=[0,1,2]",
                                               "decoder.width=12", "decoder.joint=12",
                                               "trainer.steps=1"};
  const std::vector<std::string> transcribe = {"transcribe", in("output"), in("train-0.wav"),
                                               "--json", "--timings"};
  train(transducer);
  expect_refused({"align", in("output"), in("validation.jsonl")}, 2, "times of words are CTC's");
  expect_refused(transcribe, 2, "decoder.ctc_weight=0.3");
  auto hybrid = transducer;
  hybrid.emplace_back("decoder.ctc_weight=0.3");
  train(hybrid);
  expect_refused(transcribe, 2, "add --decoder ctc");
  EXPECT_EQ(parsed(aligned("words.jsonl")).size(), 7u);
}

// Alignment of what was recognised finds the times that recognition gave.
TEST_F(AlignCommand, AgreesWithTranscribe) {
  train({"trainer.steps=40"});
  const auto outcome =
      folder_.run({"transcribe", in("output"), "--manifest", in("validation.jsonl"), "--window",
                   "3", "--timings", "-o", in("heard.jsonl")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string heard = test::read_file(in("heard.jsonl"));
  std::size_t words = 0;
  for (const nlohmann::json& line : parsed(heard)) words += line.at("words").size();
  EXPECT_GT(words, 3u);
  const auto again = folder_.run({"align", in("output"), in("heard.jsonl"), "--window", "3"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, heard);
  for (const char* command : {"align", "transcribe"}) {
    std::vector<std::string> words = {command, in("output"), in("heard.jsonl"), "--subtitles",
                                      in(command)};
    if (words[0] == "transcribe") words.insert(words.begin() + 2, {"--json", "--manifest"});
    const auto subtitles = folder_.run(words);
    EXPECT_EQ(subtitles.code, 0) << subtitles.err;
    if (words[0] == "transcribe") {
      EXPECT_EQ(subtitles.out, heard);
    }
  }
  for (const auto& file : std::filesystem::directory_iterator(in("align")))
    EXPECT_EQ(test::read_file(file.path()),
              test::read_file(in("transcribe/" + file.path().filename().string())));
  expect_refused({"transcribe", in("output"), in("train-0.wav"), "--timings"}, 2,
                 "--timings is for lines of JSON alone: add --json, or --output FILE");
}

}  // namespace
}  // namespace penstock::tools
