#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/decoding/ctc_beam.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

// Scores are written to four decimals, and sum FP32 log-probabilities of a language model.
constexpr double kFewDigits = 1e-3;
// pyctcdecode keeps paths that end in a blank apart, so its beams hold fewer texts, and its sums
// lack up to 1 % of their paths.
constexpr double kLost = 0.01;

/// A line of a file in tests/golden/ctc_beam/.
struct Case {
  std::vector<std::string> texts;  // of the labels
  std::vector<float> logits;
  std::optional<WordScoring> scoring;
  std::vector<std::pair<std::string, double>> best;  // of pyctcdecode
  HotWords hot;
};

std::filesystem::path golden(const std::string& name) {
  return test::source(std::filesystem::path("tests/golden/ctc_beam") / name);
}

std::vector<Case> golden_cases(const std::string& name) {
  std::vector<Case> cases;
  std::ifstream file(golden(name));
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    Case one;
    const std::string space = "▁";
    for (std::string label : json.at(0)) {
      if (label.starts_with(space)) label.replace(0, space.size(), " ");
      one.texts.push_back(label);
    }
    if (!json.at(1).at(0).is_null())
      one.scoring = WordScoring{json.at(1).at(0), json.at(1).at(1), json.at(1).at(2)};
    for (const auto& frame : json.at(2))
      for (const int hundredths : frame) one.logits.push_back(static_cast<float>(hundredths) / 100);
    for (const auto& best : json.at(3)) one.best.emplace_back(best.at(0), best.at(1));
    if (json.size() > 4) one.hot = {json.at(4).get<std::vector<std::string>>(), json.at(5)};
    cases.push_back(std::move(one));
  }
  return cases;
}

std::string joined(const std::vector<std::string>& texts, std::span<const std::int32_t> labels) {
  std::string text;
  for (const std::int32_t label : labels) text += texts[static_cast<std::size_t>(label)];
  return text.starts_with(' ') ? text.substr(1) : text;
}

/// The numbers of cases that were compared, and of those with a language model.
struct Compared {
  int all = 0, with_model = 0;
};

Compared compare(const std::string& name, const CtcBeamOptions& options) {
  Compared compared;
  for (const Case& one : golden_cases(name)) {
    if (one.scoring && !reads_ngram_models()) continue;
    std::shared_ptr<const WordScores> scores;
    if (one.scoring || !one.hot.empty())
      scores = std::make_shared<const WordScores>(
          one.scoring.value_or(WordScoring()),
          one.scoring ? read_ngram_model(golden("digits.arpa")) : nullptr, one.hot);
    const CtcBeam beam(
        options, one.texts, [&](auto labels) { return joined(one.texts, labels); }, scores);
    const auto classes = std::ssize(one.texts);
    const auto found = beam.hypotheses(one.logits, classes, classes);
    EXPECT_EQ(joined(one.texts, found.front().labels), one.best.front().first);
    EXPECT_GE(found.front().score, one.best.front().second - kFewDigits);
    EXPECT_LE(found.front().score, one.best.front().second + kFewDigits + kLost);
    ++compared.all;
    compared.with_model += one.scoring ? 1 : 0;
  }
  return compared;
}

TEST(Pyctcdecode, FindsTheSameTexts) {
  const Compared compared =
      compare("cases.jsonl", {.beam = 300, .label_floor = -5, .score_range = 25});
  EXPECT_GE(compared.all, 6);
  if (!reads_ngram_models())
    GTEST_SKIP() << "No KenLM: searches with a language model are not compared";
  EXPECT_GE(compared.with_model, 12);
}

TEST(Pyctcdecode, FindsTheSameHotWords) {
  const Compared compared =
      compare("hot_words.jsonl", {.beam = 1000, .label_floor = -5, .score_range = 12});
  EXPECT_GE(compared.all, 8);
  if (!reads_ngram_models())
    GTEST_SKIP() << "No KenLM: hot words beside a language model are not compared";
  EXPECT_GE(compared.with_model, 4);
}

}  // namespace
}  // namespace penstock::runtime
