#include "runtime/decoding/ctc_beam.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/runtime/decoding/two_words.h"

namespace penstock::runtime {
namespace {

using layers::Hypothesis;

// Sums of a few hundred logarithms in FP64.
constexpr double kRounding = 1e-9;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::vector<std::string> kLetters = {"", " ", "a", "b"};
const std::vector<std::string> kPieces = {"", " a", "a", "b", " ab"};

/// Keeps everything.
const CtcBeamOptions kWhole{.beam = 1 << 20, .label_floor = -kInfinity, .score_range = kInfinity};

/// Writes a transcript: one space between words, none at the ends.
std::string written(const std::vector<std::string>& texts, std::span<const std::int32_t> labels) {
  std::string text;
  for (const std::int32_t label : labels)
    for (const char c : texts[static_cast<std::size_t>(label)])
      if (c != ' ' || (!text.empty() && text.back() != ' ')) text += c;
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

CtcBeam beam_with(const CtcBeamOptions& options, const std::vector<std::string>& texts,
                  std::shared_ptr<const WordScores> scores = nullptr) {
  return {options, texts, [texts](auto labels) { return written(texts, labels); },
          std::move(scores)};
}

std::vector<float> random_logits(std::size_t frames, std::size_t classes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> logits(frames * classes);
  for (float& logit : logits) logit = static_cast<float>(random() % 1000) / 200.0f;
  return logits;
}

/// Returns the probability of each text by the definition: it follows all paths, one by one.
std::map<std::string, double> all_texts(const std::vector<std::string>& texts,
                                        const std::vector<float>& logits) {
  const std::size_t classes = texts.size(), frames = logits.size() / classes;
  std::map<std::string, double> sums;
  const auto paths = static_cast<std::size_t>(std::pow(classes, frames));
  for (std::size_t path = 0; path < paths; ++path) {
    std::vector<std::int32_t> labels;
    double probability = 1;
    std::size_t before = 0;
    for (std::size_t t = 0, rest = path; t < frames; ++t, rest /= classes) {
      const std::size_t label = rest % classes;
      double sum = 0;
      const auto odds = [&](std::size_t c) {
        return std::exp(static_cast<double>(logits[t * classes + c]));
      };
      for (std::size_t c = 0; c < classes; ++c) sum += odds(c);
      probability *= odds(label) / sum;
      if (label != 0 && label != before) labels.push_back(static_cast<std::int32_t>(label));
      before = label;
    }
    sums[written(texts, labels)] += probability;
  }
  return sums;
}

struct SmallLattice {
  std::vector<std::string> texts;
  std::size_t frames = 0;
  unsigned seed = 0;
};

class SmallCtcBeam : public testing::TestWithParam<SmallLattice> {
 protected:
  const std::vector<std::string>& texts() const { return GetParam().texts; }
  std::vector<Hypothesis> search(const CtcBeamOptions& options) const {
    const auto classes = static_cast<std::int64_t>(texts().size());
    return beam_with(options, texts()).hypotheses(logits, classes, classes);
  }

  std::vector<float> logits = random_logits(GetParam().frames, texts().size(), GetParam().seed);
};

TEST_P(SmallCtcBeam, WholeBeamsGiveExactProbabilities) {
  const std::map<std::string, double> all = all_texts(texts(), logits);
  const std::vector<Hypothesis> found = search(kWhole);
  ASSERT_EQ(found.size(), all.size());
  double sum = 0;
  for (const Hypothesis& one : found) {
    EXPECT_NEAR(one.score, std::log(all.at(written(texts(), one.labels))), kRounding);
    sum += std::exp(one.score);
  }
  EXPECT_NEAR(sum, 1, kRounding);
  const auto best =
      std::ranges::max_element(all, {}, &std::pair<const std::string, double>::second);
  EXPECT_EQ(written(texts(), found.front().labels), best->first);
}

// A narrow beam leaves paths out, so no text gets more than its probability.
TEST_P(SmallCtcBeam, NarrowBeamsFindPartsOfTheSums) {
  const std::map<std::string, double> all = all_texts(texts(), logits);
  for (const int beam : {1, 2, 3, 10}) {
    const std::vector<Hypothesis> found = search({beam, -2, 6});
    EXPECT_FALSE(found.empty());
    EXPECT_LE(std::ssize(found), beam);
    for (const Hypothesis& one : found)
      EXPECT_LE(one.score, std::log(all.at(written(texts(), one.labels))) + kRounding);
    EXPECT_TRUE(std::ranges::is_sorted(found, std::greater(), &Hypothesis::score));
  }
}

// The score of each text is its exact log-probability and that of its words.
TEST_P(SmallCtcBeam, WordsAddToTheScores) {
  const std::map<std::string, double> all = all_texts(texts(), logits);
  const auto scores = std::make_shared<const WordScores>(
      WordScoring{.lm_weight = 0.4, .word_score = 1}, std::make_shared<const TwoWords>());
  const CtcBeam beam(
      kWhole, texts(), [&](auto labels) { return written(texts(), labels); }, scores);
  const auto classes = static_cast<std::int64_t>(texts().size());
  const std::vector<Hypothesis> found = beam.hypotheses(logits, classes, classes);
  ASSERT_EQ(found.size(), all.size());
  for (const Hypothesis& one : found) {
    const std::string text = written(texts(), one.labels);
    EXPECT_NEAR(
        one.score,
        std::log(all.at(text)) + scores->ended_score(scores->extended(scores->start(), text)),
        kRounding)
        << text;
  }
  EXPECT_TRUE(std::ranges::is_sorted(found, std::greater(), &Hypothesis::score));
}

INSTANTIATE_TEST_SUITE_P(Lattices, SmallCtcBeam,
                         testing::Values(SmallLattice{kLetters, 0, 1}, SmallLattice{kLetters, 1, 2},
                                         SmallLattice{kLetters, 5, 3}, SmallLattice{kLetters, 7, 4},
                                         SmallLattice{kPieces, 5, 5}, SmallLattice{kPieces, 6, 6},
                                         SmallLattice{{"", "a", "b"}, 8, 7}));

/// Returns the best text of a search with `beam` texts that keeps all labels and has no tree.
std::pair<std::vector<std::int32_t>, double> best_by_maps(const std::vector<float>& logits,
                                                          std::size_t classes, std::size_t beam) {
  using Labels = std::vector<std::int32_t>;
  struct Sums {
    double blank = 0, label = 0;
  };
  std::map<Labels, Sums> texts = {{{}, {1, 0}}};
  for (std::size_t start = 0; start < logits.size(); start += classes) {
    std::vector<double> y(logits.begin() + static_cast<std::ptrdiff_t>(start),
                          logits.begin() + static_cast<std::ptrdiff_t>(start + classes));
    double sum = 0;
    for (double& p : y) sum += p = std::exp(p);
    std::map<Labels, Sums> next;
    for (const auto& [labels, sums] : texts) {
      const double both = sums.blank + sums.label;
      next[labels].blank += both * y[0] / sum;
      for (std::size_t c = 1; c < classes; ++c) {
        Labels longer = labels;
        longer.push_back(static_cast<std::int32_t>(c));
        const bool repeated = !labels.empty() && labels.back() == longer.back();
        if (repeated) next[labels].label += sums.label * y[c] / sum;
        next[longer].label += (repeated ? sums.blank : both) * y[c] / sum;
      }
    }
    std::vector<std::pair<double, Labels>> ranked;
    for (const auto& [labels, sums] : next) ranked.emplace_back(sums.blank + sums.label, labels);
    std::ranges::sort(ranked, std::greater());
    texts.clear();
    for (const auto& [p, labels] : std::span(ranked).first(std::min(beam, ranked.size())))
      texts[labels] = next[labels];
  }
  std::pair<Labels, double> best;
  for (const auto& [labels, sums] : texts)
    if (sums.blank + sums.label > best.second) best = {labels, sums.blank + sums.label};
  return best;
}

// Narrow beams make and forget nodes at each frame.
TEST(CtcBeam, FindsWhatASearchWithoutATreeFinds) {
  const std::vector<std::string> texts = {"", "a", "b", "c"};
  for (const std::size_t beam : {1, 2, 5, 30}) {
    const std::vector<float> logits = random_logits(60, texts.size(), 11);
    CtcBeamOptions options = kWhole;
    options.beam = static_cast<int>(beam);
    const auto found = beam_with(options, texts).hypotheses(logits, 4, 4);
    const auto [labels, probability] = best_by_maps(logits, texts.size(), beam);
    EXPECT_EQ(found.front().labels, labels);
    EXPECT_NEAR(found.front().score, std::log(probability), kRounding);
  }
}

std::vector<float> logits_of(const std::vector<std::vector<double>>& frames) {
  std::vector<float> logits;
  for (const auto& frame : frames)
    for (const double p : frame) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

// The likeliest path is empty with 0.36; "a" has 0.24 + 0.24 + 0.16.
TEST(CtcBeam, FindsATextThatGreedyDecodingMisses) {
  const std::vector<std::string> texts = {"", "a"};
  const auto found =
      beam_with({.beam = 4}, texts).hypotheses(logits_of({{0.6, 0.4}, {0.6, 0.4}}), 2, 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.front().labels, std::vector<std::int32_t>{1});
  EXPECT_NEAR(found.front().score, std::log(0.64), 1e-6);
}

TEST(CtcBeam, LeavesOutUnlikelyLabelsButTheBest) {
  const std::vector<std::string> texts = {"", "a", "b"};
  const std::vector<float> logits = logits_of({{0.2, 0.7, 0.1}, {0.3, 0.3, 0.4}});
  const auto search = [&](double floor) {
    std::vector<std::string> found;
    for (const Hypothesis& one :
         beam_with({.beam = 9, .label_floor = floor}, texts).hypotheses(logits, 3, 3))
      found.push_back(written(texts, one.labels));
    return found;
  };
  EXPECT_EQ(search(0), (std::vector<std::string>{"ab"}));
  EXPECT_EQ(search(std::log(0.25)), (std::vector<std::string>{"a", "ab"}));
  EXPECT_EQ(search(std::log(0.15)).size(), 4u);
}

TEST(CtcBeam, DropsTextsOutsideTheRangeOfScores) {
  const std::vector<std::string> texts = {"", "a", "b"};
  const std::vector<float> logits = logits_of({{0.1, 0.8, 0.1}});
  const auto count = [&](double range) {
    return beam_with({.beam = 9, .score_range = range}, texts).hypotheses(logits, 3, 3).size();
  };
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(count(3), 3u);
}

TEST(CtcBeam, TakesClassesBeyondLabelsOutOfTexts) {
  const auto found = beam_with(kWhole, {"", "a"}).hypotheses(logits_of({{0.1, 0.2, 0.7}}), 3, 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found.front().score, std::log(0.2), 1e-6);
}

TEST(CtcBeam, HearsABlankWhereNothingIsFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {0, 5, nan, nan, 0, 5};
  const auto found = beam_with({.beam = 4}, {"", "a"}).hypotheses(logits, 2, 2);
  EXPECT_EQ(found.front().labels, (std::vector<std::int32_t>{1, 1}));
}

TEST(CtcBeam, IsTheSameFromManyThreads) {
  const std::vector<float> logits = random_logits(300, 4, 9);
  const auto words =
      std::make_shared<const WordScores>(WordScoring{}, std::make_shared<TwoWords>());
  for (const auto& scores : {std::shared_ptr<const WordScores>(), words}) {
    const CtcBeam beam = beam_with({.beam = 20}, kLetters, scores);
    const std::vector<Hypothesis> alone = beam.hypotheses(logits, 4, 4);
    EXPECT_GT(alone.front().labels.size(), 20u);
    std::vector<std::vector<Hypothesis>> found(4);
    std::vector<std::thread> threads;
    for (auto& one : found) threads.emplace_back([&] { one = beam.hypotheses(logits, 4, 4); });
    for (std::thread& thread : threads) thread.join();
    for (const auto& one : found) EXPECT_EQ(one, alone);
  }
}

TEST(CtcBeam, RefusesWhatItCannotSearch) {
  EXPECT_THROW(beam_with({.beam = 0}, kLetters), ConfigError);
  EXPECT_THROW(beam_with({.label_floor = 1}, kLetters), ConfigError);
  EXPECT_THROW(beam_with({.score_range = -1}, kLetters), ConfigError);
  EXPECT_THROW(beam_with({.score_range = std::nan("")}, kLetters), ConfigError);
  const CtcBeam beam = beam_with({}, kLetters);
  EXPECT_THROW((void)beam.hypotheses(random_logits(1, 5, 1), 4, 4), ShapeError);
  EXPECT_THROW((void)beam.hypotheses(random_logits(1, 3, 1), 3, 4), ShapeError);
  EXPECT_THROW((void)beam.hypotheses(random_logits(1, 5, 1), 5, 5), ShapeError);
}

}  // namespace
}  // namespace penstock::runtime
