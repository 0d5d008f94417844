#include "layers/models/deepspeech2.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;

using LayerSequence = std::vector<std::unique_ptr<Layer>>;

LayerSequence deepspeech2(const DeepSpeech2Options& options, const ModelEnds& ends = {}) {
  return options.build(ends);
}

std::vector<std::string> names(const LayerSequence& sequence) {
  std::vector<std::string> names;
  for (const auto& layer : sequence) names.push_back(layer->name());
  return names;
}

void copy(const Activation& from, const Activation& to) {
  const Tensor& x = from.only().x_FC;
  std::memcpy(to.only().x_FC.data, x.data, x.bytes());
}

// Runs all layers of a layer sequence, each from its own plan.
class SequenceRunner {
 public:
  SequenceRunner(const LayerSequence& sequence, ActivationDecl input, Targets& targets) {
    for (const auto& layer : sequence) {
      runners_.push_back(std::make_unique<LayerRunner>(*layer, input));
      runners_.back()->targets = &targets;
      input = runners_.back()->plan().output;
    }
  }

  const std::vector<std::unique_ptr<LayerRunner>>& layers() const { return runners_; }

  void forward() {
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      if (i > 0) copy(runners_[i - 1]->output(), runners_[i]->input());
      runners_[i]->forward();
    }
  }

  void backward() {
    for (std::size_t i = runners_.size(); i-- > 0;) {
      runners_[i]->backward_input(i > 0);
      if (!runners_[i]->params().empty()) runners_[i]->backward_weight();
      if (i > 0) copy(runners_[i]->input_gradient(), runners_[i - 1]->output_gradient());
    }
  }

 private:
  std::vector<std::unique_ptr<LayerRunner>> runners_;
};

struct Case {
  const char* golden;
  int features = 0;
  DeepSpeech2Options options;
};

const Case kGru{"deepspeech2_gru", 21, {.channels = 3, .hidden = 7, .layers = 3}};
const Case kLstm{"deepspeech2_lstm",
                 12,
                 {.channels = 2,
                  .rnn = "lstm",
                  .hidden = 5,
                  .layers = 2,
                  .bidirectional = false,
                  .lookahead = 4}};

struct Tolerance {
  double loss, gradient;
};

// The loss and the gradient of every parameter of a whole model for one ragged batch.
void expect_golden(const Case& with, DType dtype, Tolerance tolerance) {
  const Golden golden(with.golden);
  const LayerSequence sequence = with.options.build({.features = with.features, .labels = 7});
  const auto as_int32 = [&](const char* name) {
    const auto values = golden.integers(name);
    return std::vector<std::int32_t>(values.begin(), values.end());
  };
  const auto labels = as_int32("labels"), counts = as_int32("label_counts");
  const std::vector<float> weights(counts.size(), 1);
  std::vector<double> losses(counts.size());
  Targets targets{labels, counts, weights, 1.0 / static_cast<double>(counts.size()), losses};

  SequenceRunner runner(sequence, {dtype, {{golden.integers("lengths"), with.features}}}, targets);
  golden.copy("x", runner.layers().front()->input().only().x_FC);
  for (const auto& layer : runner.layers())
    for (const ParamDecl& param : layer->plan().params) {
      EXPECT_EQ(param.shape, golden.shape(param.name)) << param.name;
      golden.copy(param.name, layer->param(param.name));
    }
  runner.forward();
  runner.backward();

  const LayerRunner& last = *runner.layers()[sequence.size() - 2];
  EXPECT_EQ(last.plan().output.only().lengths, golden.integers("output_lengths"));
  EXPECT_LE(test::relative_error(losses, golden["losses"]), tolerance.loss);
  for (const auto& layer : runner.layers())
    for (const ParamDecl& param : layer->plan().params)
      EXPECT_LE(golden.error(layer->grad(param.name), "d " + param.name), tolerance.gradient)
          << param.name;
}

TEST(DeepSpeech2, AgreesWithPyTorchInFP32) {
  for (const Case& with : {kGru, kLstm}) expect_golden(with, DType::f32, {1e-5, 1e-4});
}

TEST(DeepSpeech2, AgreesWithPyTorchInFP64) {
  for (const Case& with : {kGru, kLstm}) expect_golden(with, DType::f64, {1e-12, 1e-9});
}

TEST(DeepSpeech2, IsTheSequenceOfLayersThatItSays) {
  EXPECT_EQ(names(deepspeech2({.layers = 2, .dropout = 0.1})),
            (std::vector<std::string>{"conv1", "norm1", "relu1", "conv2", "norm2", "relu2",
                                      "rnn1.input", "rnn1", "dropout1", "rnn2.norm", "rnn2.input",
                                      "rnn2", "output.norm", "output", "ctc"}));
  EXPECT_EQ(names(deepspeech2({.layers = 1, .bidirectional = false})),
            (std::vector<std::string>{"conv1", "norm1", "relu1", "conv2", "norm2", "relu2",
                                      "rnn1.input", "rnn1", "lookahead", "lookahead.relu",
                                      "output.norm", "output", "ctc"}));
}

// deepspeech.pytorch's own model, whose size PyTorch reports as 86.6 million.
TEST(DeepSpeech2, HasAsManyParametersAsPyTorchs) {
  const LayerSequence sequence = deepspeech2({.rnn = "lstm", .hidden = 1024, .layers = 5});
  ActivationDecl input{DType::f32, {{{7, 1, 13, 400}, 161}}};
  std::int64_t parameters = 0;
  for (const auto& layer : sequence) {
    const LayerPlan plan = layer->plan(input, {});
    for (const ParamDecl& param : plan.params) parameters += element_count(param.shape);
    input = plan.output;
    if (layer->name() == "output") {
      EXPECT_EQ(input.only().lengths, (std::vector<std::int64_t>{4, 1, 7, 200}));
    }
  }
  EXPECT_EQ(parameters, 86618336);
}

TEST(DeepSpeech2, RejectsSizesThatMakeNoModel) {
  EXPECT_THROW(deepspeech2({.layers = 0}), ShapeError);
  EXPECT_THROW(deepspeech2({.hidden = -1}), ShapeError);
  EXPECT_THROW(deepspeech2({}, {.labels = 1}), ShapeError);
  EXPECT_THROW(deepspeech2({.rnn = "conv"}), ShapeError);
  EXPECT_THROW(deepspeech2({.dropout = 1}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
