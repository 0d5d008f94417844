#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/data/audio/audio.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

/// A checkpoint that has learned a little, and a list of nine recordings.
class TranscribeCommand : public testing::Test {
 protected:
  TranscribeCommand() {
    const auto outcome = folder_.train("output", {"trainer.steps=40"});
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
    for (int u = 0; u < 9; ++u) list_ += folder_.in(fmt::format("train-{}.wav\n", u));
    test::write_file(folder_.in("list"), list_);
  }
  std::string in(const std::string& name) const { return folder_.in(name); }

  test::Outcome transcribe(std::vector<std::string> more, test::Ranks ranks = {}) const {
    more.insert(more.begin(), {"transcribe", in("output")});
    return folder_.run(more, ranks);
  }
  /// Runs a script in the folder by a shell; $T is the command.
  test::Outcome shell(const std::string& script) const {
    return test::run_program(
        {"timeout", "-k", "2", "60", "bash", "-c",
         fmt::format("cd '{}'; T='{} transcribe output'; {}", in(""), PENSTOCK_BINARY, script)});
  }
  void expect_refused(const std::vector<std::string>& words, int code,
                      const std::string& said) const {
    const auto outcome = transcribe(words);
    EXPECT_EQ(outcome.code, code) << said;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::string list_;
};

TEST_F(TranscribeCommand, RanksWriteTheSameFile) {
  const auto file_of = [&](const std::string& name, std::vector<std::string> more,
                           test::Ranks ranks) {
    more.insert(more.end(), {"--manifest", in("train.jsonl"), "-o", in(name), "--window", "7"});
    const auto outcome = transcribe(more, ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, in(name) + ": 30 lines\n");
    return test::read_file(in(name));
  };
  const std::string alone = file_of("alone", {}, {});
  EXPECT_EQ(std::count(alone.begin(), alone.end(), '\n'), 30);
  EXPECT_NE(alone.find("train-29.wav"), std::string::npos);
  EXPECT_EQ(file_of("stages", {}, {2}), alone);
  EXPECT_EQ(file_of("replicas", {"--replicas", "2"}, {2}), alone);
  EXPECT_EQ(file_of("grid", {"--replicas", "2"}, {4}), alone);
}

// The list's sixth line never comes: what is written by then stands in the file while it waits.
TEST_F(TranscribeCommand, AKilledRunEndsInTheSameBytes) {
  const auto outcome = shell(
      "set -e; $T --stdin --window 2 -o whole.jsonl < list > /dev/null\n"
      "mkfifo pipe; $T --stdin --window 2 -o killed.jsonl < pipe & job=$!\n"
      "exec 4> pipe; head -n 5 list >&4\n"
      "until [ \"$(cat killed.jsonl 2> /dev/null | wc -l)\" = 4 ]; do sleep 0.05; done\n"
      "sleep 0.3; ls killed.jsonl.progress\n"
      "kill -9 $job; wait $job || true\n"
      "printf '{\"audio_file' >> killed.jsonl\n"
      "$T --stdin --window 2 -o killed.jsonl --resume < list\n"
      "cmp whole.jsonl killed.jsonl; $T --stdin --window 2 -o killed.jsonl --resume < list\n"
      "cmp whole.jsonl killed.jsonl");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("killed.jsonl: 9 lines, of which 4 were there"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("killed.jsonl: 9 lines, of which 9 were there"), std::string::npos)
      << outcome.out;
}

TEST_F(TranscribeCommand, RefusesAFileOfAnotherListOrCheckpoint) {
  ASSERT_EQ(shell("$T --stdin -o out.jsonl < list").code, 0);
  const std::string whole = test::read_file(in("out.jsonl"));
  for (const char* other : {"tac list", "head -n 8 list", "sed s/train-8/train-9/ list"}) {
    const auto outcome = shell(fmt::format("{} | $T --stdin -o out.jsonl --resume", other));
    EXPECT_EQ(outcome.code, 2) << other;
    EXPECT_NE(outcome.err.find("out.jsonl holds results of another list: its 9 recordings are "),
              std::string::npos)
        << outcome.err;
  }
  ASSERT_EQ(folder_.train("output", {"trainer.steps=41", "trainer.resume=true"}).code, 0);
  const auto outcome = shell("$T --stdin -o out.jsonl --resume < list");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("out.jsonl holds results of something else"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(test::read_file(in("out.jsonl")), whole);
}

TEST_F(TranscribeCommand, PutsErrorsInTheirLines) {
  test::write_file(in("empty.wav"), "");
  for (const test::Ranks ranks : {test::Ranks{}, test::Ranks{2}}) {
    const auto outcome = transcribe(
        {in("gone.wav"), in("train-0.wav"), in("empty.wav"), "--json", "--window", "2"}, ranks);
    EXPECT_EQ(outcome.code, 3);
    std::istringstream lines(outcome.out);
    std::vector<nlohmann::json> found;
    for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
    ASSERT_EQ(found.size(), 3u) << outcome.out;
    EXPECT_NE(found[0]["error"].get<std::string>().find("gone.wav: no such file"),
              std::string::npos);
    EXPECT_EQ(found[1]["audio_filepath"], in("train-0.wav"));
    EXPECT_TRUE(found[1].contains("text"));
    EXPECT_TRUE(found[2].contains("error"));
    for (const char* part : {"2 of 3 recordings could not be transcribed",
                             "recording 1: ", "recording 3: ", "empty.wav: empty"})
      EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
}

TEST_F(TranscribeCommand, ReadsAnyListFromStandardInput) {
  const auto lines = shell("$T --stdin < list");
  EXPECT_EQ(lines.code, 0) << lines.err;
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\t'), 9);
  EXPECT_EQ(shell("tr '\\n' '\\0' < list | $T --stdin -0").out, lines.out);
  const auto empty = shell("$T --stdin -o empty.jsonl < /dev/null");
  EXPECT_EQ(empty.code, 3);
  EXPECT_NE(empty.err.find("standard input names none"), std::string::npos) << empty.err;
  EXPECT_FALSE(std::filesystem::exists(in("empty.jsonl")));
}

TEST_F(TranscribeCommand, HearsLongRecordingsInChunks) {
  std::vector<float> sound;
  for (int u = 0; u < 30; ++u) {
    const auto audio = runtime::read_audio(in(fmt::format("train-{}.wav", u))).samples;
    sound.insert(sound.end(), audio.begin(), audio.end());
  }
  test::write_sound(in("long.wav"), sound, {0x010002, 8000});
  const std::vector<std::string> words = {in("long.wav"), in("train-0.wav"), "--chunk",
                                          "1.5",          "--json",          "--timings"};
  const auto alone = transcribe(words);
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(transcribe(words, {3}).out, alone.out);
  const auto line = nlohmann::json::parse(alone.out.substr(0, alone.out.find('\n')));
  EXPECT_GT(line.at("text").get<std::string>().size(), 30u);
  ASSERT_EQ(line.at("words").size(), 1u);  // the alphabet has no space
  EXPECT_LT(line["words"][0].at("start"), 1);
  EXPECT_GT(line["words"][0].at("end").get<double>(), line.at("duration").get<double>() - 1);
  std::vector<std::string> beam = words;
  beam.insert(beam.end(), {"--beam", "8", "--nbest", "3"});
  const auto searched = transcribe(beam);
  EXPECT_EQ(searched.code, 0) << searched.err;
  EXPECT_EQ(nlohmann::json::parse(searched.out.substr(0, searched.out.find('\n')))["nbest"].size(),
            3u);
}

TEST_F(TranscribeCommand, RefusesWhatCannotBeMeant) {
  const std::string wav = in("train-0.wav");
  expect_refused({}, 2, "no recordings are named: name files, or give --manifest");
  expect_refused({in("train.jsonl")}, 2, "a manifest is named by --manifest");
  expect_refused({wav, "--resume"}, 2, "--resume requires --output");
  expect_refused({wav, "-0"}, 2, "requires --stdin");
  expect_refused({wav, "--json", "-o", in("a")}, 2, "excludes");
  expect_refused({wav, "-o", in("a"), "--resume", "--logits", in("b")}, 2, "excludes");
  expect_refused({wav, "-o", in("gone/a")}, 2, "--output: can't write ");
  expect_refused({wav, "-o", wav}, 2, "is there already");
  expect_refused({wav, "-o", in("a"), "--logits", in("a")}, 2, "--logits and --output both name");
  expect_refused({wav, "--window", "0"}, 2, "--window");
  expect_refused({wav, "--overlap", "1"}, 2, "--overlap requires --chunk");
  expect_refused({wav, "--chunk", "2", "--overlap", "2"}, 2, "give a longer --chunk");
  expect_refused({wav, "--chunk", "0"}, 2, "--chunk");
  expect_refused({wav, "--replicas", "2"}, 2, "the job has 1 rank, which 2 replicas");
  expect_refused({"--manifest", in("gone.jsonl")}, 3, "gone.jsonl can't be read");
  test::write_file(in("a"), "mine");
  expect_refused({wav, "-o", in("a"), "--resume"}, 2, "a.progress is missing or damaged");
  EXPECT_EQ(test::read_file(in("a")), "mine");
}

}  // namespace
}  // namespace penstock::tools
