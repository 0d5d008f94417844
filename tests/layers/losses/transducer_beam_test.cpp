#include "layers/losses/transducer_beam.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "base/error.h"
#include "layers/losses/transducer_greedy.h"
#include "tests/layers/losses/labels.h"
#include "tests/layers/losses/transducer_model.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::layers {
namespace {

using Hypotheses = std::vector<Hypothesis>;

// A logit of these networks is a sum of about 20 FP32 products of a few units each, so it is wrong
// by some 1e-6, and its path has a dozen steps with a log-softmax or two.
constexpr double kRounding = 5e-5;

std::vector<double> softmax(std::span<const double> logits) {
  std::vector<double> p(logits.begin(), logits.end());
  const double high = std::ranges::max(p);
  for (double& x : p) x = std::exp(x - high);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

/// Finds the exact probability of every text by the definition: it follows all paths, one by one.
class AllPaths {
 public:
  AllPaths(const Model& model, std::span<const float> x, int max_labels_at_frame)
      : networks_(model), x_(x), max_(max_labels_at_frame) {
    const auto width = static_cast<std::size_t>(networks_.options().joint);
    frames_ = static_cast<std::int64_t>(x.size() / width);
    follow({0}, 0, 0, 1);
  }

  const std::map<Text, double>& texts() const { return texts_; }

 private:
  void follow(const Text& ids, std::int64_t frame, int stays, double p) {
    if (frame >= frames_) {
      texts_[Text(ids.begin() + 1, ids.end())] += p;
      return;
    }
    const std::vector<double>& logits = logits_of(ids, frame);
    const auto classes = static_cast<std::size_t>(networks_.options().classes);
    const std::vector<std::int32_t>& durations = networks_.options().durations;
    const std::vector<double> tokens = softmax(std::span(logits).first(classes));
    for (std::size_t token = 0; token < classes; ++token) {
      Text longer = ids;
      if (token > 0) longer.push_back(static_cast<std::int32_t>(token));
      if (durations.empty()) step(longer, frame, stays, token == 0 ? 1 : 0, p * tokens[token]);
      if (durations.empty()) continue;
      const std::vector<double> q = softmax(std::span(logits).subspan(classes));
      for (std::size_t d = 0; d < q.size(); ++d)
        step(longer, frame, stays, token == 0 ? std::max(durations[d], 1) : durations[d],
             p * tokens[token] * q[d]);
    }
  }

  void step(const Text& ids, std::int64_t frame, int stays, std::int32_t frames, double p) {
    if (frames == 0 && stays + 1 < max_)
      follow(ids, frame, stays + 1, p);
    else
      follow(ids, frame + std::max(frames, 1), 0, p);
  }

  const std::vector<double>& logits_of(const Text& ids, std::int64_t frame) {
    const auto [place, fresh] = logits_.try_emplace({ids, frame});
    const auto width = static_cast<std::size_t>(networks_.options().joint);
    if (fresh)
      place->second =
          networks_.logits(x_.subspan(static_cast<std::size_t>(frame) * width, width), ids);
    return place->second;
  }

  WholeTextNetworks networks_;
  std::span<const float> x_;
  int max_;
  std::int64_t frames_ = 0;
  std::map<Text, double> texts_;
  std::map<std::pair<Text, std::int64_t>, std::vector<double>> logits_;
};

/// A search small enough to follow all paths.
struct SmallSearch {
  std::string name;
  std::vector<std::int32_t> durations;
  std::int64_t context;  // labels of a stateless network, or 0 for an LSTM
  std::int64_t frames, classes;
  int max_labels_at_frame;
};

std::vector<SmallSearch> small_searches() {
  std::vector<SmallSearch> searches;
  for (const std::int64_t context : {0, 1, 2}) {
    searches.push_back({"rnnt", {}, context, 4, 3, 2});
    searches.push_back({"rnnt_of_one_label", {}, context, 5, 4, 1});
    searches.push_back({"tdt", {0, 1, 3}, context, 3, 3, 2});
    searches.push_back({"tdt_without_0", {1, 2}, context, 5, 3, 10});
  }
  return searches;
}

struct SmallBeam : testing::TestWithParam<SmallSearch> {
  SmallBeam() {
    TransducerOptions options = small_transducer(GetParam().durations);
    options.classes = GetParam().classes;
    options.nonlinearity = JointNonlinearity::tanh;
    if (GetParam().context > 0) options.prediction.kind = PredictionKind::stateless;
    if (GetParam().context > 0) options.prediction.context = GetParam().context;
    model.emplace(options, 23, 1.5);
    x = random_frames(GetParam().frames, options.joint, 3);
  }
  Hypotheses search(int beam, bool score_norm = false) const {
    return TransducerBeam(model->layer.options(), model->params(),
                          {beam, score_norm, GetParam().max_labels_at_frame})
        .hypotheses(x);
  }
  AllPaths all() const { return {*model, x, GetParam().max_labels_at_frame}; }

  std::optional<Model> model;
  std::vector<float> x;
};

constexpr int kAll = 5000;  // more hypotheses than any small search has

TEST_P(SmallBeam, WholeBeamsGiveExactProbabilities) {
  const AllPaths paths = all();
  const Hypotheses found = search(kAll);
  ASSERT_EQ(found.size(), paths.texts().size());
  ASSERT_GT(found.size(), 50u);
  double sum = 0;
  for (const auto& [labels, score] : found) {
    EXPECT_NEAR(score, std::log(paths.texts().at(labels)), kRounding);
    sum += std::exp(score);
  }
  EXPECT_NEAR(sum, 1, kRounding);
  const auto best =
      std::ranges::max_element(paths.texts(), {}, &std::pair<const Text, double>::second);
  EXPECT_EQ(found.front().labels, best->first);
}

TEST_P(SmallBeam, NormalisedScoresChooseByLabels) {
  const AllPaths paths = all();
  const auto score = [](const auto& text) {
    return std::log(text.second) / static_cast<double>(text.first.size() + 1);
  };
  const auto best = std::ranges::max_element(paths.texts(), {}, score);
  const Hypotheses found = search(kAll, true);
  EXPECT_EQ(found.front().labels, best->first);
  for (const Hypothesis& one : found)
    EXPECT_NEAR(one.score, score(*paths.texts().find(one.labels)), kRounding);
}

// A narrow beam leaves paths out, so no text gets more than its probability.
TEST_P(SmallBeam, NarrowBeamsFindPartsOfTheExactSums) {
  const AllPaths paths = all();
  const double most = search(kAll).front().score;
  for (const int beam : {1, 2, 3, 7, 20}) {
    const Hypotheses found = search(beam);
    EXPECT_LE(std::ssize(found), beam);
    for (const auto& [labels, score] : found)
      EXPECT_LE(score, std::log(paths.texts().at(labels)) + kRounding);
    EXPECT_LE(found.front().score, most + kRounding);
    EXPECT_TRUE(std::ranges::is_sorted(found, std::greater(), &Hypothesis::score));
  }
}

INSTANTIATE_TEST_SUITE_P(Searches, SmallBeam, testing::ValuesIn(small_searches()),
                         [](const auto& info) {
                           return info.param.name + "_" + std::to_string(info.param.context);
                         });

// Texts shorter than the limit of labels have all their paths, so the loss sums the same ones.
TEST(TransducerBeam, ProbabilitiesOfAnRnntAreItsLosses) {
  TransducerOptions options = small_transducer();
  options.classes = 3;
  Model model(options, 29, 1.5);
  const std::vector<float> x = random_frames(3, options.joint, 4);
  int compared = 0;
  for (const auto& [labels, score] :
       TransducerBeam(options, model.params(), {kAll, false, 3}).hypotheses(x)) {
    if (labels.size() >= 3) continue;
    Labels text({labels}, 1);
    test::LayerRunner runner(model.layer, {DType::f32, {{{3}, options.joint}}, text.counts()});
    runner.targets = &text.targets;
    for (std::size_t i = 0; i < model.params().size(); ++i)
      std::ranges::copy(test::numbers(model.params()[i]), runner.params()[i].as<float>());
    std::ranges::copy(x, runner.input().only().x_FC.as<float>());
    runner.forward();
    EXPECT_NEAR(-text.losses.front(), score, kRounding) << labels.size();
    ++compared;
  }
  EXPECT_EQ(compared, 1 + 2 + 4);
}

/// A joint network whose logits are those of the frame, plus a row for the last label.
struct PlainLogits {
  PlainLogits() : model(plain_options()) {
    for (const Tensor& param : model.params()) std::fill_n(param.as<float>(), param.size(), 0.0f);
    for (const std::size_t identity : {std::size_t{1}, std::size_t{3}})
      for (int i = 0; i < 4; ++i) model.params()[identity].as<float>()[5 * i] = 1;
  }
  static TransducerOptions plain_options() {
    TransducerOptions options{.name = "t", .classes = 4, .joint = 4};
    options.prediction = {.kind = PredictionKind::stateless, .embedding = 4, .context = 1};
    return options;
  }
  void after(std::int32_t label, std::int32_t token, float logit) {
    model.params()[0].as<float>()[4 * label + token] = logit;
  }
  std::vector<float> frames(int count, std::vector<double> probabilities) const {
    std::vector<float> x;
    for (int t = 0; t < count; ++t)
      for (const double p : probabilities) x.push_back(static_cast<float>(20 + std::log(p)));
    return x;  // logits above 0, where a ReLU changes nothing
  }
  Hypotheses search(const std::vector<float>& x, TransducerBeamOptions options) const {
    return TransducerBeam(plain_options(), model.params(), options).hypotheses(x);
  }

  Model model;
};

// Label 1 is the best at each step, and leads to nowhere. After label 2 the blank is all but
// certain, so its text has the probability 0.35 + 0.25 · 0.35 and no other as much.
TEST(TransducerBeam, FindsATextThatGreedyDecodingMisses) {
  PlainLogits logits;
  logits.after(2, 0, 15);
  const std::vector<float> x = logits.frames(2, {0.25, 0.4, 0.35, 1e-6});
  EXPECT_EQ(TransducerGreedy(PlainLogits::plain_options(), logits.model.params()).labels(x),
            Text(20, 1));
  for (const bool score_norm : {false, true}) {
    const Hypothesis best = logits.search(x, {3, score_norm}).front();
    EXPECT_EQ(best.labels, Text{2}) << score_norm;
    const int length = score_norm ? 2 : 1;  // of one label and the text's start
    EXPECT_NEAR(std::exp(length * best.score), 0.35 + 0.25 * 0.35, 1e-5);
  }
}

// Each single path of no label is the likeliest, yet the paths of label 1 are more likely together.
TEST(TransducerBeam, AddsThePathsOfEqualTexts) {
  PlainLogits logits;
  logits.after(1, 0, 15);
  const std::vector<float> x = logits.frames(3, {0.7, 0.3, 1e-6, 1e-6});
  const Hypotheses found = logits.search(x, {2, false});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].labels, Text{1});
  EXPECT_NEAR(std::exp(found[0].score), 0.3 + 0.7 * 0.3 + 0.49 * 0.3, 1e-5);
  EXPECT_EQ(found[1].labels, Text{});
  EXPECT_NEAR(std::exp(found[1].score), 0.343, 1e-5);
  EXPECT_EQ(logits.search(x, {1, false}).front().labels, Text{});  // the best at the first frame
}

