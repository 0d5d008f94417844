#include "layers/losses/text_beam.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "base/error.h"

namespace penstock::layers {
namespace {

using Text = std::vector<std::int32_t>;

constexpr std::int32_t kBeamClasses = 4, kEos = 2;

/// A decoder that predicts by a table of noise: each text has logits of its own.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : seed_(seed) {}

  std::vector<float> logits(const Text& text) const {
    std::seed_seq seeds{static_cast<std::uint64_t>(text.size()), seed_, hash(text)};
    std::mt19937 random(seeds);
    std::normal_distribution<float> normal;
    std::vector<float> logits(kBeamClasses);
    for (float& logit : logits) logit = normal(random);
    return logits;
  }
  double log_probability(const Text& text, std::int32_t next) const {
    const std::vector<float> row = logits(text);
    double sum = 0;
    for (const float one : row) sum += std::exp(static_cast<double>(one));
    return row[static_cast<std::size_t>(next)] - std::log(sum);
  }

 private:
  static std::uint64_t hash(const Text& text) {
    std::uint64_t sum = 1;
    for (const std::int32_t label : text) sum = 31 * sum + static_cast<std::uint64_t>(label) + 1;
    return sum;
  }
  std::uint64_t seed_;
};

/// Runs a search to its end. Each slot keeps its text, as caches keep its rows.
TextBeam searched(const Noise& model, const TextBeamOptions& options,
                  std::shared_ptr<const CtcPrefixScore> ctc = nullptr) {
  TextBeam beam(options, std::move(ctc));
  std::vector<Text> slots(static_cast<std::size_t>(options.beam));
  std::vector<bool> used = {true};
  used.resize(slots.size());
  while (!beam.ended()) {
    std::vector<std::vector<ScoredClass>> rows;
    for (std::size_t slot = 0; slot < slots.size(); ++slot)
      if (used[slot])
        rows.push_back(likeliest_classes(model.logits(slots[slot]), beam.classes_of_row()));
    beam.choose(rows);
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      const TextStep& step = beam.steps()[slot];
      used[slot] = step.goes_on();
      if (!used[slot]) continue;
      // In the order of the slots: a slot that is read must not have been written.
      if (step.parent != static_cast<std::int32_t>(slot))
        slots[slot] = slots[static_cast<std::size_t>(step.parent)];
    }
    for (std::size_t slot = 0; slot < slots.size(); ++slot)
      if (used[slot]) slots[slot].push_back(beam.steps()[slot].label);
  }
  return beam;
}

/// Returns the score of every text of up to `most` labels.
std::map<Text, double> scores(const Noise& model, const TextBeamOptions& options,
                              const CtcPrefixScore* ctc = nullptr) {
  std::map<Text, double> scores;
  struct Open {
    Text text;
    double attention;
    CtcPrefixScore::Prefix prefix;
  };
  std::vector<Open> open = {{{}, 0, ctc != nullptr ? ctc->empty() : CtcPrefixScore::Prefix{}}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [text, attention, prefix] = open[i];
    const auto score = [&](double of_attention, double of_ctc, std::size_t length) {
      const double w = options.ctc_weight;
      return ((1 - w) * of_attention + (w > 0 ? w * of_ctc : 0)) /
             std::pow(static_cast<double>(length), options.length_penalty);
    };
    if (std::ssize(text) == options.most) {
      scores[text] = score(attention, prefix.log_probability, text.size());
      continue;
    }
    scores[text] = score(attention + model.log_probability(text, kEos),
                         ctc != nullptr ? ctc->whole(prefix) : 0, text.size() + 1);
    for (std::int32_t label = 0; label < kBeamClasses; ++label) {
      if (label == kEos) continue;
      Text longer = text;
      longer.push_back(label);
      open.push_back({longer, attention + model.log_probability(text, label),
                      ctc != nullptr ? ctc->extended(prefix, label) : prefix});
    }
  }
  return scores;
}

std::shared_ptr<const CtcPrefixScore> noise_of_ctc(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> logits(7 * kBeamClasses);
  for (float& logit : logits) logit = normal(random);
  return std::make_shared<CtcPrefixScore>(logits, kBeamClasses);
}

/// Compares a beam that keeps every text with the scores of all texts.
void expect_the_best_of_all(TextBeamOptions options, bool by_ctc) {
  options.eos = kEos;
  options.most = 3;
  options.beam = 40;  // 1 + 3 + 9 + 27 texts
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Noise model(seed);
    const auto ctc = by_ctc ? noise_of_ctc(seed) : nullptr;
    const auto all = scores(model, options, ctc.get());
    const std::vector<Hypothesis> found = searched(model, options, ctc).hypotheses();
    const auto possible = std::ranges::count_if(
        all, [](const auto& one) { return one.second > -std::numeric_limits<double>::infinity(); });
    EXPECT_EQ(std::ssize(found), possible);
    for (const Hypothesis& one : found)
      EXPECT_NEAR(one.score, all.at(one.labels), 1e-12) << testing::PrintToString(one.labels);
    EXPECT_TRUE(std::ranges::is_sorted(found, std::greater(), &Hypothesis::score));
  }
}

TEST(TextBeam, FindsTheBestOfAllTexts) {
  for (const double penalty : {0.0, 1.0, -1.0, 0.6})
    expect_the_best_of_all({.length_penalty = penalty}, false);
}

