#include "layers/losses/ctc_prefix_score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "layers/losses/ctc.h"

namespace penstock::layers {
namespace {

using Text = std::vector<std::int32_t>;

constexpr std::int64_t kFrames = 5, kScoredClasses = 4;

std::vector<float> noise(std::int64_t frames) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(static_cast<std::size_t>(frames * kScoredClasses));
  for (float& logit : logits) logit = normal(random);
  return logits;
}

/// Returns the probability of every text: the sum over all alignments that CTC's rule makes it of.
std::map<Text, double> probabilities(const std::vector<float>& logits, std::int64_t frames) {
  std::map<Text, double> sums;
  std::int64_t paths = 1;
  for (std::int64_t t = 0; t < frames; ++t) paths *= kScoredClasses;
  for (std::int64_t path = 0; path < paths; ++path) {
    double probability = 1;
    std::vector<float> one_hot(logits.size());
    std::int64_t rest = path;
    for (std::int64_t t = 0; t < frames; ++t, rest /= kScoredClasses) {
      const float* row = logits.data() + t * kScoredClasses;
      double sum = 0;
      for (std::int64_t c = 0; c < kScoredClasses; ++c)
        sum += std::exp(static_cast<double>(row[c]));
      probability *= std::exp(static_cast<double>(row[rest % kScoredClasses])) / sum;
      one_hot[static_cast<std::size_t>(t * kScoredClasses + rest % kScoredClasses)] = 1;
    }
    sums[ctc_greedy_labels(one_hot, kScoredClasses, kScoredClasses)] += probability;
  }
  return sums;
}

/// Returns the probability that a text begins so.
double beginning(const std::map<Text, double>& texts, const Text& prefix) {
  double sum = 0;
  for (const auto& [text, probability] : texts)
    if (text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin()))
      sum += probability;
  return sum;
}

CtcPrefixScore::Prefix prefix_of(const CtcPrefixScore& score, const Text& text) {
  CtcPrefixScore::Prefix prefix = score.empty();
  for (const std::int32_t label : text) prefix = score.extended(prefix, label);
  return prefix;
}

TEST(CtcPrefixScore, EqualsSumsOverAllAlignments) {
  for (const std::int64_t frames : {1, 2, 5}) {
    const std::vector<float> logits = noise(frames);
    const auto texts = probabilities(logits, frames);
    const CtcPrefixScore score(logits, kScoredClasses);
    EXPECT_EQ(score.frames(), frames);
    std::vector<Text> prefixes = {{}};
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      const Text text = prefixes[i];
      const CtcPrefixScore::Prefix prefix = prefix_of(score, text);
      EXPECT_NEAR(std::exp(prefix.log_probability), beginning(texts, text), 1e-13);
      const double whole = texts.contains(text) ? texts.at(text) : 0;
      EXPECT_NEAR(std::exp(score.whole(prefix)), whole, 1e-13);
      if (whole > 0) {
        EXPECT_NEAR(score.whole(prefix), std::log(whole), 1e-11);
      }
      for (std::int32_t label = 1; label < kScoredClasses && text.size() <= 5; ++label) {
        prefixes.push_back(text);
        prefixes.back().push_back(label);
      }
    }
    EXPECT_GT(prefixes.size(), 1000u);
  }
}

TEST(CtcPrefixScore, SharesAPrefixAmongItsTexts) {
  const CtcPrefixScore score(noise(60), kScoredClasses);
  const CtcPrefixScore::Prefix prefix = prefix_of(score, {2, 2, 1, 3, 2, 1, 1});
  double sum = std::exp(score.whole(prefix));
  for (std::int32_t label = 1; label < kScoredClasses; ++label)
    sum += std::exp(score.extended(prefix, label).log_probability);
  EXPECT_NEAR(sum / std::exp(prefix.log_probability), 1, 1e-11);
}

TEST(CtcPrefixScore, KnowsWhatCannotBeText) {
  const CtcPrefixScore score(noise(kFrames), kScoredClasses);
  const auto of = [&](const Text& text) { return prefix_of(score, text).log_probability; };
  const double impossible = -std::numeric_limits<double>::infinity();
  for (const std::int32_t label : {0, -1, int{kScoredClasses}}) EXPECT_EQ(of({label}), impossible);
  EXPECT_EQ(of({1, 0, 1}), impossible);
  EXPECT_GT(of({1, 1, 1}), impossible);
  EXPECT_EQ(of({1, 1, 1, 1}), impossible) << "blanks between equal labels take frames too";
}

TEST(CtcPrefixScore, RefusesLogitsOfNoWholeFrames) {
  EXPECT_THROW(CtcPrefixScore({}, 3), ShapeError);
  EXPECT_THROW(CtcPrefixScore({1, 2, 3, 4}, 3), ShapeError);
  EXPECT_THROW(CtcPrefixScore({1, 2}, 0), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
