#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/decoding/ngram_model.h"
#include "tests/support/runtime/training_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

/// A transducer that has learned a little.
class BeamSearch : public testing::Test {
 protected:
  BeamSearch() {
    train("output", {"model.decoder=tdt", "decoder.durations=[0,1,2]", "decoder.width=12",
                     "decoder.joint=12", "trainer.steps=8"});
  }

  void train(const std::string& output, const std::vector<std::string>& overrides) const {
    const auto outcome = folder_.train(output, overrides);
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
  }
  std::string in(const std::string& name) const { return folder_.in(name); }

  /// Returns the texts that `evaluate` writes to a file of that name.
  std::vector<std::string> evaluated(const std::string& name, std::vector<std::string> more,
                                     test::Ranks ranks = {}) const {
    more.insert(more.begin(), {"evaluate", in(checkpoint), in("validation.jsonl"), "--results",
                               in(name), "--window", "3"});
    const auto outcome = folder_.run(more, ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return texts(test::read_file(in(name)), "hypothesis");
  }
  static std::vector<nlohmann::json> parsed(const std::string& lines) {
    std::vector<nlohmann::json> all;
    std::istringstream from(lines);
    for (std::string line; std::getline(from, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  static std::vector<std::string> texts(const std::string& lines, const char* field) {
    std::vector<std::string> texts;
    for (const nlohmann::json& line : parsed(lines)) texts.push_back(line.at(field));
    return texts;
  }

  std::string checkpoint = "output";  // what `evaluated` evaluates
  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(BeamSearch, ChangesTextsAlikeOnAllRanks) {
  const auto greedy = evaluated("greedy", {}), beam = evaluated("beam", {"--beam", "5"});
  EXPECT_EQ(greedy.size(), 7u);
  EXPECT_NE(beam, greedy);
  EXPECT_EQ(evaluated("one", {"--beam", "1"}), greedy);
  EXPECT_EQ(evaluated("grid", {"--beam", "5", "--replicas", "2"}, {4}), beam);
  const auto transcribed = folder_.run(
      {"transcribe", in("output"), "--manifest", in("validation.jsonl"), "--beam", "5", "--json"});
  EXPECT_EQ(texts(transcribed.out, "text"), beam);
}

// Several texts of each utterance, with their scores, alike on all ranks.
TEST_F(BeamSearch, ListsTheBestTexts) {
  const std::vector<std::string> words = {"--beam", "5", "--nbest", "3"};
  (void)evaluated("one", words);
  const std::string lines = test::read_file(in("one"));
  auto grid = words;
  grid.insert(grid.end(), {"--replicas", "2"});
  (void)evaluated("grid", grid, {4});
  EXPECT_EQ(test::read_file(in("grid")), lines);
  std::size_t listed = 0;
  for (const nlohmann::json& line : parsed(lines)) {
    EXPECT_EQ(line.at("nbest").at(0),
              (nlohmann::json{{"text", line.at("hypothesis")}, {"score", line.at("score")}}));
    listed += line.at("nbest").size();
  }
  EXPECT_GT(listed, 7u);
  std::vector<std::string> transcribe = {"transcribe", in("output"), "--manifest",
                                         in("validation.jsonl"), "--json"};
  transcribe.insert(transcribe.end(), words.begin(), words.end());
  const auto transcribed = parsed(folder_.run(transcribe).out), written = parsed(lines);
  ASSERT_EQ(transcribed.size(), 7u);
  // A window of transcribe has other utterances together, whose products round differently.
  for (std::size_t i = 0; i < transcribed.size(); ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      const nlohmann::json &one = transcribed[i].at("nbest").at(k),
                           &other = written[i].at("nbest").at(k);
      EXPECT_EQ(one.at("text"), other.at("text"));
      EXPECT_NEAR(one.at("score").get<double>(), other.at("score").get<double>(), 1e-5);
    }
  std::erase(transcribe, "--json");
  const auto refused = folder_.run(transcribe);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--nbest is for lines of JSON alone: add --json, or --output FILE"),
            std::string::npos)
      << refused.err;
}

// A file of results has the texts of one beam.
TEST_F(BeamSearch, ResumesWithTheSameBeamAlone) {
  (void)evaluated("results", {"--beam", "5"});
  const std::vector<std::string> words = {"evaluate",  in("output"),  in("validation.jsonl"),
                                          "--results", in("results"), "--resume"};
  const auto other = folder_.run(words);
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("holds results of something else"), std::string::npos) << other.err;
  std::vector<std::string> same = words;
  same.insert(same.end(), {"--beam", "5"});
  EXPECT_EQ(folder_.run(same).code, 0);
}

TEST_F(BeamSearch, ChangesTextsOfCtcAlikeOnAllRanks) {
  train(checkpoint = "ctc", {"trainer.steps=8"});
  const auto greedy = evaluated("greedy", {}), beam = evaluated("beam", {"--beam", "5"});
  EXPECT_NE(beam, greedy);
  EXPECT_EQ(evaluated("threads", {"--beam", "5", "--threads", "3"}), beam);
  EXPECT_EQ(evaluated("grid", {"--beam", "5", "--replicas", "2"}, {4}), beam);
  EXPECT_EQ(evaluated("named", {"--beam", "5", "--label-floor", "-5", "--score-range", "10"}),
            beam);
  // The likeliest label of each frame alone is the greedy path.
  EXPECT_EQ(evaluated("pruned", {"--beam", "5", "--label-floor", "0"}), greedy);
}

TEST_F(BeamSearch, TakesALanguageModelOfWords) {
  train(checkpoint = "ctc", {"trainer.steps=8", "text.alphabet=ab cd"});
  const std::string model = test::source("tests/golden/ctc_beam/digits.arpa");
  const std::vector<std::string> options = {"--beam",      "5",   "--lm",         model,
                                            "--lm-weight", "0.2", "--word-score", "9"};
  if (!runtime::reads_ngram_models()) {
    std::vector<std::string> words = {"transcribe", in(checkpoint), in("train-0.wav")};
    words.insert(words.end(), options.begin(), options.end());
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("tools/kenlm"), std::string::npos) << outcome.err;
    GTEST_SKIP() << "No KenLM: penstock evaluates no language model";
  }
  const auto plain = evaluated("plain", {"--beam", "5"}), words = evaluated("words", options);
  EXPECT_NE(words, plain);
  const auto other = folder_.run({"evaluate", in(checkpoint), in("validation.jsonl"), "--results",
                                  in("words"), "--resume", "--beam", "5", "--lm", model});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("holds results of something else"), std::string::npos) << other.err;
}

TEST_F(BeamSearch, IsRefusedBeyondItsLimits) {
  train("ctc", {"trainer.steps=1"});
  const auto refused = [&](const std::string& command, const std::string& checkpoint,
                           std::vector<std::string> options, const std::string& said) {
    options.insert(options.begin(), {command, in(checkpoint), in("train-0.wav")});
    const auto outcome = folder_.run(options);
    EXPECT_EQ(outcome.code, 2) << said;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  };
  for (const std::string command : {"evaluate", "transcribe"}) {
    for (const std::string beam : {"0", "101", "2.5"})
      refused(command, "output", {"--beam", beam},
              fmt::format("takes a whole number from 1 to 100, not {}", beam));
    refused(command, "output", {"--beam", "4", "--label-floor", "-3"},
            "its decoder is tdt, and --label-floor is for CTC: leave it out");
    refused(command, "ctc", {"--score-range", "3"},
            "--score-range is for a beam search: leave it out, or give --beam 2 or more");
    refused(command, "ctc", {"--beam", "4", "--word-score", "1"},
            "--word-score is for --lm alone: leave it out, or name a file by --lm");
    refused(command, "ctc", {"--hot-words", "names.txt"},
            "--hot-words is for a beam search: leave it out, or give --beam 2 or more");
    refused(command, "ctc", {"--beam", "4", "--hot-score", "1"},
            "--hot-score is for --hot-words alone: leave it out, or name a file by --hot-words");
    refused(command, "ctc", {"--beam", "4", "--label-floor", "1"},
            "takes a number from -1000 to 0, not 1");
  }
  const auto plain = folder_.run({"transcribe", in("ctc"), in("train-0.wav"), "--beam", "1"});
  EXPECT_EQ(plain.code, 0) << plain.err;
}

// A score of 1000 outweighs the audio, and one of 0 does nothing.
TEST_F(BeamSearch, PrefersHotWords) {
  train("ctc", {"trainer.steps=8", "text.alphabet=ab cd"});
  const auto texts = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"transcribe",    in("ctc"), in("train-0.wav"), "--beam", "8",
                                      "--label-floor", "-100"};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  test::write_file(in("hot.txt"), "dab\n");
  EXPECT_NE(texts({"--hot-words", in("hot.txt"), "--hot-score", "1000"}).find("dab"),
            std::string::npos);
  EXPECT_EQ(texts({"--hot-words", in("hot.txt"), "--hot-score", "0"}), texts({}));
}

}  // namespace
}  // namespace penstock::tools