TEST(TextBeam, ScoresTogetherWithCtc) {
  for (const double weight : {0.3, 1.0}) {
    expect_the_best_of_all({.length_penalty = 0, .ctc_weight = weight}, true);
    expect_the_best_of_all({.length_penalty = 1, .ctc_weight = weight}, true);
  }
}

TEST(TextBeam, WritesGreedilyWithABeamOfOne) {
  int ended = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Noise model(seed);
    Text greedy;
    bool eos = false;
    while (!eos && greedy.size() < 6) {
      const std::vector<float> row = model.logits(greedy);
      const auto next = static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
      eos = next == kEos;
      if (!eos) greedy.push_back(next);
    }
    const TextBeam beam = searched(model, {.beam = 1, .eos = kEos, .most = 6});
    ASSERT_EQ(beam.hypotheses().size(), 1u);
    EXPECT_EQ(beam.hypotheses().front().labels, greedy);
    ended += eos ? 1 : 0;
  }
  EXPECT_GT(ended, 0);
  EXPECT_LT(ended, 30);
}

// A narrow beam misses texts, and more of them than a wider one.
TEST(TextBeam, FindsBetterTextsWithWiderBeams) {
  std::vector<double> sums;
  for (const int beam : {2, 4, 8}) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed)
      sum += searched(Noise(seed), {.beam = beam, .length_penalty = 0, .eos = kEos, .most = 8})
                 .hypotheses()
                 .front()
                 .score;
    sums.push_back(sum);
  }
  EXPECT_LT(sums[0], sums[1]);
  EXPECT_LE(sums[1], sums[2]);
}

TEST(TextBeam, OrdersEqualsByHypothesisAndClass) {
  TextBeam beam({.beam = 2, .eos = kEos, .most = 9});
  beam.choose(
      std::vector<std::vector<ScoredClass>>{likeliest_classes(std::vector<float>{1, 1, 0, 1}, 4)});
  EXPECT_EQ(beam.steps(), (std::vector<TextStep>{{0, 0}, {1, 0}}));
  const auto equal = likeliest_classes(std::vector<float>{1, 0, 0, 1}, 4);
  beam.choose(std::vector{equal, equal});
  EXPECT_EQ(beam.steps(), (std::vector<TextStep>{{0, 0}, {3, 0}})) << "slot 1 has no successor";
}

// transformers takes them away after the softmax.
TEST(TextBeam, CountsWhatIsSuppressedInProbabilities) {
  const std::vector<float> row = {1, 4, 0, 3};
  const auto all = likeliest_classes(row, 4);
  const std::vector<std::int32_t> left_out = {1, 2};
  const auto found = likeliest_classes(row, 4, left_out);
  ASSERT_EQ(found.size(), 2u);
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(found[i].id, all[i + 1].id);
    EXPECT_DOUBLE_EQ(found[i].log_probability, all[i + 1].log_probability);
  }
  EXPECT_EQ(likeliest_classes(row, 1).front().id, 1);
  EXPECT_EQ(likeliest_classes(row, 1, left_out).front().id, 3);
  const std::vector<std::int32_t> every = {3, 1, 0, 2, 1};
  EXPECT_TRUE(likeliest_classes(row, 1, every).empty());
  EXPECT_TRUE(likeliest_classes(row, 4, every).empty());
}

// Texts stay in their slots, and others take those that are free.
TEST(TextBeam, ReadsNoSlotThatWasWritten) {
  TextBeam beam({.beam = 3, .eos = kEos, .most = 9});
  beam.choose(std::vector<std::vector<ScoredClass>>{{{0, -1}, {1, -2}, {3, -3}}});
  EXPECT_EQ(beam.steps(), (std::vector<TextStep>{{0, 0}, {1, 0}, {3, 0}}));
  beam.choose(
      std::vector<std::vector<ScoredClass>>{{{1, -8}}, {{1, -9}}, {{3, -1}, {0, -2}, {1, -3}}});
  EXPECT_EQ(beam.steps(), (std::vector<TextStep>{{0, 2}, {1, 2}, {3, 2}}));
}

TEST(TextBeam, EndsWhereNothingIsPossible) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(likeliest_classes(std::vector<float>{nan, nan}, 2).empty());
  EXPECT_EQ(likeliest_classes(std::vector<float>{nan, 3, nan}, 3).size(), 1u);
  TextBeam beam({.beam = 2, .eos = kEos, .most = 9});
  beam.choose(std::vector<std::vector<ScoredClass>>{{{1, -1}, {3, -2}}});
  beam.choose(std::vector<std::vector<ScoredClass>>{{}, {}});
  EXPECT_TRUE(beam.ended());
  ASSERT_EQ(beam.hypotheses().size(), 2u);
  EXPECT_EQ(beam.hypotheses().front().labels, Text{1});
}

TEST(TextBeam, RefusesOptionsThatDescribeNoSearch) {
  EXPECT_THROW(TextBeam({.beam = 0}), ConfigError);
  EXPECT_THROW(TextBeam({.length_penalty = std::nan("")}), ConfigError);
  EXPECT_THROW(TextBeam({.ctc_weight = 1.1}, noise_of_ctc(1)), ConfigError);
  EXPECT_THROW(TextBeam({.beam = 2, .ctc_weight = 0.5}), ConfigError);
  TextBeam beam({.beam = 2});
  EXPECT_THROW(beam.choose(std::vector<std::vector<ScoredClass>>(2)), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
