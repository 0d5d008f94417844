#include "layers/models/conformer.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/error.h"
#include "layers/models/residual_units.h"
#include "layers/models/subsampling.h"
#include "layers/nn/ctc.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"

namespace penstock::layers {
namespace {

void add_block(std::vector<std::unique_ptr<Layer>>& sequence, const ConformerOptions& options,
               const std::string& name) {
  const FeedForwardOptions half{.name = name + ".feed_forward1",
                                .width = options.width,
                                .inner = std::int64_t{4} * options.width,
                                .scale = 0.5,
                                .dropout = options.dropout,
                                .layer_drop = options.layer_drop};
  FeedForwardOptions other_half = half;
  other_half.name = name + ".feed_forward2";
  sequence.push_back(feed_forward_unit(half));
  sequence.push_back(attention_unit({.name = name + ".attention",
                                     .width = options.width,
                                     .heads = options.heads,
                                     .positions = AttentionPositions::relative,
                                     .dropout = options.dropout,
                                     .layer_drop = options.layer_drop}));
  sequence.push_back(convolution_unit({.name = name + ".convolution",
                                       .width = options.width,
                                       .kernel = options.kernel,
                                       .dropout = options.dropout,
                                       .layer_drop = options.layer_drop}));
  sequence.push_back(feed_forward_unit(other_half));
  sequence.push_back(std::make_unique<LayerNorm>(
      LayerNormOptions{.name = name + ".norm", .channels = options.width}));
}

}  // namespace

std::vector<Key> ConformerOptions::keys() {
  return {
      Key("model.width", &width, between(1, kMostChannels), "channels of every block"),
      Key("model.heads", &heads, between(1, 1024), "heads of attention; they divide the width"),
      Key("model.layers", &layers, between(1, 1000), "blocks"),
      Key("model.kernel", &kernel, between(1, 1001),
          "frames of each block's depthwise convolution; an odd number"),
      Key("model.dropout", &dropout, between(0, 0.95),
          "share of numbers dropped within every residual unit, and of attention's weights"),
      Key("model.layer_drop", &layer_drop, between(0, 0.95),
          "share of utterances that pass by a residual unit (stochastic depth), for each unit"),
  };
}

std::vector<Contradiction> ConformerOptions::contradictions(int) const {
  std::vector<Contradiction> found;
  if (heads < 1 || width % heads != 0)
    found.push_back({"model.heads", fmt::format("{} of attention do not divide a width of {}",
                                                counted(heads, "head"), width)});
  if (kernel % 2 == 0)
    found.push_back({"model.kernel", fmt::format("a kernel of {} has no middle: choose an odd "
                                                 "number",
                                                 counted(kernel, "frame"))});
  return found;
}

std::vector<std::unique_ptr<Layer>> ConformerOptions::build(const ModelEnds& ends) const {
  for (const Contradiction& wrong : contradictions(ends.features)) throw ShapeError(wrong.what);
  if (layers < 1 || ends.labels < 2)
    throw ShapeError("a Conformer needs at least 1 block, and 1 label besides blank");
  std::vector<std::unique_ptr<Layer>> sequence;
  add_subsampling(sequence, {.features = ends.features, .channels = width, .width = width});
  for (int i = 1; i <= layers; ++i) add_block(sequence, *this, fmt::format("block{}", i));
  sequence.push_back(
      std::make_unique<Linear>(LinearOptions{.name = "output", .in = width, .out = ends.labels}));
  sequence.push_back(std::make_unique<Ctc>("ctc"));
  return sequence;
}

}  // namespace penstock::layers
