#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "layers/nn/linear.h"
#include "partition/layout/build_model.h"
#include "partition/planner/cost/cost.h"
#include "runtime/data/batch/batching.h"
#include "runtime/recognise/recognise.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/layers/gradient_check.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using layers::Activation, layers::ActivationDecl, layers::Context, layers::DType, layers::Loss;
using Labels = std::vector<std::int32_t>;
using Lengths64 = std::vector<std::int64_t>;

constexpr double kFlopsPerLabel = 1e6;

/// All that a second loss takes: the squared distance of every frame's logits to 1 at its label,
/// and 0 elsewhere. The labels of an utterance divide its frames evenly.
class SquaredDistance final : public layers::Layer {
 public:
  const std::string& name() const override { return name_; }

  layers::LayerPlan plan(const ActivationDecl& input, const layers::BackendSizes&) const override {
    layers::LayerPlan plan;
    plan.output = {input.dtype, {}};
    plan.saved = {{layers::SavedDecl::Kind::own, layers::Life::to_backward_input, input.dtype,
                   input.only().shape()}};
    for (const std::int64_t count : input.labels)
      plan.flops.forward += kFlopsPerLabel * static_cast<double>(count);
    plan.needs_targets = true;
    return plan;
  }

  void forward(Context& context, const layers::Params&, const Activation& x, Activation&,
               layers::Saved saved) const override {
    if (x.only().x_FC.dtype == DType::f64)
      compute<double>(context, x.only(), saved);
    else
      compute<float>(context, x.only(), saved);
  }

  void backward_input(Context& context, const layers::Params&, const Activation&,
                      layers::Saved saved, Activation& dx) const override {
    if (!dx.empty())
      context.backend.copy(context.stream, dx.only().x_FC.data, saved[0].data, saved[0].bytes());
  }

 private:
  template <class T>
  static void compute(Context& context, const layers::Frames& logits, layers::Saved saved) {
    layers::Targets& targets = *context.targets;
    const std::int64_t classes = logits.channels();
    const T* x = logits.x_FC.as<T>();
    T* gradient = context.mode == layers::Mode::train ? saved[0].as<T>() : nullptr;
    std::size_t first = 0;
    for (std::size_t u = 0; u < logits.lengths.size(); ++u) {
      const std::int64_t frames = logits.lengths[u], count = targets.lengths[u];
      targets.losses[u] = 0;
      for (std::int64_t t = 0; t < frames; ++t) {
        const int wanted = count == 0 ? 0 : targets.labels[first + t * count / frames];
        for (std::int64_t c = 0; c < classes; ++c, ++x) {
          const double distance = *x - (c == wanted ? 1 : 0);
          targets.losses[u] += targets.weights[u] * distance * distance;
          if (gradient != nullptr)
            *gradient++ = static_cast<T>(2 * targets.scale * targets.weights[u] * distance);
        }
      }
      first += static_cast<std::size_t>(count);
    }
  }

  std::string name_ = "squares";
};

/// Hears a label in every second frame, unlike CTC: repeats stay, and class 0 is none.
std::vector<layers::Hypothesis> label_of_each_second_frame(std::span<const float> logits_FC,
                                                           std::int64_t channels,
                                                           std::int64_t labels) {
  Labels heard;
  for (std::int64_t at = 0; at < std::ssize(logits_FC); at += 2 * channels) {
    const auto frame = logits_FC.subspan(at + 1, labels - 1);
    heard.push_back(1 + static_cast<int>(std::ranges::max_element(frame) - frame.begin()));
  }
  return {{heard}};
}

template <int kFramesPerLabel>
Loss squares() {
  return {
      .channels = [](int classes) { return classes; },
      .add_layers = [](auto& sequence,
                       int) { sequence.push_back(std::make_unique<SquaredDistance>()); },
      .frames_needed =
          [](std::span<const std::int32_t> labels) { return kFramesPerLabel * std::ssize(labels); },
      .make_decoder = [](const auto&, const auto&) { return label_of_each_second_frame; }};
}

/// Builds a model of one product, with a decoder of its own that learns by that loss.
template <int kFramesPerLabel>
struct OneProduct {
  static constexpr std::string_view kind = "product";

  static std::vector<layers::DecoderKind> decoders() {
    return {
        {.name = "squares",
         .loss = [](const layers::DecoderOptions&) { return squares<kFramesPerLabel>(); },
         .contradictions = [](const layers::DecoderOptions& options) -> std::vector<Contradiction> {
           if (options.layers == 1) return {};
           return {{"decoder.layers", "squares have no layers"}};
         },
         .keys = {"decoder.layers"}}};
  }

  std::vector<Key> keys() { return {}; }
  std::vector<std::unique_ptr<layers::Layer>> build(const layers::ModelEnds& ends) const {
    std::vector<std::unique_ptr<layers::Layer>> layers;
    layers.push_back(std::make_unique<layers::Linear>(
        layers::LinearOptions{.name = "output", .in = ends.features, .out = ends.outputs()}));
    ends.add_decoder(layers);
    return layers;
  }
};