TEST(TransducerBeam, ScoreNormPrefersLongerTexts) {
  PlainLogits logits;
  logits.after(1, 0, 15);
  const std::vector<float> x = logits.frames(1, {0.55, 0.45, 1e-6, 1e-6});
  EXPECT_EQ(logits.search(x, {8, false}).front().labels, Text{});
  EXPECT_EQ(logits.search(x, {8, true}).front().labels, Text{1});
}

TEST(TransducerBeam, TakesLowerLabelsOfEquals) {
  PlainLogits logits;
  const std::vector<float> x = logits.frames(1, {0.4, 0.2, 0.2, 0.2});
  const Hypotheses found = logits.search(x, {3, false});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].labels, Text{});
  EXPECT_EQ(found[1].labels, Text{1});
  EXPECT_EQ(found[2].labels, Text{2});
}

TEST(TransducerBeam, WritesTenLabelsAtAFrameAtMost) {
  for (const std::vector<std::int32_t>& durations : {std::vector<std::int32_t>{}, {0, 1}}) {
    const TransducerOptions options = small_transducer(durations);
    Model model(options);
    model.prefer(3);
    if (!durations.empty()) model.prefer(options.classes);  // duration 0
    const auto found =
        TransducerBeam(options, model.params(), {}).hypotheses(random_frames(4, 6, 1));
    EXPECT_EQ(found.front().labels, Text(40, 3));
    EXPECT_NEAR(found.front().score, 0, 1e-9);
  }
}

