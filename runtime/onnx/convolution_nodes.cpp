#include <cmath>

#include "layers/nn/conv1d.h"
#include "layers/nn/conv2d.h"
#include "layers/nn/depthwise_conv1d.h"
#include "runtime/onnx/layer_graph.h"

// ONNX convolves [batch, channels, frames] or [batch, channels, frequencies, frames], as PyTorch
// does, with the weights that penstock stores. So a frame's columns become an axis of their own,
// and columns again. An optimiser of the reader takes out transpositions that undo each other.

namespace penstock::runtime {
namespace {

/// Adds a convolution of frames by channels over the frames.
ValueName convolved(OnnxGraph& graph, const ValueName& x, std::vector<ValueName> weights,
                    const std::vector<NodeAttribute>& attributes) {
  const ValueName first = graph.integers({0});
  weights.insert(weights.begin(), graph.node("Unsqueeze", {transposed(graph, x, {1, 0}), first}));
  const ValueName y = graph.node("Conv", weights, attributes);
  return transposed(graph, graph.node("Squeeze", {y, first}), {1, 0});
}

/// Returns the weight of a convolution with weight normalisation, g[k] · v[o, c, k] / |v[:, :, k]|:
/// a length for each tap.
std::vector<float> normalised_weight(const std::vector<float>& v, const std::vector<float>& g) {
  std::vector<double> squares(g.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    squares[i % g.size()] += static_cast<double>(v[i]) * v[i];
  std::vector<float> weight(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::size_t k = i % g.size();
    weight[i] = static_cast<float>(g[k] * v[i] / std::sqrt(squares[k]));
  }
  return weight;
}

ValueName conv1d_weight(LayerGraph& target, const layers::Conv1dOptions& o) {
  if (!o.weight_norm) return add_parameter(target, o.name + ".weight");
  const std::string v = o.name + ".weight_v";
  return add_changed_parameter(
      target, v, target.weights.shape(v),
      [&weights = target.weights, g = o.name + ".weight_g"](const std::vector<float>& numbers) {
        return normalised_weight(numbers, weights.read(g));
      });
}

ValueName add_conv1d(LayerGraph& target, const layers::Conv1d& layer, const ValueName& x) {
  const layers::Conv1dOptions& o = layer.options();
  std::vector<ValueName> weights = {conv1d_weight(target, o)};
  if (o.bias) weights.push_back(add_parameter(target, o.name + ".bias"));
  using Integers = std::vector<std::int64_t>;
  target.frame_values.clear();
  return convolved(target.graph, x, std::move(weights),
                   {{"group", o.groups},
                    {"strides", Integers{o.stride}},
                    {"dilations", Integers{o.dilation}},
                    {"pads", Integers{o.left, o.right}}});
}

ValueName add_depthwise_conv1d(LayerGraph& target, const layers::DepthwiseConv1d& layer,
                               const ValueName& x) {
  const layers::DepthwiseConv1dOptions& o = layer.options();
  ValueName g = x;
  if (o.gated) {
    const std::vector<ValueName> halves =
        target.graph.nodes("Split", {x}, {{"axis", std::int64_t{1}}}, 2);
    g = gated(target.graph, halves[0], halves[1]);
  }
  std::vector<ValueName> weights = {
      add_parameter(target, o.name + ".weight", {o.channels, 1, o.kernel})};
  if (o.bias) weights.push_back(add_parameter(target, o.name + ".bias"));
  return convolved(
      target.graph, g, std::move(weights),
      {{"group", o.channels}, {"pads", std::vector<std::int64_t>{o.left, o.kernel - 1 - o.left}}});
}

ValueName add_conv2d(LayerGraph& target, const layers::Conv2d& layer, const ValueName& x) {
  const layers::Conv2dOptions& o = layer.options();
  if (o.piece > 0) throw_unsupported(layer, "pieces of utterances");
  OnnxGraph& graph = target.graph;
  const auto& [f, t] = std::pair{o.frequency, o.time};
  const ValueName split = reshaped(graph, x, {1, -1, o.in_frequencies, o.in_channels});
  const ValueName image = transposed(graph, split, {0, 3, 2, 1});
  std::vector<ValueName> inputs = {
      image, add_parameter(target, o.name + ".weight",
                           {o.out_channels, o.depthwise ? 1 : o.in_channels, f.kernel, t.kernel})};
  if (o.bias) inputs.push_back(add_parameter(target, o.name + ".bias"));
  using Integers = std::vector<std::int64_t>;
  const ValueName y = graph.node("Conv", inputs,
                                 {{"group", o.depthwise ? o.in_channels : 1},
                                  {"strides", Integers{f.stride, t.stride}},
                                  {"pads", Integers{f.padding, t.padding, f.padding, t.padding}}});
  target.frame_values.clear();
  return reshaped(graph, transposed(graph, y, {0, 3, 2, 1}),
                  {-1, layer.out_frequencies() * o.out_channels});
}

}  // namespace

std::vector<AddLayer> convolution_kinds() {
  return {add_if<layers::Conv1d, add_conv1d>, add_if<layers::DepthwiseConv1d, add_depthwise_conv1d>,
          add_if<layers::Conv2d, add_conv2d>};
}

}  // namespace penstock::runtime
