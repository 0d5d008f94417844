#include "layers/models/residual_units.h"

#include <limits>
#include <utility>

#include "layers/nn/batch_norm.h"
#include "layers/nn/conv1d.h"
#include "layers/nn/cross_attention.h"
#include "layers/nn/depthwise_conv1d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/head_norm.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/residual.h"
#include "layers/ops/attention.h"

// A unit is collected part by part and becomes one Residual, in which the parts run one after the
// other. Optional parts are left out altogether rather than made to do nothing, so that they take
// no memory and no time. Dropout with probability 0 is one of them.

namespace penstock::layers {
namespace {

/// Holds the options that all kinds of units share.
struct UnitOptions {
  std::string name;
  std::int64_t width = 0;
  bool bias = true;  // biases of its products
  double layer_drop = 0;
  double scale = 1;
  bool centred = true;  // its norm subtracts the mean
  bool norm_first = true;
  double epsilon = 1e-5;  // of its norm
};

/// Collects the parts of a residual unit, which are named "<name>.<part>".
class Unit {
 public:
  /// Starts a unit, with its norm if it has one.
  explicit Unit(const UnitOptions& options) : bias_(options.bias) {
    options_.name = options.name;
    options_.channels = options.width;
    options_.scale = options.scale;
    options_.layer_drop = options.layer_drop;
    if (options.norm_first)
      add<LayerNorm>(LayerNormOptions{.name = part("norm"),
                                      .channels = options.width,
                                      .epsilon = options.epsilon,
                                      .centred = options.centred,
                                      .bias = options.centred});
  }

  std::string part(const std::string& name) const { return options_.name + "." + name; }
  template <class Kind, class... Arguments>
  void add(Arguments&&... arguments) {
    options_.parts.push_back(std::make_unique<Kind>(std::forward<Arguments>(arguments)...));
  }
  void add(std::unique_ptr<Layer> part) { options_.parts.push_back(std::move(part)); }
  void linear(const std::string& name, std::int64_t in, std::int64_t out) {
    add<Linear>(LinearOptions{.name = part(name), .in = in, .out = out, .bias = bias_});
  }
  void linear(const std::string& name, LinearOptions options) {
    options.name = part(name);
    options.bias = bias_;
    add<Linear>(std::move(options));
  }
  void dropout(const std::string& name, double probability) {
    if (probability > 0) add<Dropout>(part(name), probability);
  }
  std::unique_ptr<Layer> build() { return std::make_unique<Residual>(std::move(options_)); }

