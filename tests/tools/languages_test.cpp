#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

/// A decoder that reads a prompt of each utterance's language, and has learned from two languages
/// and from utterances without one.
class Languages : public testing::Test {
 protected:
  Languages() {
    name_languages("train.jsonl", {"", "en", "de"});
    name_languages("validation.jsonl", {"de", "en", ""});
  }

  /// Gives the lines of a manifest these languages in turns.
  void name_languages(const std::string& manifest, const std::vector<std::string>& languages) {
    std::istringstream lines(test::read_file(folder_.in(manifest)));
    std::string named;
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line); ++number) {
      auto json = nlohmann::json::parse(line);
      const std::string& language = languages[number % languages.size()];
      json.erase("language");
      if (!language.empty()) json["language"] = language;
      named += json.dump() + "\n";
    }
    test::write_file(folder_.in(manifest), named);
  }

  test::Outcome train(const std::string& output, std::vector<std::string> more = {},
                      test::Ranks ranks = {}) const {
    std::vector<std::string> words = {"model.decoder=attention",
                                      "decoder.width=12",
                                      "decoder.layers=2",
                                      "decoder.heads=2",
                                      "decoder.inner=10",
                                      "decoder.prompt=[3]",
                                      R"(decoder.languages=["en", "de"])",
                                      "decoder.prompts=[1, 2]",
                                      "optimizer.learning_rate=0.02",
                                      "trainer.steps=12"};
    words.insert(words.end(), more.begin(), more.end());
    return folder_.train(output, words, ranks);
  }

  /// Returns the scores of the validation set's texts, to the last digit.
  std::vector<std::string> evaluated(std::vector<std::string> more, test::Ranks ranks = {}) {
    const std::string results = folder_.in("results-" + std::to_string(++evaluations_));
    more.insert(more.begin(), {"evaluate", folder_.in("output"), folder_.in("validation.jsonl"),
                               "--beam", "2", "--results", results});
    const auto outcome = folder_.run(more, ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return scores(test::read_file(results));
  }
  std::vector<std::string> transcribed(std::vector<std::string> more) const {
    more.insert(more.begin(), {"transcribe", folder_.in("output"), "--manifest",
                               folder_.in("validation.jsonl"), "--beam", "2", "--json"});
    const auto outcome = folder_.run(more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return scores(outcome.out);
  }
  static std::vector<std::string> scores(const std::string& lines) {
    std::vector<std::string> scores;
    std::istringstream from(lines);
    for (std::string line; std::getline(from, line);)
      scores.push_back(nlohmann::json::parse(line).at("score").dump());
    return scores;
  }

  int evaluations_ = 0;
  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(Languages, TrainAlikeOnAllRanks) {
  const auto outcome = train("output");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto alone = folder_.record("output");
  const std::pair<std::vector<std::string>, int> layouts[] = {
      {{"pipeline.stages=3"}, 3}, {{"pipeline.stages=2", "pipeline.replicas=2"}, 4}};
  for (const auto& [layout, ranks] : layouts) {
    const std::string name = "output-" + std::to_string(ranks);
    const auto several = train(name, layout, {ranks});
    ASSERT_EQ(several.code, 0) << several.err;
    EXPECT_EQ(folder_.record(name), alone);
  }
}

TEST_F(Languages, DecideWhatIsWritten) {
  const auto outcome = train("output");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto mixed = evaluated({});
  EXPECT_EQ(evaluated({}, {3}), mixed);
  const auto german = evaluated({"--language", "DE"}, {2});
  EXPECT_NE(transcribed({"--language", "de"}), transcribed({}));
  name_languages("validation.jsonl", {"de"});
  EXPECT_EQ(evaluated({}), german);
  name_languages("validation.jsonl", {""});
  const auto usual = evaluated({});
  // The languages of the lines were de, en and none, in turns.
  ASSERT_EQ(mixed.size(), 7u);
  for (const std::size_t i : {0, 3, 6}) EXPECT_EQ(mixed[i], german[i]);
  for (const std::size_t i : {1, 4}) {
    EXPECT_NE(mixed[i], german[i]);
    EXPECT_NE(mixed[i], usual[i]);
  }
  for (const std::size_t i : {2, 5}) EXPECT_EQ(mixed[i], usual[i]);
}

TEST_F(Languages, MayChangeWhereARunAcceptsIt) {
  const auto outcome = train("output");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<std::string> more = {R"(decoder.languages=["en", "de", "fr"])",
                                         "decoder.prompts=[1, 2, 4]", "trainer.steps=14",
                                         "trainer.resume=true"};
  const auto refused = train("output", more);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("decoder.languages"), std::string::npos) << refused.err;
  std::vector<std::string> accepting = more;
  accepting.emplace_back(R"(trainer.accept=["decoder.languages", "decoder.prompts"])");
  const auto resumed = train("output", accepting);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST_F(Languages, WithoutAPromptAreRefused) {
  name_languages("train.jsonl", {"en", "fr"});
  const auto outcome = train("output");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("train.jsonl:2: its language 'fr' has no prompt: decoder.languages = "
                             "[\"en\", \"de\"] names all that have"),
            std::string::npos)
      << outcome.err;
}

TEST_F(Languages, AreRefusedWhenUnknownToTheModel) {
  const auto trained = train("output", {"trainer.steps=1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto outcome = folder_.run(
      {"transcribe", folder_.in("output"), folder_.in("train-0.wav"), "--language", "fr"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("no prompt of the language 'fr': it has those of en, de"),
            std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