TEST(TransducerBeam, TakesDurationsAndAFrameForABlank) {
  const TransducerOptions options = small_transducer({0, 1, 3});
  Model labels(options), blanks(options);
  labels.prefer(2);
  labels.prefer(options.classes + 2);  // at frames 0, 3 and 6 of 7
  blanks.prefer(0);
  blanks.prefer(options.classes);
  const TransducerBeam beam(options, labels.params(), {});
  EXPECT_EQ(beam.hypotheses(random_frames(7, 6, 1)).front().labels, Text(3, 2));
  EXPECT_EQ(beam.hypotheses({}).front().labels, Text{});
  EXPECT_EQ(beam.hypotheses({}).front().score, 0);
  const auto silent =
      TransducerBeam(options, blanks.params(), {}).hypotheses(random_frames(4, 6, 1));
  EXPECT_EQ(silent.front().labels, Text{});
  EXPECT_NEAR(silent.front().score, 0, 1e-9);
}

// A training may have diverged: the search still ends, with texts of that beam.
TEST(TransducerBeam, SurvivesParametersThatAreNoNumbers) {
  const TransducerOptions options = small_transducer({0, 1});
  Model model(options);
  for (const Tensor& param : model.params())
    std::fill_n(param.as<float>(), param.size(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_LE(TransducerBeam(options, model.params(), {}).hypotheses(random_frames(5, 6, 1)).size(),
            4u);
}

TEST(TransducerBeam, RejectsBeamsParametersAndHalfAFrame) {
  const TransducerOptions options = small_transducer();
  Model model(options);
  EXPECT_EQ(
      test::message_of<ConfigError>([&] { TransducerBeam(options, model.params(), {.beam = 0}); }),
      "t: a beam search takes a beam and labels at a frame from 1, not 0 and 10");
  EXPECT_THROW(TransducerBeam(options, model.params(), {.max_labels_at_frame = 0}), ConfigError);
  EXPECT_THROW(TransducerBeam(options, model.params().subspan(1), {}), ShapeError);
  EXPECT_THROW((void)TransducerBeam(options, model.params(), {}).hypotheses(std::vector<float>(7)),
               ShapeError);
}

}  // namespace
}  // namespace penstock::layers
