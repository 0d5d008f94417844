#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/decoding/ngram_model.h"
#include "tests/support/runtime/training_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

/// A CTC model that has learned a little, and a language model of other words.
class Tune : public testing::Test {
 protected:
  Tune() {
    const auto trained = folder_.train("output", {"trainer.steps=8", "text.alphabet=ab cd"});
    if (trained.code != 0) throw std::runtime_error(trained.err);
  }

  std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"tune",
                                      folder_.in("output"),
                                      folder_.in("validation.jsonl"),
                                      "--lm",
                                      lm_,
                                      "--beam",
                                      "5",
                                      "--points",
                                      "2",
                                      "--rounds",
                                      "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const std::string lm_ = test::source("tests/golden/ctc_beam/digits.arpa");
  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(Tune, CountsWhatEvaluateCountsOnAllRanks) {
  if (!runtime::reads_ngram_models()) GTEST_SKIP() << "No KenLM: there is nothing to tune";
  const auto one = folder_.run(command({"--json"}));
  ASSERT_EQ(one.code, 0) << one.err;
  const auto grid = folder_.run(command({"--json", "--replicas", "2", "--window", "3"}), {4});
  EXPECT_EQ(grid.out, one.out) << grid.err;
  const auto json = nlohmann::json::parse(one.out);
  const auto& tried = json.at("tried");
  EXPECT_EQ(json.at("utterances"), 7);
  ASSERT_GE(tried.size(), 6U);
  std::int64_t fewest = tried[0].at("word_edits");
  for (const auto& weights : tried) {
    const auto alone =
        folder_.run({"evaluate", folder_.in("output"), folder_.in("validation.jsonl"), "--lm", lm_,
                     "--beam", "5", "--lm-weight", weights.at("lm_weight").dump(), "--word-score",
                     weights.at("word_score").dump(), "--json"});
    const auto own = nlohmann::json::parse(alone.out);
    EXPECT_EQ(own.at("word_edits"), weights.at("word_edits")) << weights;
    EXPECT_EQ(own.at("character_edits"), weights.at("character_edits")) << weights;
    fewest = std::min(fewest, weights.at("word_edits").get<std::int64_t>());
  }
  EXPECT_EQ(json.at("best").at("word_edits"), fewest);
  EXPECT_EQ(json.at("given"), tried[0]);
}

TEST_F(Tune, PrintsOptionsToPaste) {
  if (!runtime::reads_ngram_models()) GTEST_SKIP() << "No KenLM: there is nothing to tune";
  const auto told = folder_.run(command({"--metric", "cer", "--score-range", "8"}));
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_NE(told.out.find("as given"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find(fmt::format("\n--beam 5 --lm {} --lm-weight ", lm_)), std::string::npos)
      << told.out;
  EXPECT_NE(told.out.find(" --score-range 8\n"), std::string::npos) << told.out;
  EXPECT_NE(told.err.find("weights tried: "), std::string::npos) << told.err;
}

TEST_F(Tune, SaysWhatItNeeds) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& said) {
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 2) << said;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  };
  refused({"tune", folder_.in("output"), folder_.in("validation.jsonl")}, "name one by --lm");
  refused(
      {"tune", folder_.in("output"), folder_.in("validation.jsonl"), "--lm", lm_, "--beam", "1"},
      "takes a whole number from 2 to 100, not 1");
  if (!runtime::reads_ngram_models()) GTEST_SKIP() << "No KenLM: the rest needs a language model";
  refused(command({"--lm-weights", "2", "1"}),
          "the range of the language model's weights is 2 to 1");
}

}  // namespace
}  // namespace penstock::tools