 private:
  ResidualOptions options_;
  bool bias_;
};

// The keys of context are bounded by eleven hours of frames of 40 ms.
constexpr int kMaxContext = 1'000'000;

}  // namespace

// Channels go from width to inner and back. Before a gate there are twice as many as `inner`, and
// the gate halves them, so linear2 has the same shape in both cases.
std::unique_ptr<Layer> feed_forward_unit(const FeedForwardOptions& options) {
  Unit unit({options.name, options.width, options.bias, options.layer_drop, options.scale,
             options.centred, options.norm_first, options.epsilon});
  if (const auto* gate = std::get_if<GateKind>(&options.activation)) {
    unit.linear("linear1", options.width, 2 * options.inner);
    unit.add<Gate>(unit.part("gate"), *gate);
  } else {
    unit.linear("linear1", options.width, options.inner);
    if (std::holds_alternative<Relu>(options.activation))
      unit.add<ClippedReLU>(unit.part("act"), std::numeric_limits<double>::infinity());
    else
      unit.add<Nonlinearity>(unit.part("act"), std::get<NonlinearityKind>(options.activation));
  }
  unit.dropout("act_dropout", options.dropout);
  unit.linear("linear2", options.inner, options.width);
  if (options.output_dropout) unit.dropout("dropout", options.dropout);
  return unit.build();
}

// A ReLU without a bound is a clipped one that never clips.
std::unique_ptr<Layer> adapter_unit(const AdapterUnitOptions& options) {
  Unit unit({.name = options.name, .width = options.width});
  unit.linear("linear1", options.width, options.inner);
  unit.add<ClippedReLU>(unit.part("relu"), std::numeric_limits<double>::infinity());
  unit.linear("linear2", options.inner, options.width);
  return unit.build();
}

// One product makes q, k and v of all heads: three products that read the same input would be
// smaller and slower. Channels go width → C + 2 · those of k → C → width, where C is `channels`.
std::unique_ptr<Layer> attention_unit(const AttentionUnitOptions& options) {
  Unit unit({.name = options.name,
             .width = options.width,
             .bias = options.bias,
             .layer_drop = options.layer_drop,
             .centred = options.centred,
             .norm_first = options.norm_first,
             .epsilon = options.epsilon});
  const std::int64_t heads = options.heads;
  const std::int64_t channels =
      options.head_channels > 0 ? heads * options.head_channels : options.width;
  const std::int64_t kv_heads = options.kv_heads > 0 ? options.kv_heads : heads;
  const std::int64_t keys = channels / heads * kv_heads;
  unit.linear("qkv", LinearOptions{.name = "",
                                   .in = options.width,
                                   .out = channels + 2 * keys,
                                   .first_unbiased = channels,
                                   .unbiased = options.key_bias ? 0 : keys});
  if (options.qk_norm)
    unit.add<HeadNorm>(HeadNormOptions{.name = unit.part("qk_norm"),
                                       .heads = heads,
                                       .kv_heads = kv_heads,
                                       .head_channels = channels / heads,
                                       .epsilon = options.epsilon});
  unit.add<Attention>(AttentionOptions{.name = unit.part("core"),
                                       .channels = channels,
                                       .heads = heads,
                                       .kv_heads = options.kv_heads,
                                       .positions = options.positions,
                                       .rotary_base = options.rotary_base,
                                       .left = options.left,
                                       .right = options.right,
                                       .left_positions = options.left_positions,
                                       .right_positions = options.right_positions,
                                       .dropout = options.dropout,
                                       .window = options.window});
  unit.linear("output", channels, options.width);
  if (options.output_dropout) unit.dropout("dropout", options.dropout);
  return unit.build();
}

// One product makes k and v of all heads. It reads the memory, so it is no part of the unit.
std::unique_ptr<Layer> cross_attention_unit(const AttentionUnitOptions& options) {
  Unit unit({.name = options.name,
             .width = options.width,
             .bias = options.bias,
             .centred = options.centred,
             .norm_first = options.norm_first});
  const std::int64_t heads = options.heads;
  const std::int64_t channels =
      options.head_channels > 0 ? heads * options.head_channels : options.width;
  unit.linear("q", options.width, channels);
  auto core = std::make_unique<CrossAttention>(CrossAttentionOptions{.name = unit.part("core"),
                                                                     .channels = channels,
                                                                     .heads = heads,
                                                                     .kv_heads = options.kv_heads,
                                                                     .dropout = options.dropout});
  const std::int64_t keys = 2 * core->key_channels();
  unit.add(std::move(core));
  unit.linear("output", channels, options.width);
  if (options.output_dropout) unit.dropout("dropout", options.dropout);
  return std::make_unique<CrossAttentionUnit>(CrossAttentionUnitOptions{
      .name = options.name,
      .width = options.width,
      .keys = std::make_unique<Linear>(LinearOptions{.name = unit.part("kv"),
                                                     .in = options.width,
                                                     .out = keys,
                                                     .bias = options.bias,
                                                     .unbiased = options.key_bias ? 0 : keys / 2}),
      .unit = unit.build()});
}

// pointwise1 doubles the channels, and the gate in front of the depthwise convolution halves them.
// The kernel is odd, so `earlier / 2` frames precede the present one and as many follow it. A
// causal convolution sees the present frame and `earlier` ones.
std::unique_ptr<Layer> convolution_unit(const ConvolutionUnitOptions& options) {
  const std::int64_t width = options.width, earlier = options.kernel - 1;
  Unit unit({options.name, width, options.bias, options.layer_drop});
  unit.linear("pointwise1", width, 2 * width);
  unit.add<DepthwiseConv1d>(DepthwiseConv1dOptions{.name = unit.part("depthwise"),
                                                   .channels = width,
                                                   .kernel = options.kernel,
                                                   .left = options.causal ? earlier : earlier / 2,
                                                   .bias = options.bias,
                                                   .gated = true});
  if (options.norm == ConvolutionNorm::batch) {
    unit.add<BatchNorm>(
        BatchNormOptions{.name = unit.part("batch_norm"), .channels = width, .silu = true});
  } else {
    unit.add<LayerNorm>(LayerNormOptions{.name = unit.part("depthwise_norm"), .channels = width});
    unit.add<Nonlinearity>(unit.part("act"), NonlinearityKind::silu);
  }
  unit.linear("pointwise2", width, width);
  unit.dropout("dropout", options.dropout);
  return unit.build();
}

// Zeros at both ends keep the number of frames: kernel - 1 in total, so 64 before and 63 after an
// utterance for the default kernel of 128.
std::unique_ptr<Layer> convolutional_positions(const ConvolutionalPositionsOptions& options) {
  Unit unit({.name = options.name, .width = options.width, .norm_first = false});
  unit.add<Conv1d>(Conv1dOptions{.name = unit.part("conv"),
                                 .in_channels = options.width,
                                 .out_channels = options.width,
                                 .groups = options.groups,
                                 .kernel = options.kernel,
                                 .left = options.kernel / 2,
                                 .right = options.kernel - 1 - options.kernel / 2,
                                 .weight_norm = options.weight_norm});
  unit.add<Nonlinearity>(unit.part("act"), NonlinearityKind::gelu);
  return unit.build();
}

Key left_context_key(int* frames) {
  return Key("model.left_context", frames, between(-1, kMaxContext),
             "frames before each one that its attention sees in every block; -1: all");
}

Key right_context_key(int* frames) {
  return Key("model.right_context", frames, between(-1, kMaxContext),
             "frames after each one that its attention sees in every block; -1: all");
}

std::int64_t frames_of_context(int frames) { return frames < 0 ? kWholeUtterance : frames; }

}  // namespace penstock::layers