TEST(SecondLoss, HasTheGradientOfFiniteDifferences) {
  const SquaredDistance layer;
  const Labels labels = {1, 2, 2, 3, 3, 1}, lengths = {3, 0, 3};
  const std::vector<float> weights = {1, 0.5f, 1};
  std::vector<double> losses(3, NAN);
  layers::Targets targets{labels, lengths, weights, 0.25, losses};
  test::LayerRunner runner(layer, {DType::f64, {{{7, 1, 13}, 4}}});
  runner.targets = &targets;
  runner.randomise(4);
  check_gradients(runner);
}

TEST(SecondLoss, IsChosenByItsDecoder) {
  const std::vector<layers::ModelFamily> families = {OneProduct<2>()};
  const auto parsed = [&](const std::string& model) {
    return configs::parse_config("[model]\nkind = 'product'\n" + model, "recipe.toml", families);
  };
  const Labels labels = {1, 1};
  EXPECT_EQ(parsed("decoder = 'squares'").model.loss().frames_needed(labels), 4);
  EXPECT_EQ(parsed("").model.loss().frames_needed(labels), 3);  // CTC's
  const auto fault = [&](const std::string& model) {
    return test::message_of<ConfigError>([&] { parsed(model); });
  };
  EXPECT_NE(fault("decoder = 'cubes'").find("one of ctc, rnnt, tdt, lm, attention, squares"),
            std::string::npos);
  EXPECT_EQ(fault("decoder = 'squares'\n[decoder]\nlayers = 2"),
            "the configuration can't be used:\n  recipe.toml:5: squares have no layers");
}

TEST(SecondLoss, IsPlannedWithItsOwnWork) {
  const configs::ModelConfig model{.features = 17, .decoder = "squares", .family = OneProduct<2>()};
  const partition::LayerSequence sequence = partition::build_model(model, 5);
  ASSERT_EQ(sequence.size(), 2);
  EXPECT_EQ(sequence.layers.back()->name(), "squares");
  const partition::DeviceRates rates{
      .product = 1, .elementwise = kFlopsPerLabel, .bandwidth = 1e300};
  const auto costs =
      partition::analytic_costs(sequence, Lengths64{7, 13}, {}, rates, Lengths64{3, 4});
  EXPECT_DOUBLE_EQ(costs.back().forward, 7);
}

/// A corpus of tones, and a recipe to train on it.
class SecondLossRun : public testing::Test {
 protected:
  SecondLossRun() { test::write_tone_corpus(in("train.jsonl"), 9, 1); }

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  configs::Config recipe(const layers::ModelFamily& family,
                         const std::vector<std::string>& overrides = {}) const {
    return configs::parse_config(
        "[model]\nkind = 'product'\ndecoder = 'squares'\nfeatures = 41\n[text]\nalphabet = 'abcd'\n"
        "[features]\nsample_rate = 8000\nwindow_ms = 10\nhop_ms = 5\n"
        "[optimizer]\nlearning_rate = 0.01\n[data]\nmicro_batch_seconds = 2.5\ntrain = '" +
            in("train.jsonl") + "'\n[pipeline]\nstages = 2\n[trainer]\noutput = '" + in("output") +
            "'\n",
        "recipe.toml", std::vector{family}, overrides);
  }

  void train_until(int steps, const std::string& resume) const {
    const configs::Config config = recipe(
        OneProduct<2>(), {"trainer.steps=" + std::to_string(steps), "trainer.resume=" + resume});
    comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
      const TrainingSummary told = train({config}, world, {});
      if (world.rank() != 0) return;
      EXPECT_EQ(told.last_step.step, steps);
    });
  }

  /// Evaluates the training's corpus. Checks that each text has a label for every second frame.
  double loss_after_training() const {
    double loss = 0;
    comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
      Recogniser recogniser({.checkpoint = in("output"), .families = {OneProduct<2>()}}, world,
                            Scoring::by_texts);
      const Corpus corpus = load_corpus(corpus_options(recogniser.config(), recogniser.sequence(),
                                                       in("train.jsonl"), CorpusUse::evaluation),
                                        recogniser.tokenizer(), world, recogniser.readers());
      const Evaluation evaluation = recogniser.evaluate(corpus);
      if (world.rank() != 0) return;
      loss = evaluation.report.loss;
      UtteranceShapes shapes(recogniser.config().features);
      for (std::size_t u = 0; u < corpus.size(); ++u)
        EXPECT_EQ(std::ssize(evaluation.utterances.at(u).text),
                  (shapes(u, corpus.lengths[u], 1).frames + 1) / 2);
    });
    return loss;
  }

  test::TemporaryFolder folder_;
};

TEST_F(SecondLossRun, TrainsAndDecodesByItsOwnRule) {
  train_until(1, "false");
  const double before = loss_after_training();
  train_until(20, "true");
  const double after = loss_after_training();
  EXPECT_GT(after, 0);
  EXPECT_LT(after, before);
}

TEST_F(SecondLossRun, SaysHowManyFramesLabelsNeed) {
  const auto fault = [&](const layers::ModelFamily& family) {
    return test::message_of<DataError>([&] {
      comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
        train({recipe(family, {"trainer.steps=1"})}, world, {});
      });
    });
  };
  const std::string refused = fault(OneProduct<1000>());
  EXPECT_NE(refused.find("000 frames at the loss"), std::string::npos) << refused;
}

}  // namespace
}  // namespace penstock::runtime
