#include "layers/models/deepspeech2.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden_model.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::LayerSequence;
using test::names;
using test::numbers;

LayerSequence deepspeech2(const DeepSpeech2Options& options, const ModelEnds& ends = {}) {
  return options.build(ends);
}

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

// The loss and the gradient of every parameter of a whole model for one ragged batch.
void expect_golden(const Case& with, DType dtype, test::ModelTolerance tolerance) {
  test::expect_golden_model(with.options.build({.features = with.features, .labels = 7}),
                            with.golden, dtype, tolerance);
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
  EXPECT_EQ(test::parameter_count(sequence, 161), 86618336);
}

TEST(DeepSpeech2, HalvesItsFrames) {
  ActivationDecl input{DType::f32, {{{7, 1, 13, 400}, 161}}};
  for (const auto& layer : deepspeech2({})) {
    input = layer->plan(input, {}).output;
    if (layer->name() == "output") {
      EXPECT_EQ(input.only().lengths, (std::vector<std::int64_t>{4, 1, 7, 200}));
    }
  }
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
