// A model's results for an utterance do not depend on the others that it is packed with.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "layers/initialise.h"
#include "layers/models/conformer.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/families.h"
#include "layers/models/qwen3_asr.h"
#include "layers/models/transformer.h"
#include "layers/models/wav2letter.h"
#include "layers/models/wav2vec2.h"
#include "layers/models/whisper.h"
#include "tests/support/layers/sequence_runner.h"

namespace penstock::layers {
namespace {

using Values = std::vector<double>;

constexpr int kLabels = 7;

struct Model {
  const char* name;
  ModelFamily family;
  int features = 11;
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

/// Utterances that every pack draws from: frames, labels and place in the index.
struct Utterance {
  std::int64_t frames;
  std::vector<std::int32_t> labels;
};

/// The shortest leaves every model one frame or two; the longest is more than a tile of attention.
std::vector<Utterance> utterances_of(const Model& model) {
  if (model.features == 1)
    return {{1203, {3}}, {401, {}}, {22017, {1, 2, 6, 6, 5}}, {5011, {2, 4}}, {467, {1}}};
  return {{61, {1, 1}}, {23, {2}}, {307, {1, 2, 6, 6, 5, 3}}, {9, {}}, {40, {4, 3}}};
}

/// Holds the results of a pack: of each utterance, and of parameters summed over them.
struct Outcome {
  std::vector<Values> logits, gradients;  // frames × labels, and of frames × features
  Values losses;
  std::map<std::string, Values> parameters;  // their gradients
};

/// Rows of each utterance of a matrix.
std::vector<Values> by_utterance(const Frames& x) {
  const Values all = test::numbers(x.x_FC);
  std::vector<Values> parts;
  auto at = all.begin();
  for (const std::int64_t frames : x.lengths) {
    parts.emplace_back(at, at + frames * x.channels());
    at += frames * x.channels();
  }
  return parts;
}

void fill(const Model& model, std::span<const std::size_t> pack,
          const test::SequenceRunner& runner) {
  Values x;
  for (const std::size_t u : pack) {
    const Values of_one = test::uniform(utterances_of(model)[u].frames * model.features, 100 + u);
    x.insert(x.end(), of_one.begin(), of_one.end());
  }
  test::assign(runner.layers().front()->input().only().x_FC, x);
  for (const auto& layer : runner.layers()) {
    for (std::size_t i = 0; i < layer->params().size(); ++i) {
      const ParamDecl& param = layer->plan().params[i];
      initialise(param, 5, layer->params()[i]);
      if (param.initialiser.kind != Initialiser::Kind::constant) continue;
      Values values = test::uniform(layer->params()[i].size(), param.name.size(), -0.3, 0.3);
      for (double& value : values) value += param.initialiser.value;
      test::assign(layer->params()[i], values);
    }
    for (std::size_t i = 0; i < layer->state().size(); ++i) {
      Values values = test::uniform(layer->state()[i].size(), 7 + i, -0.5, 0.5);
      for (double& value : values) value += layer->plan().state[i].initial;
      test::assign(layer->state()[i], values);
    }
  }
}

/// A pack through the model and, in training, back.
Outcome run(const Model& model, DType dtype, Mode mode, std::span<const std::size_t> pack) {
  const auto sequence = build_layers(model.family, {.features = model.features, .labels = kLabels});
  std::vector<std::int64_t> lengths;
  std::vector<std::int32_t> labels, counts;
  std::vector<std::uint64_t> places;
  for (const std::size_t u : pack) {
    const Utterance utterance = utterances_of(model)[u];
    lengths.push_back(utterance.frames);
    labels.insert(labels.end(), utterance.labels.begin(), utterance.labels.end());
    counts.push_back(static_cast<std::int32_t>(utterance.labels.size()));
    places.push_back(40 + u);
  }
  const std::vector<float> weights(pack.size(), 1);
  Outcome outcome;
  outcome.losses.resize(pack.size());
  Targets targets{labels, counts, weights, 1, outcome.losses};
  test::SequenceRunner runner(sequence, {dtype, {{lengths, model.features}}}, targets);
  fill(model, pack, runner);
  for (const auto& layer : runner.layers()) {
    layer->mode = mode;
    layer->random = {.seed = 3, .epoch = 2, .utterances = places};
  }
  runner.forward();
  outcome.logits = by_utterance(runner.layers()[sequence.size() - 2]->output().only());
  if (mode != Mode::train) return outcome;
  runner.backward();
  // Nobody asks for the gradient of features: of those that the model makes, the earliest.
  outcome.gradients = by_utterance(runner.layers()[1]->input_gradient().only());
  for (const auto& layer : runner.layers())
    for (std::size_t i = 0; i < layer->grads().size(); ++i)
      outcome.parameters[layer->plan().params[i].name] = test::numbers(layer->grads()[i]);
  return outcome;
}

class PackedUtterances : public testing::TestWithParam<Model> {
 protected:
  void expect_alone(DType dtype, Mode mode, double tolerance) const {
    const std::vector<std::size_t> all{2, 0, 3, 1, 4};
    const Outcome together = run(GetParam(), dtype, mode, all);
    std::map<std::string, Values> summed;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Outcome alone = run(GetParam(), dtype, mode, std::span(&all[i], 1));
      EXPECT_GT(alone.losses[0], 0) << "utterance " << all[i];
      EXPECT_LE(test::relative_error(together.logits[i], alone.logits[0]), tolerance)
          << "utterance " << all[i];
      EXPECT_NEAR(together.losses[i] / alone.losses[0], 1, tolerance) << "utterance " << all[i];
      if (mode != Mode::train) continue;
      EXPECT_LE(test::relative_error(together.gradients[i], alone.gradients[0]), tolerance)
          << "gradient, utterance " << all[i];
      for (const auto& [name, values] : alone.parameters) {
        Values& sum = summed[name];
        sum.resize(values.size());
        std::ranges::transform(sum, values, sum.begin(), std::plus{});
      }
    }
    for (const auto& [name, values] : summed)
      EXPECT_LE(test::relative_error(together.parameters.at(name), values), tolerance) << name;
  }
};

TEST_P(PackedUtterances, AreEvaluatedAsAlone) {
  expect_alone(DType::f32, Mode::evaluate, 1e-5);
  expect_alone(DType::f64, Mode::evaluate, 1e-12);
}

class TrainedUtterances : public PackedUtterances {};

TEST_P(TrainedUtterances, AreTrainedAsAlone) {
  expect_alone(DType::f32, Mode::train, 1e-5);
  expect_alone(DType::f64, Mode::train, 1e-12);
}

TransformerOptions transformer(const char* positions) {
  return {.channels = 5,
          .width = 12,
          .heads = 3,
          .layers = 2,
          .inner = 20,
          .positions = positions,
          .dropout = 0.1,
          .layer_drop = 0.3};
}

std::string name_of(const testing::TestParamInfo<Model>& tested) { return tested.param.name; }

const auto kWithoutBatchStatistics = testing::Values(
    Model{"transformer", transformer("none")}, Model{"rotary", transformer("rotary")},
    Model{"relative", transformer("relative")}, Model{"absolute", transformer("absolute")},
    Model{
        "whisper",
        WhisperOptions{
            .width = 12, .heads = 3, .layers = 2, .inner = 20, .dropout = 0.1, .layer_drop = 0.3}},
    Model{"qwen3_asr", Qwen3AsrOptions{.channels = 5,
                                       .chunk = 20,
                                       .window = 40,
                                       .width = 12,
                                       .heads = 3,
                                       .layers = 2,
                                       .inner = 20,
                                       .dropout = 0.1,
                                       .layer_drop = 0.3}},
    Model{"wav2vec2",
          Wav2Vec2Options{.channels = 6,
                          .width = 12,
                          .heads = 3,
                          .layers = 2,
                          .inner = 20,
                          .position_kernel = 8,
                          .position_groups = 3,
                          .dropout = 0.1,
                          .layer_drop = 0.3},
          1},
    Model{"w2v_bert", ConformerOptions{.width = 12,
                                       .heads = 3,
                                       .layers = 2,
                                       .kernel = 5,
                                       .causal_convolution = true,
                                       .convolution_norm = "layer",
                                       .subsampling = 1,
                                       .positions = "shaw",
                                       .left_positions = 4,
                                       .right_positions = 2,
                                       .dropout = 0.1,
                                       .layer_drop = 0.3}},
    Model{"wav2vec2_base",
          Wav2Vec2Options{.channels = 6,
                          .frontend_norm = "group",
                          .frontend_bias = false,
                          .width = 12,
                          .heads = 3,
                          .layers = 2,
                          .inner = 20,
                          .norm_first = false,
                          .position_kernel = 8,
                          .position_groups = 3,
                          .dropout = 0.1,
                          .layer_drop = 0.3},
          1});
INSTANTIATE_TEST_SUITE_P(Of, PackedUtterances, kWithoutBatchStatistics, name_of);
INSTANTIATE_TEST_SUITE_P(Of, TrainedUtterances, kWithoutBatchStatistics, name_of);

// In training, batch norm's statistics are the pack's; in evaluation they are running ones.
INSTANTIATE_TEST_SUITE_P(
    OfBatchNorm, PackedUtterances,
    testing::Values(Model{"conformer",
                          ConformerOptions{.width = 12, .heads = 3, .layers = 2, .kernel = 5}},
                    Model{"fastconformer", ConformerOptions{.width = 12,
                                                            .heads = 3,
                                                            .layers = 2,
                                                            .kernel = 9,
                                                            .subsampling = 8,
                                                            .channels = 5,
                                                            .scale_input = true,
                                                            .attention_bias = false,
                                                            .convolution_bias = false}},
                    Model{"wav2letter", Wav2LetterOptions{.channels = {5, 7},
                                                          .kernels = {3, 4},
                                                          .repeats = {1, 2},
                                                          .strides = {2, 1},
                                                          .dilations = {1, 2},
                                                          .dropouts = {0, 0}}},
                    Model{"gru", DeepSpeech2Options{.channels = 3, .hidden = 9, .layers = 2}, 21},
                    Model{"lstm_of_one_direction",
                          DeepSpeech2Options{.channels = 3,
                                             .rnn = "lstm",
                                             .hidden = 9,
                                             .layers = 2,
                                             .bidirectional = false,
                                             .lookahead = 5},
                          21}),
    name_of);

}  // namespace
}  // namespace penstock::layers
