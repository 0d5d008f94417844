#include "layers/models/conformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/models/residual_units.h"
#include "layers/models/span_masks.h"
#include "layers/models/subsampling.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/sinusoidal_positions.h"

// A block of a Conformer is a sandwich: half a feed-forward unit, attention, convolution, the other
// half, and a norm. The two halves add half of their output each (Macaron networks, Lu et al.
// 2019).
//
// Each layer here is a link of the model's sequence, before and after which a stage may begin. Its
// name is the prefix of its parameters' names, which checkpoints contain and from which initial
// weights are drawn. So a model with a renamed layer is another model.

namespace penstock::layers {
namespace {

// The key's words select the positions of attention. Absolute positions are added to the frames
// before the first block, so attention itself then has none.
const std::map<std::string, AttentionPositions, std::less<>> kPositions = {
    {"relative", AttentionPositions::relative},
    {"shaw", AttentionPositions::shaw},
    {"absolute", AttentionPositions::none}};

/// Appends the layers before the first block, except dropout and absolute positions. Their output
/// is multiplied by `scale`.
void add_front(std::vector<std::unique_ptr<Layer>>& sequence, const ConformerOptions& options,
               int features, double scale) {
  if (options.subsampling > 1) {
    add_subsampling(sequence, {.features = features,
                               .channels = options.channels > 0 ? options.channels : options.width,
                               .width = options.width,
                               .factor = options.subsampling,
                               .scale = scale});
    return;
  }
  sequence.push_back(std::make_unique<LayerNorm>(
      LayerNormOptions{.name = "projection.norm", .channels = features}));
  sequence.push_back(std::make_unique<Linear>(
      LinearOptions{.name = "projection.linear", .in = features, .out = options.width}));
  if (scale != 1) sequence.push_back(std::make_unique<Scale>("projection.scale", scale));
}

/// Appends a block: four residual units, named "<name>.<unit>", and a norm. Both feed-forward units
/// have the same options and different names, so each has weights of its own. The convolution unit
/// has no dropout but that of its output, so without output_dropout it has none.
void add_block(std::vector<std::unique_ptr<Layer>>& sequence, const ConformerOptions& options,
               const std::string& name) {
  const FeedForwardOptions half{
      .name = name + ".feed_forward1",
      .width = options.width,
      .inner = options.inner > 0 ? std::int64_t{options.inner} : std::int64_t{4} * options.width,
      .scale = 0.5,
      .bias = options.attention_bias,
      .dropout = options.dropout,
      .output_dropout = options.output_dropout,
      .layer_drop = options.layer_drop};
  FeedForwardOptions other_half = half;
  other_half.name = name + ".feed_forward2";
  sequence.push_back(feed_forward_unit(half));
  sequence.push_back(attention_unit({.name = name + ".attention",
                                     .width = options.width,
                                     .heads = options.heads,
                                     .positions = kPositions.at(options.positions),
                                     .left = frames_of_context(options.left_context),
                                     .right = frames_of_context(options.right_context),
                                     .left_positions = options.left_positions,
                                     .right_positions = options.right_positions,
                                     .bias = options.attention_bias,
                                     .dropout = options.dropout,
                                     .output_dropout = options.output_dropout,
                                     .layer_drop = options.layer_drop}));
  sequence.push_back(
      convolution_unit({.name = name + ".convolution",
                        .width = options.width,
                        .kernel = options.kernel,
                        .causal = options.causal_convolution,
                        .norm = options.convolution_norm == "layer" ? ConvolutionNorm::layer
                                                                    : ConvolutionNorm::batch,
                        .bias = options.convolution_bias,
                        .dropout = options.output_dropout ? options.dropout : 0,
                        .layer_drop = options.layer_drop}));
  sequence.push_back(feed_forward_unit(other_half));
  sequence.push_back(std::make_unique<LayerNorm>(
      LayerNormOptions{.name = name + ".norm", .channels = options.width}));
}

}  // namespace

std::vector<Key> ConformerOptions::keys() {
  std::vector<Key> keys = {
      Key("model.width", &width, between(1, kMaxChannels), "channels of every block"),
      Key("model.heads", &heads, between(1, 1024), "heads of attention; they divide the width"),
      Key("model.layers", &layers, between(1, 1000), "blocks"),
      Key("model.inner", &inner, between(0, kMaxChannels),
          "channels within each feed-forward unit; 0: four times the width"),
      Key("model.kernel", &kernel, between(1, 1001),
          "frames of each block's depthwise convolution; an odd number"),
      Key("model.causal_convolution", &causal_convolution, anything(),
          "the depthwise convolution sees no later frames, instead of as many as earlier ones"),
      Key("model.convolution_norm", &convolution_norm, one_of({"batch", "layer"}),
          "norm after the depthwise convolution"),
      Key("model.subsampling", &subsampling, between(1, 8),
          "feature frames that become one: 4, 8 with depthwise convolutions, or 1, where frames "
          "are normalised and projected"),
      Key("model.channels", &channels, between(0, kMaxChannels),
          "channels of the convolutions before the first block; 0: the width"),
      Key("model.positions", &positions, one_of({"relative", "shaw", "absolute"}),
          "how frames are told apart: by attention, with Transformer-XL's positions (relative) or "
          "Shaw's (shaw), or by what is added before the first block (absolute)"),
      Key("model.left_positions", &left_positions, between(0, 10000),
          "with Shaw's positions: distances to earlier frames that are told apart"),
      Key("model.right_positions", &right_positions, between(0, 10000),
          "with Shaw's positions: distances to later frames that are told apart"),
      left_context_key(&left_context),
      right_context_key(&right_context),
      Key("model.scale_input", &scale_input, anything(),
          "multiply what enters the first block by the width's square root"),
      Key("model.attention_bias", &attention_bias, anything(),
          "biases in the products of attention and feed-forward units"),
      Key("model.convolution_bias", &convolution_bias, anything(),
          "biases in the products and convolutions of convolution units"),
      Key("model.dropout", &dropout, between(0, 0.95),
          "share of numbers dropped within every residual unit, and of attention's weights"),
      Key("model.input_dropout", &input_dropout, between(0, 0.95),
          "share of numbers dropped before the first block"),
      Key("model.output_dropout", &output_dropout, anything(),
          "drop what residual units add as well, not only numbers within them"),
      Key("model.layer_drop", &layer_drop, between(0, 0.95),
          "share of utterances that pass by a residual unit (stochastic depth), for each unit"),
  };
  std::ranges::move(span_mask_keys(&masks), std::back_inserter(keys));
  std::ranges::move(intermediate_loss_keys(&intermediate), std::back_inserter(keys));
  return keys;
}

// An even kernel has no middle frame, so it could not see as many earlier frames as later ones.
std::vector<Contradiction> ConformerOptions::contradictions(int) const {
  std::vector<Contradiction> found;
  if (heads < 1 || width % heads != 0)
    found.push_back({"model.heads", fmt::format("{} of attention do not divide a width of {}",
                                                counted(heads, "head"), width)});
  if (kernel % 2 == 0)
    found.push_back({"model.kernel", fmt::format("a kernel of {} has no middle: choose an odd "
                                                 "number",
                                                 counted(kernel, "frame"))});
  std::ranges::move(span_mask_contradictions(masks, width), std::back_inserter(found));
  std::ranges::move(intermediate_loss_contradictions(intermediate, layers),
                    std::back_inserter(found));
  if (subsampling != 1 && subsampling != 4 && subsampling != 8)
    found.push_back({"model.subsampling", fmt::format("{} can't become one: choose 1, 4 or 8",
                                                      counted(subsampling, "feature frame"))});
  return found;
}

// The options may come from code that has not checked them, so everything is checked again here.
// With absolute positions, the layer that adds them scales the frames first, x · √width + table
// (Vaswani et al. 2017, §3.4), and the front does not. Masks leave positions as they are. Without
// such positions they follow the dropout, as in transformers.
std::vector<std::unique_ptr<Layer>> ConformerOptions::build(const ModelEnds& ends) const {
  for (const Contradiction& wrong : contradictions(ends.features)) throw ShapeError(wrong.what);
  if (layers < 1 || ends.labels < 2)
    throw ShapeError("a Conformer needs at least 1 block, and 1 label besides blank");
  if (!kPositions.contains(positions))
    throw ShapeError(fmt::format(
        "a Conformer has no positions {}: positions is relative, shaw or absolute", positions));
  const bool absolute = positions == "absolute";
  const double scale = scale_input ? std::sqrt(width) : 1;
  std::vector<std::unique_ptr<Layer>> sequence;
  add_front(sequence, *this, ends.features, absolute ? 1 : scale);
  if (absolute) {
    add_span_mask(sequence, masks, width);
    sequence.push_back(
        std::make_unique<SinusoidalPositions>("positions", SinusoidOptions{.scale = scale}));
  }
  if (input_dropout > 0)
    sequence.push_back(std::make_unique<Dropout>("input_dropout", input_dropout));
  if (!absolute) add_span_mask(sequence, masks, width);
  for (int i = 1; i <= layers; ++i) {
    add_block(sequence, *this, fmt::format("block{}", i));
    add_intermediate_loss(sequence, intermediate, {i, width, ends.labels});
  }
  ends.add_output(sequence, {.name = "output", .in = width});
  ends.add_decoder(sequence);
  return sequence;
}

}  // namespace penstock::layers
