#include <cmath>
#include <limits>
#include <numbers>

#include "layers/losses/intermediate_ctc.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/span_mask.h"
#include "runtime/onnx/layer_graph.h"

// Opset 17 has no GELU, so its formula is spelt out; ONNX Runtime recognises the pattern and
// computes it in one pass. Dropout and masks do nothing in evaluation, and add no node.

namespace penstock::runtime {
namespace {

ValueName add_clipped_relu(LayerGraph& target, const layers::ClippedReLU& layer,
                           const ValueName& x) {
  if (layer.bound() == std::numeric_limits<double>::infinity())
    return target.graph.node("Relu", {x});
  return target.graph.node(
      "Clip", {x, target.graph.real(0), target.graph.real(static_cast<float>(layer.bound()))});
}

/// Adds x · Φ(x).
ValueName add_gelu(OnnxGraph& graph, const ValueName& x) {
  const ValueName scaled =
      graph.node("Div", {x, graph.real(static_cast<float>(std::numbers::sqrt2))});
  const ValueName share = graph.node("Add", {graph.node("Erf", {scaled}), graph.real(1)});
  return graph.node("Mul", {graph.node("Mul", {x, share}), graph.real(0.5F)});
}

/// Adds x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2.
ValueName add_gelu_tanh(OnnxGraph& graph, const ValueName& x) {
  constexpr float kCubic = 0.044715F;
  const ValueName cube = graph.node("Mul", {graph.node("Mul", {x, x}), x});
  const ValueName sum = graph.node("Add", {x, graph.node("Mul", {cube, graph.real(kCubic)})});
  const auto factor = static_cast<float>(std::sqrt(2 / std::numbers::pi));
  const ValueName tanh = graph.node("Tanh", {graph.node("Mul", {sum, graph.real(factor)})});
  const ValueName share = graph.node("Add", {tanh, graph.real(1)});
  return graph.node("Mul", {graph.node("Mul", {x, share}), graph.real(0.5F)});
}

ValueName add_nonlinearity(LayerGraph& target, const layers::Nonlinearity& layer,
                           const ValueName& x) {
  switch (layer.kind()) {
    case layers::NonlinearityKind::gelu:
      return add_gelu(target.graph, x);
    case layers::NonlinearityKind::gelu_tanh:
      return add_gelu_tanh(target.graph, x);
    case layers::NonlinearityKind::silu:
      break;
  }
  return gated(target.graph, x, x);
}

ValueName add_gate(LayerGraph& target, const layers::Gate& layer, const ValueName& x) {
  const std::vector<ValueName> halves =
      target.graph.nodes("Split", {x}, {{"axis", std::int64_t{1}}}, 2);
  if (layer.kind() == layers::GateKind::glu) return gated(target.graph, halves[0], halves[1]);
  return target.graph.node("Mul", {gated(target.graph, halves[0], halves[0]), halves[1]});
}

ValueName add_scale(LayerGraph& target, const layers::Scale& layer, const ValueName& x) {
  return target.graph.node("Mul", {x, target.graph.real(static_cast<float>(layer.factor()))});
}

ValueName add_posteriors(LayerGraph& target, const layers::IntermediateCtc&, const ValueName& x) {
  return target.graph.node("Softmax", {x}, {{"axis", std::int64_t{1}}});
}

ValueName skip_dropout(LayerGraph&, const layers::Dropout&, const ValueName& x) { return x; }

ValueName skip_masks(LayerGraph&, const layers::SpanMaskLayer&, const ValueName& x) { return x; }

}  // namespace

ValueName gated(OnnxGraph& graph, const ValueName& a, const ValueName& b) {
  return graph.node("Mul", {a, graph.node("Sigmoid", {b})});
}

std::vector<AddLayer> elementwise_kinds() {
  return {add_if<layers::ClippedReLU, add_clipped_relu>,
          add_if<layers::Nonlinearity, add_nonlinearity>,
          add_if<layers::Gate, add_gate>,
          add_if<layers::Scale, add_scale>,
          add_if<layers::Dropout, skip_dropout>,
          add_if<layers::SpanMaskLayer, skip_masks>,
          add_if<layers::IntermediateCtc, add_posteriors>};
}

}  // namespace penstock::runtime
