#include "layers/models/whisper.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/models/residual_units.h"
#include "layers/nn/conv1d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/sinusoidal_positions.h"

// Whisper's encoder is a pre-norm Transformer after two convolutions over frames, of which the
// second one has stride 2. Its keys have no bias. The fixed sinusoids that transformers stores as
// embed_positions are computed, or stored as well.

namespace penstock::layers {
namespace {

constexpr int kKernel = 3;

/// Returns a convolution with a frame of zeros on either side.
std::unique_ptr<Layer> convolution(const char* name, int in, int out, int stride) {
  return std::make_unique<Conv1d>(Conv1dOptions{.name = name,
                                                .in_channels = in,
                                                .out_channels = out,
                                                .kernel = kKernel,
                                                .stride = stride,
                                                .left = 1,
                                                .right = 1});
}

}  // namespace

std::vector<Key> WhisperOptions::keys() {
  return {
      Key("model.width", &width, between(4, kMaxChannels),
          "channels of every block; an even number"),
      Key("model.heads", &heads, between(1, 1024), "heads of attention; they divide the width"),
      Key("model.layers", &layers, between(1, 1000), "blocks"),
      Key("model.inner", &inner, between(1, kMaxChannels),
          "channels within each feed-forward unit"),
      Key("model.max_frames", &max_frames, between(1, 65536),
          "frames of 20 ms for which there are positions; longer utterances do not fit"),
      Key("model.stored_positions", &stored_positions, anything(),
          "positions are stored with the model, as transformers has them; false: they are "
          "computed"),
      Key("model.dropout", &dropout, between(0, 0.95),
          "share of numbers dropped within every residual unit, and of attention's weights"),
      Key("model.layer_drop", &layer_drop, between(0, 0.95),
          "share of utterances that pass by a residual unit (stochastic depth), for each unit"),
  };
}

std::vector<Contradiction> WhisperOptions::contradictions(int) const {
  if (heads < 1 || width % heads != 0)
    return {{"model.heads", fmt::format("{} of attention do not divide a width of {}",
                                        counted(heads, "head"), width)}};
  if (width < 4 || width % 2 != 0)
    return {{"model.width", fmt::format("a width of {} has no halves for sines and cosines: choose "
                                        "an even number from 4 on",
                                        width)}};
  return {};
}

std::vector<std::unique_ptr<Layer>> WhisperOptions::build(const ModelEnds& ends) const {
  for (const Contradiction& wrong : contradictions(ends.features)) throw ShapeError(wrong.what);
  if (layers < 1 || ends.labels < 2)
    throw ShapeError("a Whisper encoder needs at least 1 block, and 1 label besides blank");
  std::vector<std::unique_ptr<Layer>> sequence;
  const auto gelu = [&](const char* name) {
    sequence.push_back(std::make_unique<Nonlinearity>(name, NonlinearityKind::gelu));
  };
  sequence.push_back(convolution("frontend.conv1", ends.features, width, 1));
  gelu("frontend.act1");
  sequence.push_back(convolution("frontend.conv2", width, width, 2));
  gelu("frontend.act2");
  sequence.push_back(std::make_unique<SinusoidalPositions>(
      "positions",
      SinusoidOptions{
          .order = SinusoidOrder::halves, .max_frames = max_frames, .stored = stored_positions}));
  for (int i = 1; i <= layers; ++i) {
    sequence.push_back(attention_unit({.name = fmt::format("block{}.attention", i),
                                       .width = width,
                                       .heads = heads,
                                       .key_bias = false,
                                       .dropout = dropout,
                                       .layer_drop = layer_drop}));
    sequence.push_back(feed_forward_unit({.name = fmt::format("block{}.feed_forward", i),
                                          .width = width,
                                          .inner = inner,
                                          .activation = NonlinearityKind::gelu,
                                          .dropout = dropout,
                                          .layer_drop = layer_drop}));
  }
  sequence.push_back(
      std::make_unique<LayerNorm>(LayerNormOptions{.name = "norm", .channels = width}));
  ends.add_output(sequence, {.name = "output", .in = width});
  ends.add_decoder(sequence);
  return sequence;
}

}  // namespace penstock::layers
