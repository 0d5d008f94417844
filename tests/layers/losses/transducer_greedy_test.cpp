#include "layers/losses/transducer_greedy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "layers/backend.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using Text = std::vector<std::int32_t>;

/// A Transducer's parameters, and random ones at first.
struct Model {
  explicit Model(const TransducerOptions& options, std::uint64_t seed = 5, double spread = 1)
      : layer(options), runner(layer, {DType::f32, {{{1}, options.joint}}}) {
    for (const Tensor& param : runner.params())
      test::assign(param, test::uniform(param.size(), ++seed, -spread, spread));
  }
  std::span<const Tensor> params() const { return runner.params(); }
  /// Sets the bias of a class or duration so that it always is the best one.
  void prefer(std::int64_t output) { runner.params().back().as<float>()[output] = 1000; }

  Transducer layer;
  LayerRunner runner;
};

std::vector<float> frames(std::int64_t count, std::int64_t channels, std::uint64_t seed) {
  const std::vector<double> wide = test::uniform(count * channels, seed, -2, 2);
  return {wide.begin(), wide.end()};
}

struct GreedyGolden : testing::TestWithParam<const char*> {};

TEST_P(GreedyGolden, WritesWhatTransformersGenerates) {
  const Golden golden("transducer_greedy_" + std::string(GetParam()));
  TransducerOptions options{.name = "", .classes = 7, .joint = 12};
  options.prediction = {.embedding = 12, .layers = 2, .hidden = 12};
  if (GetParam() == std::string("tdt")) options.durations = {0, 1, 2, 3, 4};
  Model model(options);
  for (std::size_t i = 0; i < model.params().size(); ++i)
    golden.copy(model.runner.plan().params[i].name.substr(1), model.params()[i]);
  const TransducerGreedy greedy(options, model.params());
  const std::vector<std::vector<std::int32_t>> texts = labels_of(golden);
  std::vector<float> x(golden["x"].begin(), golden["x"].end());
  std::size_t first = 0;
  for (std::size_t u = 0; u < texts.size(); ++u) {
    const auto count = static_cast<std::size_t>(golden.integers("lengths")[u] * options.joint);
    EXPECT_EQ(greedy.labels(std::span(x).subspan(first, count)), texts[u]) << u;
    first += count;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GreedyGolden, testing::Values("rnnt", "tdt"),
                         [](const auto& info) { return std::string(info.param); });

/// Decodes by the definition: before each step the layer's own prediction network reads the whole
/// text so far.
class WholeTextDecoder {
 public:
  explicit WholeTextDecoder(Model& model)
      : options_(model.layer.options()),
        params_(model.params()),
        network_(options_.name, options_.classes, options_.joint, options_.prediction) {}

  Text decode(std::span<const float> x) {
    Text ids = {0};
    int stays = 0;
    const auto width = static_cast<std::size_t>(options_.joint);
    for (std::size_t t = 0; t < x.size() / width;) {
      const std::vector<double> logits = logits_of(x.subspan(t * width, width), ids);
      const auto tokens = logits.begin() + options_.classes;
      const auto token = std::max_element(logits.begin(), tokens) - logits.begin();
      const auto place = std::max_element(tokens, logits.end()) - tokens;
      std::int32_t step = options_.durations.empty() ? (token == 0) : options_.durations[place];
      if (token == 0) step = std::max(step, 1);
      if (token > 0) ids.push_back(static_cast<std::int32_t>(token));
      stays = step > 0 ? 0 : stays + 1;
      if (stays == 10) step = 1;
      if (stays == 10) stays = 0;
      t += static_cast<std::size_t>(step);
    }
    return {ids.begin() + 1, ids.end()};
  }

 private:
  std::vector<double> logits_of(std::span<const float> frame, Text& ids) {
    const auto P = static_cast<std::int64_t>(ids.size()), J = options_.joint;
    std::vector<float> predicted(static_cast<std::size_t>(P * J));
    const std::vector<std::int64_t> positions = {P};
    test::GuardedMemory room(network_.plan(positions, {}).workspace.forward);
    Context context{*backend_, *stream_, Mode::evaluate, positions, room.bytes()};
    network_.forward(context, params_.first(params_.size() - 2), {ids.data(), DType::i32, {P}},
                     {predicted.data(), DType::f32, {P, J}}, {});
    const Tensor weight = params_[params_.size() - 2], bias = params_.back();
    std::vector<double> logits;
    for (std::int64_t k = 0; k < bias.size(); ++k) {
      double sum = bias.as<float>()[k];
      for (std::int64_t j = 0; j < J; ++j) {
        const double in = static_cast<double>(frame[j]) + predicted[(P - 1) * J + j];
        const bool relu = options_.nonlinearity == JointNonlinearity::relu;
        sum += weight.as<float>()[k * J + j] * (relu ? std::max(in, 0.0) : std::tanh(in));
      }
      logits.push_back(sum);
    }
    return logits;
  }

  TransducerOptions options_;
  std::span<const Tensor> params_;
  PredictionNetwork network_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream();
};

TransducerOptions small() {
  return {.name = "t",
          .classes = 5,
          .joint = 6,
          .prediction = {.embedding = 8, .layers = 2, .hidden = 5}};
}

TEST(TransducerGreedy, WritesWhatWholeTextsPredict) {
  for (const std::vector<std::int32_t>& durations :
       {std::vector<std::int32_t>{}, {0, 1, 3}, {1, 2}})
    for (const std::int64_t context : {0, 1, 2})
      for (const JointNonlinearity kind : {JointNonlinearity::relu, JointNonlinearity::tanh}) {
        TransducerOptions options = small();
        options.durations = durations;
        options.nonlinearity = kind;
        if (context > 0) options.prediction.kind = PredictionKind::stateless;
        if (context > 0) options.prediction.context = context;
        Model model(options, 11, 1.5);
        const std::vector<float> x = frames(23, options.joint, 9);
        const Text text = TransducerGreedy(options, model.params()).labels(x);
        EXPECT_EQ(text, WholeTextDecoder(model).decode(x)) << durations.size() << " " << context;
        EXPECT_FALSE(text.empty());
      }
}

TEST(TransducerGreedy, WritesTenLabelsAtAFrameAtMost) {
  for (const std::vector<std::int32_t>& durations : {std::vector<std::int32_t>{}, {0, 1}}) {
    TransducerOptions options = small();
    options.durations = durations;
    Model model(options);
    model.prefer(3);
    if (!durations.empty()) model.prefer(options.classes);  // duration 0
    EXPECT_EQ(TransducerGreedy(options, model.params()).labels(frames(4, 6, 1)), Text(40, 3));
  }
}

TEST(TransducerGreedy, BlanksOfDuration0TakeAFrame) {
  TransducerOptions options = small();
  options.durations = {0, 2};
  Model model(options);
  model.prefer(0);
  model.prefer(options.classes);
  EXPECT_EQ(TransducerGreedy(options, model.params()).labels(frames(4, 6, 1)), Text{});
}

// Labels of duration 3 are written at frames 0, 3 and 6 of 7.
TEST(TransducerGreedy, SkipsAsManyFramesAsTheDuration) {
  TransducerOptions options = small();
  options.durations = {0, 1, 3};
  Model model(options);
  model.prefer(2);
  model.prefer(options.classes + 2);
  EXPECT_EQ(TransducerGreedy(options, model.params()).labels(frames(7, 6, 1)), Text(3, 2));
  EXPECT_EQ(TransducerGreedy(options, model.params()).labels({}), Text{});
}

TEST(TransducerGreedy, RejectsOtherParametersAndHalfAFrame) {
  const TransducerOptions options = small();
  Model model(options);
  const TransducerGreedy greedy(options, model.params());
  EXPECT_THROW((void)greedy.labels(std::vector<float>(7)), ShapeError);
  EXPECT_THROW(TransducerGreedy(options, model.params().subspan(1)), ShapeError);
  TransducerOptions wider = options;
  wider.classes = 6;
  EXPECT_THROW(TransducerGreedy(wider, model.params()), ShapeError);
  std::vector<Tensor> doubles(model.params().begin(), model.params().end());
  doubles[0].dtype = DType::f64;
  EXPECT_THROW(TransducerGreedy(options, doubles), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
