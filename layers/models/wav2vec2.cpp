#include "layers/models/wav2vec2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/models/residual_units.h"
#include "layers/models/span_masks.h"
#include "layers/nn/conv1d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/instance_norm.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"

// A wav2vec 2.0 model has four pieces. The front end turns samples into frames by convolutions
// without padding, each followed by a norm, if it has one, and GELU; 400 samples make the first
// frame with the default kernels, and 320 more each further one. A projection takes its channels to
// the blocks' width, where training may mask spans of frames and channels. A grouped convolution
// over frames adds positions. The blocks are Transformer blocks, pre-norm or post-norm, of which
// `norm_first` alone decides where the norms stand: within the units, with one after the last
// block, or after each unit, with one before the first block.

namespace penstock::layers {
namespace {

using Sequence = std::vector<std::unique_ptr<Layer>>;

void add_norm(Sequence& sequence, const std::string& name, int channels) {
  sequence.push_back(
      std::make_unique<LayerNorm>(LayerNormOptions{.name = name, .channels = channels}));
}

void add_linear(Sequence& sequence, const std::string& name, int in, int out) {
  sequence.push_back(std::make_unique<Linear>(LinearOptions{.name = name, .in = in, .out = out}));
}

/// Appends the norm after the front end's convolution `number`, if it has one. A group norm has as
/// many groups as channels, which makes it an instance norm, and follows the first convolution
/// alone.
void add_frontend_norm(Sequence& sequence, const Wav2Vec2Options& options, std::size_t number) {
  const std::string name = fmt::format("frontend.norm{}", number);
  if (options.frontend_norm == "layer")
    add_norm(sequence, name, options.channels);
  else if (number == 1)
    sequence.push_back(std::make_unique<InstanceNorm>(
        InstanceNormOptions{.name = name, .channels = options.channels}));
}

/// Appends the convolutions that turn samples, one channel, into frames. Weights start with He et
/// al.'s deviation √(2 / taps), with the numbers that an output sees as taps.
void add_frontend(Sequence& sequence, const Wav2Vec2Options& options) {
  int in = 1;
  for (std::size_t i = 0; i < options.kernels.size(); ++i) {
    const int taps = in * options.kernels[i];
    sequence.push_back(
        std::make_unique<Conv1d>(Conv1dOptions{.name = fmt::format("frontend.conv{}", i + 1),
                                               .in_channels = in,
                                               .out_channels = options.channels,
                                               .kernel = options.kernels[i],
                                               .stride = options.strides[i],
                                               .bias = options.frontend_bias,
                                               .deviation = std::sqrt(2.0 / taps)}));
    add_frontend_norm(sequence, options, i + 1);
    sequence.push_back(std::make_unique<Nonlinearity>(fmt::format("frontend.act{}", i + 1),
                                                      NonlinearityKind::gelu));
    in = options.channels;
  }
}

/// Appends a unit of a block. In a post-norm model, its norm follows as a layer of its own, so it
/// also normalises utterances that skipped the unit.
void add_unit(Sequence& sequence, const Wav2Vec2Options& options, std::unique_ptr<Layer> unit) {
  const std::string name = unit->name();
  sequence.push_back(std::move(unit));
  if (!options.norm_first) add_norm(sequence, name + ".norm", options.width);
}

/// Appends a block. The adapter is not a unit like the others: it has its own norm, and no dropout.
void add_block(Sequence& sequence, const Wav2Vec2Options& options, int number) {
  add_unit(sequence, options,
           attention_unit({.name = fmt::format("block{}.attention", number),
                           .width = options.width,
                           .heads = options.heads,
                           .positions = AttentionPositions::none,
                           .norm_first = options.norm_first,
                           .dropout = options.dropout,
                           .layer_drop = options.layer_drop}));
  add_unit(sequence, options,
           feed_forward_unit({.name = fmt::format("block{}.feed_forward", number),
                              .width = options.width,
                              .inner = options.inner,
                              .activation = NonlinearityKind::gelu,
                              .norm_first = options.norm_first,
                              .dropout = options.dropout,
                              .layer_drop = options.layer_drop}));
  if (options.adapter > 0)
    sequence.push_back(adapter_unit({.name = fmt::format("block{}.adapter", number),
                                     .width = options.width,
                                     .inner = options.adapter}));
}

}  // namespace

std::vector<Key> Wav2Vec2Options::keys() {
  std::vector<Key> keys = {
      Key("model.channels", &channels, between(1, kMaxChannels),
          "channels of the convolutions that turn samples into frames"),
      Key("model.kernels", &kernels, between(1, 1001), "kernel of each of these convolutions"),
      Key("model.strides", &strides, between(1, 1001), "stride of each of these convolutions"),
      Key("model.frontend_norm", &frontend_norm, one_of({"layer", "group"}),
          "norm in these convolutions: of each frame, after every one (layer), or of each channel "
          "over an utterance, after the first (group)"),
      Key("model.frontend_bias", &frontend_bias, anything(), "biases in these convolutions"),
      Key("model.projection_norm", &projection_norm, anything(),
          "normalise what these convolutions made before its projection to the blocks' width"),
      Key("model.width", &width, between(1, kMaxChannels), "channels of every block"),
      Key("model.heads", &heads, between(1, 1024), "heads of attention; they divide the width"),
      Key("model.layers", &layers, between(1, 1000), "blocks"),
      Key("model.inner", &inner, between(1, kMaxChannels),
          "channels within each feed-forward unit"),
      Key("model.norm_first", &norm_first, anything(),
          "norm before each residual unit, and after the last block (pre-norm); false: after each "
          "unit's sum, and before the first block (post-norm)"),
      Key("model.position_kernel", &position_kernel, between(1, 1001),
          "frames that the convolution of positions sees"),
      Key("model.position_groups", &position_groups, between(1, 1024),
          "groups of channels of the convolution of positions; they divide the width"),
      Key("model.position_weight_norm", &position_weight_norm, anything(),
          "weight normalisation of the convolution of positions, a length for each tap"),
      Key("model.adapter", &adapter, between(0, kMaxChannels),
          "channels within an adapter after each block, as MMS has them; 0: no adapters"),
      Key("model.dropout", &dropout, between(0, 0.95),
          "share of numbers dropped within every residual unit, and of attention's weights"),
      Key("model.layer_drop", &layer_drop, between(0, 0.95),
          "share of utterances that pass by a residual unit (stochastic depth), for each unit"),
  };
  std::ranges::move(span_mask_keys(&masks), std::back_inserter(keys));
  std::ranges::move(intermediate_loss_keys(&intermediate), std::back_inserter(keys));
  return keys;
}

std::vector<Contradiction> Wav2Vec2Options::contradictions(int features) const {
  std::vector<Contradiction> found;
  if (features != 1)
    found.push_back(
        {"model.features", fmt::format("the model hears samples, 1 channel, and not {}: set "
                                       "model.features = 1 and features.kind = \"waveform\"",
                                       counted(features, "channel"))});
  if (kernels.empty() || kernels.size() != strides.size())
    found.push_back({"model.strides", fmt::format("{} for {}: each convolution has one of each",
                                                  counted(strides.size(), "stride"),
                                                  counted(kernels.size(), "kernel"))});
  if (heads < 1 || width % heads != 0)
    found.push_back({"model.heads", fmt::format("{} of attention do not divide a width of {}",
                                                counted(heads, "head"), width)});
  if (position_groups < 1 || width % position_groups != 0)
    found.push_back(
        {"model.position_groups", fmt::format("{} of channels do not divide a width of {}",
                                              counted(position_groups, "group"), width)});
  std::ranges::move(span_mask_contradictions(masks, width), std::back_inserter(found));
  std::ranges::move(intermediate_loss_contradictions(intermediate, layers),
                    std::back_inserter(found));
  if (adapter > 0 && !norm_first)
    found.push_back({"model.adapter",
                     "adapters follow blocks with model.norm_first = true alone: set "
                     "model.adapter = 0"});
  return found;
}

// Post-norm and pre-norm models differ in the place of the one norm outside of units: before the
// first block, or after the last.
Sequence Wav2Vec2Options::build(const ModelEnds& ends) const {
  for (const Contradiction& wrong : contradictions(ends.features)) throw ShapeError(wrong.what);
  if (layers < 1 || ends.labels < 2)
    throw ShapeError("a wav2vec 2.0 model needs at least 1 block, and 1 label besides blank");
  Sequence sequence;
  add_frontend(sequence, *this);
  if (projection_norm) add_norm(sequence, "projection.norm", channels);
  add_linear(sequence, "projection.linear", channels, width);
  add_span_mask(sequence, masks, width);
  sequence.push_back(convolutional_positions({.name = "positions",
                                              .width = width,
                                              .kernel = position_kernel,
                                              .groups = position_groups,
                                              .weight_norm = position_weight_norm}));
  if (!norm_first) add_norm(sequence, "norm", width);
  for (int i = 1; i <= layers; ++i) {
    add_block(sequence, *this, i);
    add_intermediate_loss(sequence, intermediate, {i, width, ends.labels});
  }
  if (norm_first) add_norm(sequence, "norm", width);
  ends.add_output(sequence, {.name = "output", .in = width});
  ends.add_decoder(sequence);
  return sequence;
}

}  // namespace penstock::layers
