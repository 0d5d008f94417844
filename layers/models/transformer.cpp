#include "layers/models/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/models/residual_units.h"
#include "layers/models/subsampling.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/sinusoidal_positions.h"

// A Transformer encoder takes subsampled frames through blocks of attention and feed-forward units,
// each of which normalises its input and adds to it (pre-norm). The sum passes all blocks without a
// norm, so one norm follows the last block. Positions are either added to the frames before the
// first block (absolute) or given to every attention (rotary, relative).

namespace penstock::layers {
namespace {

/// Returns the positions that attention applies. Absolute ones are in its input already. ShapeError
/// for an unknown name.
AttentionPositions positions_of(const std::string& name) {
  if (name == "none" || name == "absolute") return AttentionPositions::none;
  if (name == "rotary") return AttentionPositions::rotary;
  if (name == "relative") return AttentionPositions::relative;
  throw ShapeError(fmt::format(
      "a Transformer has no positions {}: positions is none, absolute, rotary or relative", name));
}

/// Returns false for RMSNorm, which neither subtracts a mean nor adds a bias.
bool is_centred(const std::string& norm) {
  if (norm == "layer" || norm == "rms") return norm == "layer";
  throw ShapeError(fmt::format("a Transformer has no norm {}: norm is layer or rms", norm));
}

FeedForwardActivation activation_of(const std::string& name) {
  if (name == "swiglu") return GateKind::swiglu;
  if (name == "gelu") return NonlinearityKind::gelu;
  if (name == "gelu_tanh") return NonlinearityKind::gelu_tanh;
  if (name == "silu") return NonlinearityKind::silu;
  throw ShapeError(fmt::format(
      "a Transformer has no activation {}: activation is gelu, gelu_tanh, silu or swiglu", name));
}

}  // namespace

std::vector<Key> TransformerOptions::keys() {
  std::vector<Key> keys = {
      Key("model.channels", &channels, between(1, kMaxChannels),
          "channels of the convolutions before the first block"),
      Key("model.width", &width, between(1, kMaxChannels), "channels of every block"),
      Key("model.heads", &heads, between(1, 1024), "heads of attention; they divide the width"),
      Key("model.layers", &layers, between(1, 1000), "blocks"),
      Key("model.inner", &inner, between(1, kMaxChannels),
          "channels within each feed-forward unit"),
      Key("model.positions", &positions, one_of({"none", "absolute", "rotary", "relative"}),
          "how frames are told apart: by what is added before the first block (absolute), or by "
          "attention (rotary, relative)"),
      Key("model.activation", &activation, one_of({"gelu", "gelu_tanh", "silu", "swiglu"}),
          "nonlinearity within each feed-forward unit; swiglu gates model.inner channels by as "
          "many more"),
      Key("model.norm", &norm, one_of({"layer", "rms"}),
          "norm of each residual unit, and after the last: LayerNorm or RMSNorm"),
      left_context_key(&left_context),
      right_context_key(&right_context),
      Key("model.dropout", &dropout, between(0, 0.95),
          "share of numbers dropped within every residual unit, and of attention's weights"),
      Key("model.layer_drop", &layer_drop, between(0, 0.95),
          "share of utterances that pass by a residual unit (stochastic depth), for each unit"),
  };
  std::ranges::move(intermediate_loss_keys(&intermediate), std::back_inserter(keys));
  return keys;
}

// The head's channels are computed only after the first check, which makes them whole and excludes
// a division by 0.
std::vector<Contradiction> TransformerOptions::contradictions(int) const {
  if (heads < 1 || width % heads != 0)
    return {{"model.heads", fmt::format("{} of attention do not divide a width of {}",
                                        counted(heads, "head"), width)}};
  if (positions == "rotary" && width / heads % 2 != 0)
    return {{"model.positions",
             fmt::format("rotary positions turn pairs of channels, but each head has {}",
                         width / heads)}};
  return intermediate_loss_contradictions(intermediate, layers);
}

// Frames are multiplied by √width before absolute positions are added to them, as embeddings are in
// Vaswani et al. 2017, §3.4. They would else be small beside sinusoids, whose amplitude is 1.
std::vector<std::unique_ptr<Layer>> TransformerOptions::build(const ModelEnds& ends) const {
  for (const Contradiction& wrong : contradictions(ends.features)) throw ShapeError(wrong.what);
  if (layers < 1 || ends.labels < 2)
    throw ShapeError("a Transformer needs at least 1 block, and 1 label besides blank");
  const bool centred = is_centred(norm);
  std::vector<std::unique_ptr<Layer>> sequence;
  add_subsampling(sequence, {.features = ends.features, .channels = channels, .width = width});
  if (positions == "absolute")
    sequence.push_back(std::make_unique<SinusoidalPositions>(
        "positions", SinusoidOptions{.scale = std::sqrt(width)}));
  for (int i = 1; i <= layers; ++i) {
    sequence.push_back(attention_unit({.name = fmt::format("block{}.attention", i),
                                       .width = width,
                                       .heads = heads,
                                       .positions = positions_of(positions),
                                       .left = frames_of_context(left_context),
                                       .right = frames_of_context(right_context),
                                       .centred = centred,
                                       .dropout = dropout,
                                       .layer_drop = layer_drop}));
    sequence.push_back(feed_forward_unit({.name = fmt::format("block{}.feed_forward", i),
                                          .width = width,
                                          .inner = inner,
                                          .activation = activation_of(activation),
                                          .centred = centred,
                                          .dropout = dropout,
                                          .layer_drop = layer_drop}));
    add_intermediate_loss(sequence, intermediate, {i, width, ends.labels});
  }
  sequence.push_back(std::make_unique<LayerNorm>(
      LayerNormOptions{.name = "norm", .channels = width, .centred = centred, .bias = centred}));
  ends.add_output(sequence, {.name = "output", .in = width});
  ends.add_decoder(sequence);
  return sequence;
}

}  // namespace penstock::layers
